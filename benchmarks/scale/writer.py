"""A thread that replaces items at a steady rate beside searches."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.scale.data import Data
from benchmarks.scale.engine import Engine

_TICK = 0.5  # seconds between the writes


class Turns:
    """A lock that the next one to ask gets: a loop of searches cannot keep the writer out."""

    def __init__(self) -> None:
        self._next, self._lock = threading.Lock(), threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the lock."""
        with self._next:
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()


class Writer(threading.Thread):
    """Replaces the next items of the data's order, so many at a time as are due.

    Attributes:
        written: how many of the order have been replaced.
        seconds: of each write.
        achieved: the share of the wanted rate at which it wrote, up to the end of its last write.
        failure: what ended it early.
    """

    def __init__(self, engine: Engine, data: Data, written: int, a_second: float, turns: Turns | None) -> None:
        super().__init__(daemon=True)
        self.written, self.seconds, self.achieved = written, list[float](), 0.0
        self.failure: Exception | None = None
        self._engine, self._data, self._rate, self._turns = engine, data, a_second, turns
        self._ended = threading.Event()

    def run(self) -> None:
        """Write until ``end``."""
        began, first, last = time.perf_counter(), self.written, False
        try:
            while not last:
                last = self._ended.wait(_TICK)
                due = first + int(self._rate * (time.perf_counter() - began))
                self._write(min(due, self._data.changed))
            goal = self._rate * (time.perf_counter() - began)
            self.achieved = (self.written - first) / goal if goal else 1.0
        except Exception as error:  # noqa: BLE001  # a peer may fail in any way; the searching thread raises it
            self.failure = error

    def end(self) -> None:
        """Let it finish its write, and end."""
        self._ended.set()
        self.join()

    def _write(self, last: int) -> None:
        if last <= self.written:
            return
        ids, rows = self._data.order[self.written : last], self._data.replacements(self.written, last)
        began = time.perf_counter()
        if self._turns is None:
            self._engine.replace(ids, rows)
        else:
            with self._turns.taken():
                self._engine.replace(ids, rows)
        self.seconds.append(time.perf_counter() - began)
        self.written = last
