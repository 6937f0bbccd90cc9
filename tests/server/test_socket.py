"""A server on a Unix-domain socket."""

import asyncio
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import done

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, StorageError
from crossview.server.client.client import AsyncClient, Client
from crossview.server.core.socket_file import SocketFile
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import ServerUnavailableError
from crossview.server.wire.settings import ServerSettings


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield Path(made)


def test_clients_connect_to_a_socket_of_this_user(home: Home, folder: Path) -> None:
    """The socket is beside the port, or alone; the file goes when the server stops."""
    path = folder / "s"
    before = os.umask(0)
    try:
        with RunningServer(ServerSettings(home=home.path, port=0, socket=path)) as running:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            for address in (f"unix:{path}", running.address):
                with Client(address, 300) as client:
                    assert client.names() == ["drawn"]
    finally:
        os.umask(before)
    assert list(folder.iterdir()) == []
    with RunningServer(ServerSettings(home=home.path, socket=path, tcp=False)) as running:
        assert running.address == f"unix:{path}"
        assert done("list", "--server", running.address).split() == ["drawn"]

        async def asked() -> list[str]:
            async with AsyncClient(running.address, 300) as client:
                return await client.names()

        assert asyncio.run(asked()) == ["drawn"]
    with pytest.raises(ServerUnavailableError, match="no server at unix:"), Client(f"unix:{path}", 300) as client:
        client.names()


def test_a_dead_socket_is_replaced_and_one_in_use_is_not(home: Home, folder: Path) -> None:
    path = folder / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    wanted = ServerSettings(home=home.path, port=0, socket=path)
    with RunningServer(wanted), Client(f"unix:{path}", 300) as client:
        with pytest.raises(StorageError, match="is another server using the socket"):
            RunningServer(wanted)
        assert client.names() == ["drawn"]


def test_what_is_not_a_socket_is_left_alone(folder: Path) -> None:
    path = folder / "s"
    path.write_text("mine")
    with pytest.raises(InvalidInputError, match="is not a socket"):
        SocketFile(path, lambda _: None)
    assert path.read_text() == "mine"
    with pytest.raises(StorageError, match="No such file"):
        SocketFile(folder / "none" / "s", lambda _: None)
    with pytest.raises(InvalidInputError, match="too long"):
        SocketFile(folder / ("s" * 100), lambda _: None)
    assert list(folder.iterdir()) == [path]


def test_only_the_own_socket_is_removed(folder: Path) -> None:
    """Another server may have replaced it."""
    path = folder / "s"

    def bind(made: Path) -> None:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(made))

    first = SocketFile(path, bind)
    second = SocketFile(path, bind)
    first.remove()
    assert path.exists()
    second.remove()
    assert not path.exists()


def test_settings_that_do_not_fit_are_refused(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="nothing to listen on"):
        ServerSettings(tcp=False)
    with pytest.raises(InvalidInputError, match="one process"):
        ServerSettings(socket=folder / "s", processes=2)
