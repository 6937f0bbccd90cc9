"""Pillow without its warnings, its limit of pixels and the lines of its libraries, for checked pictures."""

import logging
import os
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image as Pillow

_ERRORS = 2
"""The descriptor of the standard error."""
_MOST_BYTES = 1 << 12


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
        self.is_alone = False
        """Whether no other thread of this process writes to the standard error, so that lines can be collected."""

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

    @contextmanager
    def lines(self) -> Iterator[list[str]]:
        """Collect what libraries in C write to the standard error during the block, if this thread is alone.

        libtiff writes there what is wrong with a file, several times and without the name of the file.
        """
        collected = list[str]()
        if not self.is_alone:
            yield collected
            return
        with tempfile.TemporaryFile() as file:
            before = os.dup(_ERRORS)
            os.dup2(file.fileno(), _ERRORS)
            try:
                yield collected
            finally:
                os.dup2(before, _ERRORS)
                os.close(before)
                file.seek(0)
                text = file.read(_MOST_BYTES).decode(errors="replace")
                collected += [line.removeprefix("tempfile.tif: ").rstrip(".") for line in text.splitlines()]


quiet: Quiet = Quiet()
logging.getLogger("PIL").addHandler(logging.NullHandler())  # otherwise Python prints what no program asks for
