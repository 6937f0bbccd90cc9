"""The folder of a collection: what lies where in it, who may write it, and what the file system refuses."""

import errno
import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from engine.errors import BusyError, StorageError
from engine.learners.cancellation import checkpoint

CATALOG_FILE = "catalog.db"
LOCK_FILE = "lock"
INDEX_FOLDER = "indexes"
PATIENCE = 30.0
"""Seconds that a thread waits for another one of this process that writes the same collection."""
_WAKE = 0.1
"""Seconds between two looks at whether the waiting is still wanted."""
DISK_FULL = "the disk is full; nothing that was acknowledged is lost"
_PLAIN = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: "the disk quota is used up; nothing that was acknowledged is lost",
    errno.EROFS: "the home is read-only",
    errno.EACCES: "no permission for the home",
    errno.EPERM: "no permission for the home",
}


def catalog_url(folder: Path) -> str:
    """Return the database URL of the catalog in a collection's folder."""
    return f"sqlite:///{quote(str(folder / CATALOG_FILE))}"


@contextmanager
def file_errors() -> Iterator[None]:
    """Turn what the file system refuses, and a person can mend, into StorageError."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError) or error.errno not in _PLAIN:
            raise
        raise StorageError(f"{_PLAIN[error.errno]}: {error.filename or error}") from error


class WriterLock:
    """The right to write one collection: held for one operation, given up when the process dies however it dies.

    Threads of one process wait for each other, up to PATIENCE seconds; another process is told who is writing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = threading.RLock()
        self._depth = 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock for the block; BusyError names the process that has it."""
        with self._turn():
            if self._depth:
                yield
                return
            with file_errors():
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                self._take(descriptor)
                self._depth = 1
                yield
            finally:
                self._depth = 0
                os.close(descriptor)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Have the lock to this thread for the block."""
        until = time.monotonic() + PATIENCE
        while not self._thread.acquire(timeout=_WAKE):
            checkpoint()
            if time.monotonic() >= until:
                raise BusyError(
                    f"this collection has been written by another call of this process for the {PATIENCE:.0f} seconds "
                    "that this one waited; try again when it is done"
                )
        try:
            yield
        finally:
            self._thread.release()

    def _take(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(
                f"this collection is being written by {_holder(descriptor)}; try again when it is done"
            ) from error
        note = json.dumps({"pid": os.getpid(), "command": " ".join(sys.argv)[:200]}).encode()
        with file_errors():
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, note, 0)


def _holder(descriptor: int) -> str:
    try:
        note = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {note['pid']} ({note['command']})"
    except (ValueError, KeyError, OSError):
        return "another process"
