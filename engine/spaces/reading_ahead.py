"""Reading ahead: what hits show of a collection that is not large is read before anybody finds it."""

import threading
import time
from collections.abc import Callable

from crossview.engine.catalog.item_pages import ITEMS_A_PAGE
from crossview.engine.errors import CrossviewError
from crossview.engine.spaces.version import StaleError, Version

MOST_ITEMS = 1 << 17
"""Items of a collection that is read ahead, some 50 MB beside texts and attributes; larger ones are read when found."""
AFTER_SECONDS = 1.0
"""For which a collection is open before it is read ahead: who asks once need not pay for it."""
_PAUSE = 3.0
"""Times as long as reading takes, between two pages, so that searches have the interpreter."""


class ReadingAhead:
    """Reads the pages of the current version in the background, once; what changes later is read as it is found."""

    def __init__(self, current: Callable[[], Version]) -> None:
        self._current = current
        self._from = time.monotonic() + AFTER_SECONDS
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        self._stop = threading.Event()

    def begin(self) -> None:
        """Begins, unless it has begun or it is too early."""
        if self._thread is not None or time.monotonic() < self._from or not self._beginning.acquire(blocking=False):
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._read, name="reading ahead", daemon=True)
            self._thread.start()
        self._beginning.release()

    def close(self) -> None:
        """Ends it."""
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
        """Reads the items from an id on; returns False where somebody writes meanwhile."""
        version = self._current()
        try:
            with version.read() as tx:
                version.pages.read(tx, range(first, min(first + ITEMS_A_PAGE, last + 1)))
        except StaleError:
            return False
        return True
