"""Files and folders of a home: private to this user, and never opened through a link."""

import os
import stat
from pathlib import Path

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.values.errors import StorageError

_FOLDER, _FILE = 0o700, 0o600


def make_folder(path: Path, parents: bool = False) -> None:
    """Make a folder that only this user may enter, unless it exists; with ``parents`` also the folders above it."""
    path.mkdir(_FOLDER, parents, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file that only this user may read; FileExistsError if the name is taken, also by a link."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE))


def open_file(path: Path, flags: int) -> int:
    """Return a descriptor of a regular file, which ``os.O_CREAT`` makes private; StorageError for anything else.

    A link is not followed, because it could lead to a file outside the home.
    """
    with file_errors():
        # O_NONBLOCK: opening a pipe without a writer would wait for ever.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _FILE)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise StorageError("a pipe or a device is where a file should be: remove it", detail=path)
    return descriptor


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk.

    Nothing in this process may have the file open as a database: closing a descriptor releases SQLite's locks.
    """
    descriptor = open_file(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_no_links(folder: Path) -> None:
    """Raise StorageError if a folder is or contains a link; a missing folder contains none."""
    with file_errors():
        paths = [folder, *folder.iterdir()] if folder.is_dir() else [folder]
    for path in paths:
        if path.is_symlink():
            raise StorageError(
                f"{path.name!r} is a link: put the file or folder itself there, or remove the link", detail=path
            )
