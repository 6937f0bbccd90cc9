"""Waiting for what other threads do, as long as it is wanted."""

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


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock for the block; raises what the ``checkpoint`` of cancellable work raises while it waits."""
    while not lock.acquire(timeout=_WAKE):
        checkpoint()
    try:
        yield
    finally:
        lock.release()
