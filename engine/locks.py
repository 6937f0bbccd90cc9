"""Locks: one process writes a collection; in a process, many threads search an index while nobody changes it."""

import fcntl
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.catalog.database import storage_errors
from engine.errors import BusyError


class WriterLock:
    """The right to write one collection: held for one operation, given up when the process dies however it dies.

    Threads of one process wait for each other; another process is told who is writing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = threading.RLock()
        self._depth = 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock for the block; BusyError names the process that has it."""
        with self._thread:
            if self._depth:
                yield
                return
            with storage_errors():
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                self._take(descriptor)
                self._depth = 1
                yield
            finally:
                self._depth = 0
                os.close(descriptor)

    def _take(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(
                f"this collection is being written by {_holder(descriptor)}; try again when it is done"
            ) from error
        note = json.dumps({"pid": os.getpid(), "command": " ".join(sys.argv)[:200]}).encode()
        with storage_errors():
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, note, 0)


def _holder(descriptor: int) -> str:
    try:
        note = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {note['pid']} ({note['command']})"
    except (ValueError, KeyError, OSError):
        return "another process"


class ReadWriteLock:
    """Many readers or one writer; a waiting writer goes before new readers, so that it is never starved."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0

    @contextmanager
    def read(self) -> Iterator[None]:
        """Share the guarded thing for the block."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def write(self) -> Iterator[None]:
        """Have the guarded thing alone for the block."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._writing and not self._readers)
            self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
