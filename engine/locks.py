"""Locks: one process writes a collection; in a process, many threads search an index while nobody changes it."""

import fcntl
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import BusyError
from engine.learners.cancellation import checkpoint
from engine.storage import file_errors

PATIENCE = 30.0
"""Seconds that a thread waits for another one of this process that writes the same collection."""
_WAKE = 0.1
"""Seconds between two looks at whether the waiting is still wanted."""


def wait_for(changed: threading.Condition, ready: Callable[[], bool], patience: float = math.inf) -> bool:
    """Wait, holding the condition, until ``ready`` holds; False after ``patience`` seconds.

    Raises what the ``checkpoint`` of cancellable work raises.
    """
    until = time.monotonic() + patience
    while not changed.wait_for(ready, min(_WAKE, max(0.0, until - time.monotonic()))):
        checkpoint()
        if time.monotonic() >= until:
            return False
    return True


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
            wait_for(self._changed, lambda: not self._writing and not self._waiting)
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
            try:
                wait_for(self._changed, lambda: not self._writing and not self._readers)
            finally:
                self._waiting -= 1
                self._changed.notify_all()  # readers wait for writers that wait, and this one may have given up
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
