"""The succession of servers at a port: a new one starts beside the old one, and then asks it to stop."""

import fcntl
import hashlib
import os
import signal
import socket
import uuid
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from crossview.engine.catalog.file_errors import file_errors
from crossview.engine.catalog.private import make_folder, open_file
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import StorageError
from crossview.server.wire.settings import ServerSettings

_FOLDER = ".servers"
_DIGITS = 20
"""Length of a process id with spaces, and of the name of a place."""


_PAGES = 1_000
"""Maximum length of the address of pages."""


class Place:
    """The place of the server of a home at an address: a file that it locks while it lives.

    The file contains the process id and the address of the pages, if there are pages.

    Raises StorageError.
    """

    def __init__(self, home: Path, address: str) -> None:
        self._path = home / _FOLDER / hashlib.sha256(address.encode()).hexdigest()[:_DIGITS]
        self._held: int | None = None

    def holder(self) -> int | None:
        """Return the process id of the living server at this place; None if there is none."""
        held = _held(self._path)
        return None if held is None else held[0]

    def take(self, replace: bool, pages: str = "") -> int | None:
        """Take the place for this process; with ``replace``, ask its holder to stop and return its process id.

        ``pages`` is the address of the pages of this server. After a StorageError, such as that of a full disk, the
        holder stops all the same, but no later server can ask this one.
        """
        holder = self.holder() if replace else None
        try:
            with file_errors():
                self._write(pages)
        finally:
            if holder is not None:
                with suppress(ProcessLookupError):
                    os.kill(holder, signal.SIGTERM)
        return holder

    def _write(self, pages: str) -> None:
        make_folder(self._path.parent, parents=True)
        new = self._path.with_name(f"{self._path.name}-{uuid.uuid4().hex}")
        held = open_file(new, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)  # before the file has its name: it never seems to be of a dead server
            os.write(held, f"{os.getpid():<{_DIGITS}}{pages}".encode())
            new.replace(self._path)
        except OSError:
            new.unlink()
            os.close(held)
            raise
        self._held = held

    def leave(self) -> None:
        """Leave the place, unless another server has taken it."""
        if self._held is None:
            return
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._held), os.stat(self._path)):
                self._path.unlink()
        os.close(self._held)
        self._held = None


def _held(path: Path) -> tuple[int, str] | None:
    """Return the process id and the pages of the living server that has locked a file; None if there is none."""
    try:
        with closing(os.fdopen(open_file(path, os.O_RDONLY), "rb")) as file:
            try:
                # Shared, so that two programs that look at once do not take each other for the server.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read(_DIGITS)), file.read(_PAGES).decode()
    except (StorageError, FileNotFoundError, ValueError):  # there is no file, or none that a server has written
        pass
    return None


def pages_of(home: Path) -> str | None:
    """Return the address of the pages of a living server of a home; None if no server has pages."""
    folder = home / _FOLDER
    servers = [_held(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []
    return next((server[1] for server in servers if server is not None and server[1]), None)


def successor(settings: ServerSettings) -> ServerSettings:
    """Return settings that take over only from a living server of this home at the address."""
    address = f"{settings.host}:{settings.port}" if settings.tcp else f"unix:{settings.socket}"
    held = settings.take_over and Place(Home(settings.home).path, address).holder() is not None
    return replace(settings, take_over=held)


def check_ports(settings: ServerSettings) -> None:
    """Raise StorageError if a program listens on a port of a server, even one that shares it."""
    check_free(settings.host, settings.port if settings.tcp else None)
    check_free(settings.host, settings.health_port, " for health checks")
    check_free(settings.host, settings.http_port, " for HTTP")
    for number in range(settings.processes if settings.admin_port else 0):
        check_free(settings.admin_host, (settings.admin_port or 0) + number, " for administrators")


def check_free(host: str, port: int | None, use: str = "") -> None:
    """Raise StorageError if a program listens on a port, even one that shares it; port 0 and None are free."""
    if port and not port_is_free(host, port):
        raise StorageError(
            f"cannot listen on {host}:{port}{use}; is another {'program' if use else 'server'} using the port?"
        )


def port_is_free(host: str, port: int) -> bool:
    """Return whether no program listens on a port, not even one that shares it."""
    try:
        with closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)) as alone:
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # with SO_REUSEPORT, it would share the port
            alone.bind((host.strip("[]"), port))
    except OSError:
        return False
    return True
