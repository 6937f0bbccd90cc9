"""Locks on what threads share: many search an index while nobody changes it."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.learners.cancellation import checkpoint

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
