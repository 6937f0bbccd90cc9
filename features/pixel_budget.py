"""A budget of pixels, which all pictures that are being decoded share."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WAKE = 0.1
"""Seconds between two checks whether the caller still wants the picture."""


class NotWantedError(Exception):
    """The caller no longer wants the picture."""


class PixelBudget:
    """A limit of ``most`` pixels at once. Callers wait in order; a picture above the limit is decoded alone."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, pixels: int, wanted: Callable[[], bool]) -> Iterator[None]:
        """Reserve pixels for the block; raise NotWantedError if ``wanted`` returns False during the wait."""
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
