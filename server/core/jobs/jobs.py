"""The jobs of a server: a queue of requests, of which a few run at once, in order."""

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from google.longrunning.operations_pb2 import Operation
from google.rpc.status_pb2 import Status

from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import (
    BusyError,
    CancelledError,
    CrossviewError,
    NotEnoughMemoryError,
    NotFoundError,
    StorageError,
    call,
)
from crossview.features.background import NO_MORE, begun
from crossview.features.picture_pool import PicturePool
from crossview.server.core.dispatch.origin import NO_ORIGIN, Origin
from crossview.server.core.jobs.operation import (
    check_conditions,
    collection_of,
    in_collection,
    metadata_of,
    new_operation,
)
from crossview.server.core.jobs.owner import Owner, bury
from crossview.server.core.jobs.records import Records, no_operation
from crossview.server.core.jobs.slot import Ended, Slot, settled
from crossview.server.wire.errors import JobStoppedError
from crossview.server.wire.identity import LOCAL, Identity, acting
from crossview.server.wire.methods import JOBS, Lane
from crossview.server.wire.names import collection_name, job_id, parse_collection, parse_operation
from crossview.server.wire.status import refusal
from crossview.v1.collections_pb2 import ImportItemsRequest
from crossview.v1.jobs_pb2 import SubmitJobRequest

_RECORD_SECONDS = 0.1
"""Interval at which the thread reads the records, because other processes can end jobs too."""
_log = logging.getLogger("crossview.jobs")
_Ended = asyncio.Future[Operation]


