"""Errors of the file system as StorageError, with their remedies."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crossview.engine.values.errors import StorageError

_NOTHING_LOST = "nothing that was acknowledged is lost"
DISK_FULL = f"the disk is full: free some space and try again; {_NOTHING_LOST}"
DISK_FAILS = f"the disk cannot be written or read: check that it works and has space, and try again; {_NOTHING_LOST}"
_PERMISSION = "no permission: let this user read and write there, or use another home"
OPEN_FILES = "too many files are open: close some, or raise the limit (ulimit -n)"
_REMEDIES = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: f"the disk quota is used up: free some space and try again; {_NOTHING_LOST}",
    errno.EFBIG: f"a file would be larger than this user or the file system allows (ulimit -f); {_NOTHING_LOST}",
    errno.EROFS: "the file system is read-only: mount it for writing, or use another home",
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.ENOTDIR: "a file is where a folder should be: use another path",
    errno.EEXIST: "a file is where a folder should be: use another path",
    errno.EMFILE: OPEN_FILES,
    errno.ENFILE: OPEN_FILES,
    errno.ELOOP: "a link is where a file or folder should be: put the file or folder there, or remove the link",
}


def too_many_files() -> bool:
    """Return whether this process can open no further file: SQLite reports this like any other failed open."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in {errno.EMFILE, errno.ENFILE}
    return False


def free_space(folder: Path) -> str:
    """Return a sentence about the space of the disk that contains a folder."""
    free = shutil.disk_usage(folder)
    place = folder.resolve()
    while not os.path.ismount(place):
        place = place.parent
    return f"the disk at {place} has {free.free / 1e6:,.1f} of {free.total / 1e6:,.1f} MB free"


@contextmanager
def file_errors() -> Iterator[None]:
    """Turn an OSError of the file system into StorageError.

    A subclass of OSError without a remedy in ``_REMEDIES``, such as FileNotFoundError, passes through: only the caller
    knows its meaning.
    """
    try:
        yield
    except OSError as error:
        # Libraries that decode files raise an OSError without a number.
        if error.errno in _REMEDIES or (type(error) is OSError and error.errno is not None):
            where = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise StorageError(_REMEDIES.get(error.errno, DISK_FAILS), detail=where) from error
        raise
