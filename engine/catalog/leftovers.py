"""Leftovers: files and folders that have names of their own until they are whole, of processes that were killed."""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART = ".crossview-copy-"
"""Begins the names of copies of databases that are not finished."""
PART_NAME = rf"{re.escape(PART)}[0-9a-f]{{32}}(-journal|-wal|-shm)?"


@contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """Let nobody take for leftovers what the block makes in a folder; the kernel knows when the process dies."""
    descriptor = _locked(folder, fcntl.LOCK_SH)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove what has a whole name that a regular expression describes, unless anybody is at work in the folder."""
    remove_unless_at_work(folder, lambda: [path for path in folder.iterdir() if re.fullmatch(name, path.name)])


def remove_unless_at_work(folder: Path, chosen: Callable[[], Iterable[Path]]) -> None:
    """Remove what is chosen of a folder while nobody is at work there; nothing where anybody is.

    Names in it are never given again. What cannot be removed only takes room.
    """
    descriptor = _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if descriptor is None:
        return
    try:
        found = list(chosen())
    finally:
        os.close(descriptor)
    for path in found:  # whoever is at work by now has other names
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def _locked(folder: Path, how: int) -> int | None:
    """Return a descriptor that holds a lock on a folder; None where that cannot be had."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, how)
    except OSError:  # somebody holds it, or the file system knows no locks: then nothing is ever removed
        os.close(descriptor)
        return None
    return descriptor
