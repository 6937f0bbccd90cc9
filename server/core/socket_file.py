"""A Unix-domain socket of a server, as a file that only this user can use."""

import os
import socket
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from crossview.engine.values.errors import InvalidInputError, StorageError

_LONGEST = 107
"""Maximum length of the path of a socket in bytes."""


class SocketFile:
    """A socket at ``path``, from construction to ``remove``.

    ``bind`` makes the socket at another path in the same folder, which nobody else may enter. The socket then gets
    mode 0600 and moves to its place: nobody can connect earlier, and a dead socket at the path is replaced at once.

    Raises StorageError if a server answers at the path or it cannot be made there, InvalidInputError if the path is
    something else than a socket or too long.
    """

    def __init__(self, path: Path, bind: Callable[[Path], object], replace: bool = False) -> None:
        self._path = Path(os.path.abspath(path))
        if is_answered(self._path) and not replace:
            raise StorageError(f"cannot listen on {path}; is another server using the socket?")
        try:
            folder = Path(tempfile.mkdtemp(prefix=".cv-", dir=self._path.parent))
        except OSError as error:
            raise StorageError(f"cannot make the socket {path}: {error.strerror}") from error
        temporary = folder / "s"
        try:
            if max(len(os.fsencode(place)) for place in (temporary, self._path)) > _LONGEST:
                raise InvalidInputError(f"the path of the socket {path} is too long: name a folder nearer to the root")
            bind(temporary)
            temporary.chmod(0o600)
            self._inode = temporary.stat().st_ino
            temporary.rename(self._path)
        except OSError as error:
            raise StorageError(f"cannot make the socket {path}: {error.strerror}") from error
        finally:
            temporary.unlink(missing_ok=True)
            folder.rmdir()

    def remove(self) -> None:
        """Remove the socket, unless another server has replaced it."""
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()


def is_answered(path: Path) -> bool:
    """Return whether a program answers at a socket; raise InvalidInputError if the path is something else."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(f"cannot make the socket {path}: {error.strerror}") from error
    if not stat.S_ISSOCK(mode):
        raise InvalidInputError(f"{path} exists and is not a socket: name another path for the socket")
    with closing(socket.socket(socket.AF_UNIX)) as asking:
        asking.settimeout(1.0)
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:  # a full queue, or the socket of another user
            return True
    return True
