"""A budget of pixels: what all the pictures that are decoded at once may take together."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WAKE = 0.1
"""Seconds between two looks at whether the waiting is still wanted."""


class NotWantedError(Exception):
    """Who waited has left."""


class PixelBudget:
    """At most so many pixels at once; who waits is served in order, and a picture above the budget has it alone."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, pixels: int, wanted: Callable[[], bool]) -> Iterator[None]:
        """Hold some of the budget for the block; NotWantedError where ``wanted`` ends while it waits."""
        self._take(pixels, wanted)
        try:
            yield
        finally:
            with self._changed:
                self._held -= pixels
                self._changed.notify_all()

    def _take(self, pixels: int, wanted: Callable[[], bool]) -> None:
        place = object()
        with self._changed:
            self._waiting.append(place)
            try:
                while not (self._waiting[0] is place and (not self._held or self._held + pixels <= self._most)):
                    if not wanted():
                        raise NotWantedError
                    self._changed.wait(_WAKE)
                self._held += pixels
            finally:
                self._waiting.remove(place)
                self._changed.notify_all()
