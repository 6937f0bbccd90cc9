"""The owner of jobs: a server with a file lock, which the kernel releases once the server and its processes died."""

import fcntl
import os
import uuid
from contextlib import suppress
from pathlib import Path

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.private import make_folder, open_file


class Owner:
    """A server that owns jobs, from construction to ``close``. Its processes inherit the lock, so they hold it too.

    Raises StorageError.
    """

    def __init__(self, folder: Path) -> None:
        self.id: str = uuid.uuid4().hex
        self._path = _lock_of(folder, self.id)
        self._held: list[int] = []
        self.stay()

    @property
    def descriptor(self) -> int:
        """The descriptor of the lock that a new process must hold."""
        return self._held[-1]

    def stay(self) -> None:
        """Take the lock in the current folder, if another home has replaced the home; raise StorageError."""
        while not self._is_current():  # another server may remove the file, as that of a dead one, before the flock
            with file_errors():
                make_folder(self._path.parent, parents=True)
            self._held.append(open_file(self._path, os.O_RDWR | os.O_CREAT))
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)

    def _is_current(self) -> bool:
        """Return whether the held lock is the file that other servers find at the path."""
        try:
            return bool(self._held) and os.path.samestat(os.fstat(self.descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Release the lock. Call it only after all jobs and processes of the owner have ended."""
        with suppress(OSError):
            self._path.unlink()
        for descriptor in self._held:
            os.close(descriptor)


def bury(folder: Path, owner: str) -> bool:
    """Remove the lock of a dead owner; return whether the owner and all its processes are dead."""
    path = _lock_of(folder, owner)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        with suppress(OSError):
            path.unlink()
        return True
    finally:
        os.close(descriptor)


def _lock_of(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"
