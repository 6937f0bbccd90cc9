"""The lock by which one process at a time writes a collection."""

import fcntl
import json
import os
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from crossview.engine.catalog.private import open_file
from crossview.engine.errors import BusyError
from crossview.engine.runtime.cancellation import checkpoint

PATIENCE = 30.0
"""Seconds that a writer waits for its turn, unless the lock was made with others."""
_WAKE = 0.1
"""Seconds between two looks of a waiting thread at whether the waiting is still wanted."""
_POLL = 0.002
"""Seconds, about, between two tries to get what another process holds: the kernel's own waiting has no deadline."""

_NOTE = 4096
"""Bytes of the note on who holds a lock, so that one takes the place of another whole."""


class WriterLock:
    """The right to write one collection: held for a commit, given up when the process dies however it dies.

    The threads of a process get it first come, first served, even by several locks of the same path. Of several
    processes each gets its turn: who waits longest holds a second lock, without which nobody takes the first.
    ``patience`` is how many seconds a writer waits, PATIENCE by default.
    """

    def __init__(self, path: Path, patience: float | None = None) -> None:
        self._path = path
        self._patience = patience
        self._queue = _queue(path)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock for the block; not again inside it.

        Raises BusyError, which names the holder, after the seconds of patience.
        """
        deadline = _Deadline(PATIENCE if self._patience is None else self._patience)
        try:
            with self._queue.turn(deadline), self._held(deadline):
                yield
        except _TooLateError as late:
            raise BusyError(
                f"this collection is being written by another, and has been for the {late.seconds:g} seconds that this "
                "call waited; try again when it is done",
                detail=self._holder(),
            ) from None

    @contextmanager
    def _held(self, deadline: "_Deadline") -> Iterator[None]:
        with _file(self._path) as lock:
            with _file(self._path.with_name(f"{self._path.name}.next")) as next_one:
                _take(next_one, deadline)
                _take(lock, deadline)
            note = json.dumps({"pid": os.getpid(), "command": " ".join(sys.argv)[:200]}).encode().ljust(_NOTE)
            # The note is for messages only. A disk too full for it must not keep a collection from being deleted.
            with suppress(OSError):
                if os.pread(lock, _NOTE, 0) != note:
                    os.pwrite(lock, note, 0)
            yield

    def _holder(self) -> str:
        try:
            note = json.loads(self._path.read_bytes())
            return f"process {note['pid']} ({note['command']})"
        except (ValueError, KeyError, OSError):
            return "another process"


class _TooLateError(Exception):
    """The patience of a writer is at its end."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class _Deadline:
    """When the patience of a writer ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise what ends the waiting: its end is reached, or the work is no longer wanted."""
        checkpoint()
        if time.monotonic() >= self._end:
            raise _TooLateError(self._seconds)


class _Queue:
    """The threads of this process that want one lock, in the order of their coming."""

    def __init__(self) -> None:
        self._changed = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def turn(self, deadline: _Deadline) -> Iterator[None]:
        """Be the first of them for the block."""
        mine = threading.Event()
        with self._changed:
            self._waiting.append(mine)
            self._waiting[0].set()
        try:
            while not mine.wait(_WAKE):
                deadline.check()
            yield
        finally:
            with self._changed:
                self._waiting.remove(mine)
                if self._waiting:
                    self._waiting[0].set()


_queues: "WeakValueDictionary[str, _Queue]" = WeakValueDictionary()
_queues_changed = threading.Lock()


def _queue(path: Path) -> _Queue:
    """Return the one queue of a path in this process."""
    with _queues_changed:
        return _queues.setdefault(os.path.abspath(path), _Queue())


@contextmanager
def _file(path: Path) -> Iterator[int]:
    """Open a file that is locked, and made if need be; closing it gives up the lock."""
    descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int, deadline: _Deadline) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            deadline.check()
            time.sleep(_POLL * random.uniform(0.5, 1.5))  # processes that wait must not look in step
