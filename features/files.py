"""Files that a person names, or that are in a folder that a person names: regular files only."""

import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path | str, follow: bool = True) -> BufferedReader:
    """Return a regular file, open for reading; a symbolic link is an OSError unless ``follow``.

    Raises OSError, also for a pipe or a device, which could wait for ever or never end.
    """
    links = 0 if follow else os.O_NOFOLLOW
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | links))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "not a regular file", str(path))
    return file


def read_regular(path: Path | str, most: int = -1) -> bytes:
    """Return the bytes of a regular file, at most ``most`` unless it is -1; raise OSError as ``open_regular``."""
    with open_regular(path) as file:
        return file.read(most)
