"""The records of jobs: a small database, HOME/.jobs/jobs.db, that all servers of a home share.

The database is the only truth about jobs. Every server reads it; the server that accepted a job writes its
progress and its outcome. The first job creates the database. No collection can have the name ``.jobs``.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from google.longrunning.operations_pb2 import Operation
from google.protobuf.any_pb2 import Any as Outcome
from google.rpc.status_pb2 import Status

from crossview.engine.catalog.connecting import frozen, is_disk_error, is_full
from crossview.engine.catalog.file_errors import DISK_FULL, OPEN_FILES, free_space, too_many_files
from crossview.engine.catalog.private import check_no_links, make_file, make_folder
from crossview.engine.values.errors import AlreadyExistsError, NotFoundError, NotReadyError, StorageError
from crossview.server.core.jobs.operation import advance, begin, digest, end, metadata_of
from crossview.server.wire.errors import OverloadedError
from crossview.server.wire.names import OF_KEY, operation_name, parse_operation
from crossview.v1.jobs_pb2 import JobMetadata, SubmitJobRequest

FOLDER = ".jobs"
MOST_WAITING, MOST_OF_KEY = 100, 25
"""Maximum number of waiting jobs, and of those of one key; the server refuses further ones."""
MOST_ENDED, KEPT_SECONDS = 1_000, 7 * 86_400.0
"""Maximum number of ended jobs to keep, and maximum time to keep them."""
_BUSY_SECONDS = 30.0
"""Maximum time that a transaction waits for others."""
_FORMAT = 4
"""Version of the records. Opening adds the columns that those of versions 2 and 3 lack, and drops those of version 1,
whose messages have other numbers of fields."""
_SCHEMA = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    collection TEXT NOT NULL,
    state INTEGER NOT NULL,
    ended REAL,
    digest BLOB NOT NULL,
    request BLOB,
    stop BLOB,
    operation BLOB NOT NULL,
    key TEXT NOT NULL DEFAULT '',
    identity TEXT NOT NULL DEFAULT ''
)
"""
_ADDED = {2: ("key", "identity"), 3: ("identity",)}
"""The columns that a version lacks."""
_REMEDY = "check that the disk works and has space, or remove their file"
_Change = Callable[[Operation], None]
_RETRY_SECONDS = 60.0
"""Time after which a client should repeat a request that the full queue refused."""


def _check_waiting(database: sqlite3.Connection, key: str) -> None:
    """Raise OverloadedError if no further job, or none of a key, by its id ("": none), may wait."""
    query = "SELECT count(*), count(*) FILTER (WHERE key = ?) FROM jobs WHERE state = ?"
    waiting, own = database.execute(query, (key, JobMetadata.STATE_WAITING)).fetchone()
    if key and own >= MOST_OF_KEY:
        raise OverloadedError(
            f"{own} jobs of the key are waiting, the maximum: try again when some have ended", _RETRY_SECONDS
        )
    if waiting >= MOST_WAITING:
        raise OverloadedError(
            f"{waiting} jobs are waiting, the maximum: try again when some have ended", _RETRY_SECONDS
        )


