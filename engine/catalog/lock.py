"""The lock by which one process at a time writes a collection."""

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.catalog.file_errors import file_errors
from engine.errors import BusyError
from engine.learners.cancellation import checkpoint

PATIENCE = 30.0
"""Seconds that a thread waits for another one of this process that writes the same collection."""
_WAKE = 0.1
"""Seconds between two looks at whether the waiting is still wanted."""


class WriterLock:
    """The right to write one collection: held for one operation, given up when the process dies however it dies.

    Threads of one process wait for each other, up to PATIENCE seconds; another process gets an error that names the
    writer.
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
        """Keep the other threads of this process out for the block."""
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
