"""Reading ahead: reads the content of hits of a small collection before searches need it."""

import threading
import time
from collections.abc import Callable

from crossview.engine.catalog.item_pages import ITEMS_A_PAGE
from crossview.engine.spaces.version import StaleError, Version
from crossview.engine.values.errors import CrossviewError
from crossview.features.background import begun

MOST_ITEMS = 1 << 17
"""Maximum number of items of a collection that is read ahead, about 50 MB without texts and attributes."""
AFTER_SECONDS = 1.0
"""Seconds between opening a collection and reading ahead: a program that searches only once does not need it."""
_PAUSE = 3.0
"""Pause between two pages, as a multiple of the time of reading one, so that searches get the interpreter lock."""


class ReadingAhead:
    """Reads the pages of the current version once in the background; searches read the items that change later."""

    def __init__(self, current: Callable[[], Version]) -> None:
        self._current = current
        self._from = time.monotonic() + AFTER_SECONDS
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        self._stop = threading.Event()

    def begin(self) -> None:
        """Start reading ahead unless it has started, or the collection was opened less than ``AFTER_SECONDS`` ago."""
        if self._thread is not None or time.monotonic() < self._from or not self._beginning.acquire(blocking=False):
            return
        if self._thread is None:
            self._thread = begun(self._read, "reading ahead")
        self._beginning.release()

    def close(self) -> None:
        """Stop reading, and wait for the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        try:
            count, last = self._extent()
            first = 0 if count <= MOST_ITEMS else last + 1
            pause = 0.0
            while first <= last and not self._stop.wait(pause):
                began = time.monotonic()
                if self._read_page(first, last):
                    first += ITEMS_A_PAGE
                pause = _PAUSE * (time.monotonic() - began)
        except CrossviewError:  # a search that needs these items reports it
            return

    def _extent(self) -> tuple[int, int]:
        with self._current().catalog.read() as tx:
            return tx.items.extent()

    def _read_page(self, first: int, last: int) -> bool:
        """Read a page of items from an id on; return False if a commit intervened."""
        version = self._current()
        try:
            with version.read() as tx:
                version.pages.read(tx, range(first, min(first + ITEMS_A_PAGE, last + 1)))
        except StaleError:
            return False
        return True
