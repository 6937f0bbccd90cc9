"""The lock that lets one process at a time write a collection."""

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
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import BusyError

PATIENCE = 30.0
"""Default seconds that a writer waits for its turn."""
_WAKE = 0.1
"""Seconds between two checks of a waiting thread for cancellation and its deadline."""
_POLL = 0.002
"""Mean seconds between two tries to get a lock of another process: a blocking flock has no deadline."""

_NOTE = 4096
"""Bytes of the note about the holder: with a fixed length, each note overwrites all of the last."""


class WriterLock:
    """The right to write one collection, held for a commit; the kernel releases it when the process dies.

    The threads of a process get it in the order of their requests, also through several locks of the same path.
    Processes take turns, too: a process first waits for a second lock, ``.next``, and only its holder may take the
    first, so that a process that commits in a loop cannot starve the others. A writer waits ``patience`` seconds
    [default: PATIENCE].
    """

    def __init__(self, path: Path, patience: float | None = None) -> None:
        self._path = path
        self._patience = patience
        self._queue = _queue(path)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock for the block. Do not nest these blocks.

        Raises BusyError after the seconds of patience; its detail names the holder.
        """
        deadline = _Deadline(PATIENCE if self._patience is None else self._patience)
        try:
            with self._queue.turn(deadline), self._held(deadline):
                yield
        except _TooLateError as late:
            raise BusyError(
                f"another process or thread is writing this collection, and this call waited {late.seconds:g} seconds "
                "for it: try again later",
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
    """A writer has waited as long as its patience allows."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class _Deadline:
    """The moment at which the patience of a writer ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise an error that ends the wait if the work is cancelled or the deadline has passed."""
        checkpoint()
        if time.monotonic() >= self._end:
            raise _TooLateError(self._seconds)


class _Queue:
    """The threads of this process that wait for one lock, in the order of their requests.

    flock is a lock between open files, so threads need a queue of their own.
    """

    def __init__(self) -> None:
        self._changed = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def turn(self, deadline: _Deadline) -> Iterator[None]:
        """Wait to be first in the queue, and stay first during the block."""
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
    """Open the file of a lock, made on first use; closing the file releases the lock."""
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
            time.sleep(_POLL * random.uniform(0.5, 1.5))  # random, so that waiting processes do not try in step
