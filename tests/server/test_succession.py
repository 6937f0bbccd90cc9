"""A server replaces another one at its port, while clients go on."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import StorageError
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.core.succession import Place, check_ports, successor
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import OverloadedError
from crossview.server.wire.settings import ServerSettings

NEAR = SearchRequest([Query("color", key="cat/0")], space="raw", targets=("color",), k=3)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    fill_rows(made, 10)
    return made


@contextmanager
def serving(home: Home, port: int, *options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Yield the command, and its address."""
    command = [
        sys.executable,
        "-m",
        "crossview.server.commands.cli",
        "serve",
        "--home",
        str(home.path),
        "--port",
        str(port),
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *options], stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


class Calling:
    """Threads that search and write continuously, on lasting connections and on new ones."""

    def __init__(self, address: str) -> None:
        self.address, self.errors, self.calls = address, [], 0
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(kind,)) for kind in ("lasting", "new", "writing")]

    def _call(self, kind: str) -> None:
        client = Client(self.address, 300)
        number = 0
        while not self._ended.is_set():
            number += 1
            try:
                if kind == "new":
                    client.close()
                    client = Client(self.address, 300)
                rows = client.open("rows")
                if kind == "writing":
                    rows.items.update([ItemUpdate("cat/1", attributes={"n": number})])
                else:
                    assert len(rows.search(NEAR)[0].hits) == 3
                self.calls += 1
            except OverloadedError as busy:  # it asks to come again at any replacement
                self._ended.wait(busy.retry_seconds)
            except Exception as error:  # noqa: BLE001  # every failure counts
                self.errors.append(f"{kind}: {error!r}, caused by {error.__cause__!r}")
        client.close()

    def __enter__(self) -> "Calling":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_no_call_fails_while_a_server_is_replaced(home: Home, processes: int) -> None:
    """It is replaced twice in a row; the new one loads its collections before the old one stops."""
    several = ("--processes", str(processes), "--load", "rows")
    with serving(home, 0, *several) as (first, address), Calling(address) as calling:
        port = int(address.rpartition(":")[2])
        with serving(home, port, *several, "--take-over") as (second, same):
            assert same == address
            assert first.wait(300) == 0
            assert second.stderr is not None
            assert re.search(rf"previous server, process {first.pid}", second.stderr.readline())
            with serving(home, port, *several, "--take-over") as (third, _):
                assert second.wait(300) == 0
                before = calling.calls
                deadline = time.monotonic() + 300
                while calling.calls < before + 50:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
                calling.__exit__()
                third.send_signal(signal.SIGTERM)
                assert third.wait(300) == 0
    assert calling.errors == []


def test_a_server_takes_over_only_from_one_of_its_home(home: Home, tmp_path: Path) -> None:
    """Without such a server, a taken port is an error, as without the option."""
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        wanted = successor(ServerSettings(home=tmp_path / "other", port=running.port, take_over=True))
        assert not wanted.take_over
        with pytest.raises(StorageError, match="is another server using the port"):
            RunningServer(wanted)


def test_the_place_of_a_dead_server_is_free(tmp_path: Path) -> None:
    place, other = Place(tmp_path, "127.0.0.1:1"), Place(tmp_path, "127.0.0.1:2")
    assert place.holder() is None
    assert place.take(replace=True) is None
    assert Place(tmp_path, "127.0.0.1:1").holder() == os.getpid()
    assert other.holder() is None
    place.leave()
    place.leave()
    assert Place(tmp_path, "127.0.0.1:1").holder() is None
    assert list((tmp_path / ".servers").iterdir()) == []
    dead = Place(tmp_path, "127.0.0.1:1")
    dead.take(replace=False)
    (file,) = (tmp_path / ".servers").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.rename(file.with_name("moved"))
    file.write_text("1")  # no process holds the lock
    assert Place(tmp_path, "127.0.0.1:1").holder() is None
    dead.leave()
    assert file.exists()


def test_a_successor_loads_before_it_listens_and_shares_the_port(home: Home) -> None:
    with RunningServer(ServerSettings(home=home.path, port=0)) as first:
        place = Place(home.path, first.address)
        place.take(replace=False)
        wanted = successor(ServerSettings(home=home.path, port=first.port, take_over=True, load=("rows",)))
        assert wanted.take_over
        with RunningServer(wanted) as second:
            assert second.port == first.port
            with second.collections.if_open("rows") as collection:
                assert collection is not None
        place.leave()


def test_a_port_is_free_once_its_server_has_stopped(home: Home) -> None:
    """The port for HTTP is, too, although the system remembers its closed connections for a minute."""
    with RunningServer(ServerSettings(home=home.path, port=0, http_port=0)) as running:
        port = running.http_port
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while client.recv(1 << 16):
                pass
        with pytest.raises(StorageError, match="for HTTP; is another program using the port"):
            check_ports(ServerSettings(port=0, http_port=port))
    check_ports(ServerSettings(port=0, http_port=port))
