"""Leftovers: unfinished files and folders of killed processes, recognisable by their temporary names."""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import BusyError

_POLL = 0.01
"""Seconds between two tries to get a lock."""
NEW = ".new-"
"""Prefix of the names of folders of a home that are not yet collections or models."""
PART = ".crossview-copy-"
"""Prefix of the names of unfinished copies of databases."""
PART_NAME = rf"{re.escape(PART)}[0-9a-f]{{32}}(-journal|-wal|-shm)?"


@contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """Protect the files that the block makes in a folder from ``remove_leftovers``.

    The protection is a lock of the kernel, which ends even if the process is killed.
    """
    descriptor = _locked(folder, fcntl.LOCK_SH)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def holding(folder: Path, seconds: float) -> Iterator[bool]:
    """Yield whether no process is at work in a folder within ``seconds``; then none can begin during the block."""
    until = time.monotonic() + seconds
    while (descriptor := _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)) is None and time.monotonic() < until:
        checkpoint()
        time.sleep(_POLL)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def alone_at_work(folder: Path) -> Iterator[None]:
    """Keep other processes that call this function out of a folder during the block; BusyError if one is in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another process is at work in {folder}: wait until it has finished") from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove entries of a folder whose whole name matches a regular expression, unless a process is at work there."""
    remove_unless_at_work(folder, lambda: [path for path in folder.iterdir() if re.fullmatch(name, path.name)])


def remove_unless_at_work(folder: Path, chosen: Callable[[], Iterable[Path]]) -> None:
    """Remove the chosen entries of a folder; remove nothing if a process is at work there.

    Temporary names are random and never used again. An entry that cannot be removed only occupies space.
    """
    descriptor = _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if descriptor is None:
        return
    entries: list[Path] = []
    try:
        with suppress(FileNotFoundError):  # the folder was deleted just now
            entries = list(chosen())
    finally:
        os.close(descriptor)
    for path in entries:  # the lock is free again: processes that start now use other names
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def _locked(folder: Path, how: int) -> int | None:
    """Return a descriptor that holds a lock on a folder; None if the lock is not available."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, how)
    except OSError:  # another process holds it, or the file system has no locks: then leftovers stay
        os.close(descriptor)
        return None
    return descriptor
