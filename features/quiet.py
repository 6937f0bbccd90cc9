"""Pillow without its warnings and its limit of pixels, for threads that check pictures themselves."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image as Pillow


class Quiet:
    """Silences Pillow's warnings and removes its limit while a thread is inside; our own limit is checked instead.

    ``warnings.catch_warnings`` saves and restores a list that all threads share. Therefore only the first thread that
    enters installs the filter, and only the last one that leaves removes it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._caught = warnings.catch_warnings()
        self._limit: int | None = None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Silence Pillow during the block."""
        with self._lock:
            if self._inside == 0:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.filterwarnings("ignore", module=r"PIL\.")
                self._limit, Pillow.MAX_IMAGE_PIXELS = Pillow.MAX_IMAGE_PIXELS, None
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    Pillow.MAX_IMAGE_PIXELS = self._limit
                    self._caught.__exit__(None, None, None)


quiet = Quiet()