class Records:
    """The records of a home. Several threads may call the methods; every method can raise StorageError."""

    def __init__(self, home: Path) -> None:
        self.folder: Path = home / FOLDER
        self.folders: dict[str, Path] = {}
        """The folders that jobs of this process index, by job: no request of a client names one."""
        self._path = self.folder / "jobs.db"
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """Device and inode of the connected file; the path may lead to another file by now."""
        self._lock = threading.Lock()

    def add(
        self, request: SubmitJobRequest, operation: Operation, owner: str, key: str = "", identity: str = ""
    ) -> tuple[Operation, bool]:
        """Add a waiting request of a key, by its id ("": none); return its operation, and whether the operation is new.

        ``identity`` is that of its collection; "" if it has none.

        Raises AlreadyExistsError if another request has the id, OverloadedError if too many jobs wait.
        """
        job, same = parse_operation(operation.name), digest(request)
        request_id = job.rpartition(OF_KEY)[2]
        with self._changing(create=True) as database:
            # Earlier versions stored the id that a caller of a key chose without the key.
            row = database.execute(
                "SELECT digest, operation FROM jobs WHERE id = ? OR (id = ? AND key = ?)", (job, request_id, key)
            ).fetchone()
            if row is not None and row[0] != same:
                raise AlreadyExistsError(
                    f"another request already has the id {request_id!r}: give every request a new id, such as a UUID"
                )
            if row is not None:
                return Operation.FromString(row[1]), False
            _check_waiting(database, key)
            metadata = metadata_of(operation)
            database.execute(
                "INSERT INTO jobs (id, owner, kind, collection, state, digest, request, operation, key, identity) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(job, owner, metadata.kind, metadata.collection, metadata.state),
                    *(same, _named(request, job), operation.SerializeToString(), key, identity),
                ),
            )
        return operation, True

    def get(self, job: str) -> Operation:
        """Return the operation of a job; raise NotFoundError if there is none."""
        (data,) = self._row(job, "operation")
        return Operation.FromString(data)

    def ended(self, jobs: Sequence[str]) -> dict[str, Operation | Exception]:
        """Return the operations of the jobs that have ended, and a NotFoundError for each that does not exist."""
        rows = self._read(
            "SELECT id, ended IS NOT NULL, CASE WHEN ended IS NULL THEN NULL ELSE operation END FROM jobs "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(jobs),),
        )
        ids = {job for job, _, _ in rows}
        gone: dict[str, Operation | Exception] = {job: no_operation(job) for job in jobs if job not in ids}
        return gone | {job: Operation.FromString(operation) for job, ended, operation in rows if ended}

    def key_of(self, job: str) -> str:
        """Return the id of the key that submitted a job, "" for none; raise NotFoundError if there is no job."""
        (key,) = self._row(job, "key")
        return str(key)

    def identity_of(self, job: str) -> str:
        """Return the identity of a job's collection at the request, "" for none; NotFoundError if there is no job."""
        (identity,) = self._row(job, "identity")
        return str(identity)

    def page(
        self, collection: str, before: int | None, size: int, key: str | None = None, unfinished: bool = False
    ) -> list[tuple[int, Operation]]:
        """Return numbered operations below ``before``, the newest first.

        They are those of one collection, or of all for "", and of one key, or of all for None; with ``unfinished``,
        without those that have ended.
        """
        rows = self._read(
            "SELECT number, operation FROM jobs WHERE (? = '' OR collection = ?) AND (? IS NULL OR key = ?) "
            "AND number < ? AND (NOT ? OR ended IS NULL) ORDER BY number DESC LIMIT ?",
            (collection, collection, key, key, 2**62 if before is None else before, unfinished, size),
        )
        return [(number, Operation.FromString(operation)) for number, operation in rows]

    def request(self, job: str) -> SubmitJobRequest:
        """Return the request of an unfinished job, with the job's id; raise NotFoundError if the job is unknown."""
        (data,) = self._row(job, "request")
        return SubmitJobRequest.FromString(data or b"")

    def next_waiting(self, owner: str, kinds: Sequence[str]) -> SubmitJobRequest | None:
        """Start the owner's oldest waiting job of these kinds and return its request; None if none waits."""
        while True:
            marks = ", ".join("?" for _ in kinds)
            rows = self._read(
                f"SELECT id, request FROM jobs WHERE state = ? AND owner = ? AND kind IN ({marks}) "  # noqa: S608
                "ORDER BY number LIMIT 1",
                (JobMetadata.STATE_WAITING, owner, *kinds),
            )
            if not rows:
                return None
            job, request = rows[0]
            if self._change(job, begin, JobMetadata.STATE_WAITING):
                return SubmitJobRequest.FromString(request)

    def advance(self, job: str, steps: list[JobMetadata.Progress]) -> None:
        """Store the latest steps of a running job."""
        self._change(job, lambda operation: advance(operation, steps), JobMetadata.STATE_RUNNING)

    def end(self, job: str, outcome: Status | Outcome) -> None:
        """Store the outcome of a job, unless the job has already ended."""
        if not self._change(job, lambda operation: end(operation, outcome), JobMetadata.STATE_RUNNING):
            self._change(job, lambda operation: end(operation, outcome), JobMetadata.STATE_WAITING)

    def ask_to_stop(self, job: str, why: Status) -> None:
        """End a waiting job with a status, or record that a running job must end with it; raise NotFoundError."""

        def mark_cancelling(operation: Operation) -> None:
            metadata = metadata_of(operation)
            metadata.cancelling = True
            operation.metadata.Pack(metadata)

        self.get(job)
        if not self._change(job, lambda operation: end(operation, why), JobMetadata.STATE_WAITING):
            self._change(job, mark_cancelling, JobMetadata.STATE_RUNNING, why.SerializeToString())

    def asked_to_stop(self, job: str) -> Status | None:
        """Return the status with which a job must end; None if the job may continue."""
        (stop,) = self._row(job, "stop")
        return None if stop is None else Status.FromString(stop)

    def delete(self, job: str) -> None:
        """Delete the record of an ended job; raise NotFoundError, or NotReadyError for an unfinished job."""
        if not self.get(job).done:
            raise NotReadyError(f"job {job!r} has not ended: cancel it first")
        with self._changing() as database:
            database.execute("DELETE FROM jobs WHERE id = ? AND ended IS NOT NULL", (job,))

    def unfinished(self) -> list[tuple[str, str]]:
        """Return the unfinished jobs with their owners, the oldest first."""
        return [
            (job, owner) for job, owner in self._read("SELECT id, owner FROM jobs WHERE ended IS NULL ORDER BY number")
        ]

    def counts(self) -> list[tuple[str, int, int]]:
        """Return the number of kept jobs of each kind and state: (kind, state, number)."""
        return [
            (kind, state, number)
            for kind, state, number in self._read("SELECT kind, state, count(*) FROM jobs GROUP BY kind, state")
        ]

    def unfinished_of(self, collection: str) -> list[str]:
        """Return the unfinished jobs of a collection, by its resource name, the oldest first."""
        query = "SELECT id FROM jobs WHERE ended IS NULL AND collection = ? ORDER BY number"
        return [job for (job,) in self._read(query, (collection,))]

    def close(self) -> None:
        """Close the database; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _row(self, job: str, column: str) -> tuple[Any, ...]:
        rows = self._read(f"SELECT {column} FROM jobs WHERE id = ?", (job,))  # noqa: S608  # columns of this file
        if not rows:
            raise no_operation(job)
        return rows[0]

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        if not _has_content(self._path):
            return []
        with self._used() as database:
            return database.execute(query, values).fetchall()

    def _change(self, job: str, change: _Change, state: int, stop: bytes | None = None) -> bool:
        """Change the operation of a job in one transaction; return False if the job is not in ``state``."""
        if not _has_content(self._path):
            return False
        with self._changing() as database:
            query = "SELECT operation FROM jobs WHERE id = ? AND state = ?"
            row = database.execute(query, (job, state)).fetchone()
            if row is None:
                return False
            operation = Operation.FromString(row[0])
            change(operation)
            ended = time.time() if operation.done else None
            database.execute(
                "UPDATE jobs SET state = ?, ended = ?, operation = ?, stop = coalesce(?, stop) WHERE id = ?",
                (metadata_of(operation).state, ended, operation.SerializeToString(), stop, job),
            )
            if ended is not None:
                database.execute("UPDATE jobs SET request = NULL WHERE id = ?", (job,))
                self._forget(database, ended)
        return True

    def _forget(self, database: sqlite3.Connection, now: float) -> None:
        """Delete the records of ended jobs that are too old or too many."""
        database.execute("DELETE FROM jobs WHERE ended < ?", (now - KEPT_SECONDS,))
        query = "DELETE FROM jobs WHERE number IN (SELECT number FROM jobs WHERE ended IS NOT NULL "
        database.execute(query + "ORDER BY number DESC LIMIT -1 OFFSET ?)", (MOST_ENDED,))

    @contextmanager
    def _changing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside a write transaction."""
        with self._used(create, changing=True) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    @contextmanager
    def _used(self, create: bool = False, changing: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the connection; on a disk that is full or cannot be written, one that only reads."""
        try:
            with self._lock, ExitStack() as stack:
                try:
                    database = self._current(create)
                except sqlite3.OperationalError as error:
                    if changing or not is_disk_error(error):
                        raise
                    database = stack.enter_context(closing(frozen(self._path)))
                yield database
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, StorageError):
                raise
            if is_full(error, self._path):
                raise StorageError(DISK_FULL, detail=free_space(self.folder)) from error
            remedy = OPEN_FILES if too_many_files() else _REMEDY
            raise StorageError(
                f"the records of jobs cannot be read or written: {remedy}", detail=f"{self._path}: {error}"
            ) from error

    def _current(self, create: bool) -> sqlite3.Connection:
        """Return a connection to the file that is at the path now: another home may have replaced this one."""
        if self._connection is not None and self._file != _identity(self._path):
            self._connection.close()
            self._connection = None
        if self._connection is None:
            if create:
                make_folder(self.folder, parents=True)
                with suppress(FileExistsError):
                    make_file(self._path)
            check_no_links(self.folder)
            self._file = _identity(self._path)
            self._connection = _opened(self._path)
        return self._connection


def no_operation(job: str) -> NotFoundError:
    """Return the error of a job that does not exist, or that the caller does not see."""
    return NotFoundError(f"no operation {operation_name(job)!r}; those that ended long ago are deleted")


def _named(request: SubmitJobRequest, job: str) -> bytes:
    copy = SubmitJobRequest()
    copy.CopyFrom(request)
    copy.request_id = job
    return copy.SerializeToString()


def _has_content(path: Path) -> bool:
    """Return whether a file has content: the first job on a full disk leaves an empty one."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    """Give the file of a connection the current format; StorageError for a newer one."""
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"):
        database.execute(statement)
    if (version := _format_of(database)) > _FORMAT:
        raise StorageError(
            f"the records of jobs have format {version}, and this version reads {_FORMAT}: use the newer version, or "
            "remove their file",
            detail=path,
        )
    if version < _FORMAT:
        database.execute("BEGIN IMMEDIATE")
        version = _format_of(database)  # another process may have done this meanwhile
        for column in _ADDED.get(version, ()):
            database.execute(f"ALTER TABLE jobs ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
        if version < min(_ADDED):
            database.execute("DROP TABLE IF EXISTS jobs")
            database.execute(_SCHEMA)
        if version < _FORMAT:
            database.execute(f"PRAGMA user_version = {_FORMAT}")
        database.execute("COMMIT")


def _format_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])
