"""Waits for other threads that end when the work is cancelled."""

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from crossview.engine.runtime.cancellation import checkpoint

_WAKE = 0.1
"""Seconds between two checks for cancellation."""


def wait_for(changed: threading.Condition, ready: Callable[[], bool], patience: float = math.inf) -> bool:
    """Wait, holding the condition, until ``ready`` holds; False after ``patience`` seconds.

    Raises the error of ``checkpoint`` if the work is cancelled.
    """
    until = time.monotonic() + patience
    while not changed.wait_for(ready, min(_WAKE, max(0.0, until - time.monotonic()))):
        checkpoint()
        if time.monotonic() >= until:
            return False
    return True


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock for the block; raise the error of ``checkpoint`` if the work is cancelled during the wait."""
    while not lock.acquire(timeout=_WAKE):
        checkpoint()
    try:
        yield
    finally:
        lock.release()


class Locks:
    """Locks by name, each made at first use, so that loading one thing does not delay loading another."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, threading.Lock] = {}

    def of(self, name: Hashable) -> threading.Lock:
        """Return the lock of a name."""
        return self._locks.setdefault(name, threading.Lock())