class Waiting:
    """The calls that wait for jobs. Call ``ended`` in an event loop, the other methods in any thread."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._waiting: dict[str, set[_Ended]] = {}
        self._left: dict[str, Status] = {}
        self._changing = threading.Lock()
        self._look = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def ended(self, job: str) -> _Ended:
        """Return a future of the operation of a job once it has ended; it raises NotFoundError for an unknown job."""
        ended: _Ended = asyncio.get_running_loop().create_future()
        with self._changing:
            self._waiting.setdefault(job, set()).add(ended)
        ended.add_done_callback(lambda _: self._forget(job, ended))
        self._begin()
        if self._thread is None and not self._closed:
            ended.set_exception(NotEnoughMemoryError(f"no thread can wait for the job; {NO_MORE}"))
        return ended

    def leave(self, job: str, why: Status) -> None:
        """Ask a job to end with a status, because its caller has left; return without waiting."""
        with self._changing:
            self._left[job] = why
        self._begin()

    def look(self) -> None:
        """Complete the futures of the jobs that have ended."""
        self._look.set()

    def close(self) -> None:
        """Ask the remaining jobs of callers that have left to end, and stop the thread."""
        self._closed = True
        self._look.set()
        if self._thread is not None:
            self._thread.join()

    def _begin(self) -> None:
        with self._changing:
            if self._thread is None and not self._closed:
                self._thread = begun(self._watch, "waiting for jobs")
        self._look.set()

    def _watch(self) -> None:
        while True:
            closing = self._closed  # read first: the last round serves those that left before
            with self._changing:
                jobs, leaving = list(self._waiting), self._left
                self._left = {}
            try:
                for job, why in leaving.items():
                    with suppress(NotFoundError):
                        self._records.ask_to_stop(job, why)
                outcomes: Mapping[str, Operation | Exception] = self._records.ended(jobs) if jobs else {}
            except StorageError as error:
                _log.error("%s", error)
                outcomes = dict.fromkeys(jobs, error)
            for job, outcome in outcomes.items():
                self._deliver(job, outcome)
            if closing:
                return
            self._look.wait(_RECORD_SECONDS if self._waiting else None)
            self._look.clear()

    def _deliver(self, job: str, outcome: Operation | Exception) -> None:
        with self._changing:
            waiting = self._waiting.pop(job, set())
        for future in waiting:
            with suppress(RuntimeError):  # the event loop is closed
                future.get_loop().call_soon_threadsafe(_settle, future, outcome)

    def _forget(self, job: str, ended: _Ended) -> None:
        with self._changing:
            waiting = self._waiting.get(job, set())
            waiting.discard(ended)
            if not waiting:
                self._waiting.pop(job, None)


def _settle(ended: _Ended, outcome: Operation | Exception) -> None:
    if ended.done():  # the caller has left
        return
    if isinstance(outcome, Exception):
        ended.set_exception(outcome)
    else:
        ended.set_result(outcome)


_LOOK_SECONDS = 0.5
"""Interval at which the server checks the jobs of dying servers and of other servers."""
_STOPPED = (
    "the server stopped before the job had ended. Uncommitted changes of the job are undone; submit it again, with "
    "another request id"
)


class Jobs:
    """The jobs that one server runs for a home. Several threads may call the methods.

    The constructor ends the unfinished jobs of dead servers: a job whose space is in its collection is done; other jobs
    fail with JobStoppedError.

    Args:
        home: the home of the collections and of the records.
        at_once: maximum number of long jobs that run at once; further ones wait in order.
        pictures: makes, in the process of a job, the pool that reads the pictures of requests.
        ended: takes each ended job with its stages; None: record no stages.
    """

    home: Home

    def __init__(
        self,
        home: Home,
        at_once: int = 1,
        pictures: Callable[[], PicturePool] = PicturePool,
        ended: Ended | None = None,
    ) -> None:
        self._ended = ended
        self.home, self._at_once, self._pictures = home, at_once, pictures
        self.records: Records = Records(home.path)
        self._owner: Owner | None = None
        self._slots: list[Slot] = []
        self._starting = threading.Lock()
        self.waiting: Waiting = Waiting(self.records)
        self._closing = threading.Event()
        self._recovery: threading.Thread | None = None
        if self._recover():
            self._recovery = threading.Thread(target=self._keep_recovering, name="jobs-recovery", daemon=True)
            self._recovery.start()

    def submit(
        self, request: SubmitJobRequest, who: Identity = LOCAL, origin: Origin = NO_ORIGIN
    ) -> tuple[Operation, bool]:
        """Put a request of a caller in the queue; return its operation, and whether the operation is new.

        The job and its id belong to the caller's key: only callers with this key and administrators see the job, and
        other callers can use the id. A job of an alias is one of the collection that the alias stands for now.

        Raises InvalidInputError, NotFoundError for the collection, AlreadyExistsError if another request of the key has
        the id, OverloadedError if too many jobs wait, JobStoppedError if the server stops, StorageError.
        """
        name = collection_of(request)
        with acting(who):
            check_conditions(request)
        self.home.check_exists(name)
        if (own_name := self.home.collection_of(name)) != name:
            request = in_collection(request, own_name)
        operation = new_operation(request, origin, who.id)
        with self._starting:
            if self._closing.is_set():
                raise JobStoppedError("the server stops, and takes no more jobs")
            if self._owner is None:
                self._owner = Owner(self.records.folder)
                lanes = [*[_kinds(Lane.LONG)] * self._at_once, _kinds(Lane.QUICK)]
                shared = self.home, self.records, self._owner, self.waiting.look, self._pictures, self._ended
                self._slots = [Slot(kinds, *shared) for kinds in lanes]
            self._owner.stay()
            identity = CollectionFolder(self.home.path / own_name).identify()
            submitted = self.records.add(request, operation, self._owner.id, who.id, identity)
            for slot in self._slots:
                slot.wake()
        return submitted

    def index(self, collection: str, folder: Path) -> None:
        """Submit a job that indexes a folder of this machine; raise the errors of ``submit``.

        Only the program that runs the server chooses the folder: no request of a client can name one.
        """
        job = uuid.uuid4().hex
        self.records.folders[job] = folder
        parent = collection_name(collection)
        self.submit(SubmitJobRequest(import_items=ImportItemsRequest(parent=parent), request_id=job))

    def seen(self, who: Identity, name: str) -> str:
        """Return the id of the job whose operation a caller names; raise the same NotFoundError if there is none, and
        if the caller does not see it.

        A caller names its own requests by the ids that it chose. An administrator names those of other keys by the ids
        that a list of operations shows.
        """
        given_id = parse_operation(name)
        for job in (job_id(given_id, who.id), given_id):
            with suppress(NotFoundError):
                if who.owns(self.records.key_of(job)):
                    return job
        raise no_operation(given_id)

    def cancel(self, job: str) -> None:
        """Request the cancellation of a job, which ends soon unless it has ended; raise NotFoundError."""
        self.records.ask_to_stop(job, refusal(CancelledError("the job was cancelled")).status)
        self.waiting.look()

    def check_none(self, collection: str) -> None:
        """Raise BusyError if a job of a collection has not ended."""
        if unfinished := self.records.unfinished_of(collection_name(collection)):
            raise BusyError(
                f"collection {collection!r} has jobs that have not ended, such as {unfinished[0]!r}: wait for them, or "
                "cancel them, with: ",
                call("client.jobs.list"),
            )

    def cancel_all(self, collection: str) -> None:
        """Cancel the jobs of a deleted collection."""
        error = refusal(CancelledError(f"collection {collection!r} was deleted")).status
        self._ask_all(error, collection)

    def close(self) -> None:
        """Refuse new jobs, and end unfinished ones with JobStoppedError; closing again does nothing."""
        with self._starting:
            self._closing.set()
        self._ask_all(refusal(JobStoppedError(_STOPPED)).status)
        for slot in self._slots:
            slot.join()
        self.waiting.close()
        if self._recovery is not None:
            self._recovery.join()
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.close()
        self.records.close()

    def _ask_all(self, error: Status, collection: str | None = None) -> None:
        """Ask the unfinished jobs of this server to end: those of one collection, or all."""
        for job, owner in self.records.unfinished():
            if self._owner is None or owner != self._owner.id:
                continue
            if collection in (None, parse_collection(metadata_of(self.records.get(job)).collection)):
                self.records.ask_to_stop(job, error)
        self.waiting.look()

    def _recover(self) -> bool:
        """End the jobs of dead servers; return whether unfinished jobs of other servers are left."""
        unsettled = False
        for job, owner in self.records.unfinished():
            if self._owner is not None and owner == self._owner.id:
                continue
            if not bury(self.records.folder, owner):
                unsettled = True
                continue
            try:
                self.records.end(job, settled(self.home, self.records.request(job), JobStoppedError(_STOPPED)))
            except CrossviewError as error:  # such as BusyError from a writer of the collection; the next check repeats
                _log.warning("cannot settle job %s of a dead server yet: %s", job, error)
                unsettled = True
        return unsettled

    def _keep_recovering(self) -> None:
        """Repeat the recovery while processes of killed servers are ending, or other servers have jobs."""
        unsettled = True
        while unsettled and not self._closing.wait(_LOOK_SECONDS):
            try:
                unsettled = self._recover()
            except (CrossviewError, OSError) as error:  # the records are unreadable at the moment
                _log.warning("%s", error)


def _kinds(lane: Lane) -> tuple[str, ...]:
    return tuple(kind for kind, method in JOBS.items() if method.job is not None and method.job.lane is lane)
