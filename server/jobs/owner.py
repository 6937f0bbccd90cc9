"""Who carries out jobs: a server, known by a lock that the kernel gives up once it and its processes are dead."""

import fcntl
import os
import uuid
from contextlib import suppress
from pathlib import Path

from engine.catalog.file_errors import file_errors


class Owner:
    """A server that owns jobs, from construction to ``close``. Its processes inherit the lock and hold it, too."""

    def __init__(self, folder: Path) -> None:
        with file_errors():
            folder.mkdir(parents=True, exist_ok=True)
            while True:
                self.id = uuid.uuid4().hex
                self._path = _lock_of(folder, self.id)
                self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                fcntl.flock(self.descriptor, fcntl.LOCK_EX)
                if self._path.exists():  # else somebody took it for that of a dead server before it was locked
                    return
                os.close(self.descriptor)

    def close(self) -> None:
        """Gives up the lock; the owner has no processes and no jobs that have not ended."""
        with suppress(OSError):
            self._path.unlink()
        os.close(self.descriptor)


def bury(folder: Path, owner: str) -> bool:
    """Removes the lock of an owner that is dead; returns whether it is, and all its processes."""
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
