"""What the file system refuses, as StorageError where a person can mend it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import StorageError

DISK_FULL = "the disk is full; nothing that was acknowledged is lost"
_PLAIN = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: "the disk quota is used up; nothing that was acknowledged is lost",
    errno.EROFS: "the home is read-only",
    errno.EACCES: "no permission for the home",
    errno.EPERM: "no permission for the home",
}


@contextmanager
def file_errors() -> Iterator[None]:
    """Turn what the file system refuses, and a person can mend, into StorageError."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError) or error.errno not in _PLAIN:
            raise
        raise StorageError(f"{_PLAIN[error.errno]}: {error.filename or error}") from error
