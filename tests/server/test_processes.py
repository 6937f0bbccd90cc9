"""Several server processes on one port."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ports import free_neighbors
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import StorageError
from crossview.engine.values.item import ItemUpdate
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.commands.stats import fetched
from crossview.server.edge.listen import RunningServer
from crossview.server.edge.processes import Processes, start
from crossview.server.wire.errors import ServerUnavailableError
from crossview.server.wire.settings import ServerSettings

NEAR = SearchRequest([Query("color", key="cat/0")], space="raw", targets=("color",), k=3)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    fill_rows(made, 10)
    return made


@contextmanager
def serving(home: Home, *options: str, temporary: Path | None = None) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Yield the command with two processes, and its address."""
    command = [
        sys.executable,
        "-m",
        "crossview.server.commands.cli",
        "serve",
        "--port",
        "0",
        "--home",
        str(home.path),
        *options,
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(temporary or tempfile.gettempdir())}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


def children(process: "subprocess.Popen[str]") -> list[int]:
    """Return the server processes: those that share a port, without Python's own helper."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(one) for one in listed if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def test_each_process_has_a_port_for_administrators(home: Home) -> None:
    """The ports follow each other, so that a monitor distinguishes the processes, whose sums are the server's."""
    first = free_neighbors()
    with serving(home, "--processes", "2", "--admin-port", str(first)) as (_, address):
        for _ in range(3):
            with Client(address) as client:  # a connection of its own, which the system gives to one of them
                client.names()
        counts = [
            fetched(f"127.0.0.1:{port}").one("calls_total", method="ListCollections") for port in (first, first + 1)
        ]
        assert sum(counts) == 3


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder whose path is short enough for the name of a socket."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_one_process_stops_without_a_word_of_complaint_and_leaves_no_temporary_file(
    home: Home, temporary: Path
) -> None:
    """This holds also if multiprocessing has made a folder of its own, as it does for the process that trains."""
    with serving(home, temporary=temporary) as (process, address):
        with Client(address, timeout=300) as client:
            client.open("rows").train(Recipe(spec="pca", views=("color",), dim=2))
        assert list(temporary.glob("*/*"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
        assert list(temporary.iterdir()) == []


def test_processes_share_the_port_and_follow_each_other_s_changes(home: Home, temporary: Path) -> None:
    """Every connection sees the writes of another at once; SIGTERM ends all, and they leave no temporary file."""
    with serving(home, "--processes", "2", temporary=temporary) as (process, address):
        assert len(children(process)) == 2
        for number in range(8):  # the system chooses a process for each connection
            with Client(address, timeout=300) as client:
                rows = client.open("rows")
                rows.items.update([ItemUpdate("cat/1", attributes={"n": number})])
            with Client(address, timeout=300) as client:
                (found,) = client.open("rows").search(NEAR)
                assert [hit.attributes for hit in found.hits if hit.key == "cat/1"] in ([], [{"n": number}])
                assert client.open("rows").items.get("cat/1").attributes == {"n": number}
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
        assert list(temporary.iterdir()) == []
        with pytest.raises(ServerUnavailableError), Client(address) as client:
            client.names()


@pytest.mark.long
def test_a_process_that_dies_is_replaced(home: Home) -> None:
    """The others answer meanwhile."""
    with serving(home, "--processes", "2") as (process, address):
        before = children(process)
        os.kill(before[0], signal.SIGKILL)
        deadline = time.monotonic() + 300
        while len(set(children(process)) - set(before)) < 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(6):
            with Client(address, timeout=300) as client:
                assert client.open("rows").count() == 20
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0


@pytest.mark.long
def test_processes_end_with_the_one_that_started_them(home: Home) -> None:
    """A killed process cannot tell them."""
    with serving(home, "--processes", "2") as (process, _):
        left = children(process)
        process.kill()
        deadline = time.monotonic() + 300
        while any(Path(f"/proc/{one}").exists() and not _is_dead(one) for one in left):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _is_dead(process: int) -> bool:
    try:
        return re.search(r"State:\s+Z", Path(f"/proc/{process}/status").read_text()) is not None
    except OSError:
        return True


def test_a_taken_port_is_an_error(home: Home) -> None:
    """Several processes do not join another server."""
    taken = pytest.raises(StorageError, match="is another server using the port")
    with RunningServer(ServerSettings(home=home.path, port=0)) as first, taken:
        Processes(ServerSettings(home=home.path, port=first.port, processes=2))


@pytest.mark.long
def test_nobody_joins_several_processes(home: Home) -> None:
    """Sharing is among the processes of one server only."""
    with serving(home, "--processes", "2") as (_, address):
        port = int(address.rpartition(":")[2])
        for processes in (1, 2):
            settings = ServerSettings(home=home.path, port=port, processes=processes)
            with pytest.raises(StorageError, match="is another server using the port"):
                start(settings)


def test_the_next_server_removes_what_a_killed_one_left(home: Home, tmp_path: Path) -> None:
    """A folder that a process holds stays, and so do new ones and those of other programs."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with serving(home, temporary=temporary) as (process, _):
        (left,) = temporary.glob("cv-*")
        process.kill()
        process.wait(300)
    # The processes that it started hold the folder until they end, too.
    wait_until_free(left)
    others = [temporary / "cv-without-lock", temporary / "cv-new"]
    for one in others:
        one.mkdir()
    (others[1] / "held").touch()
    for one in (left, others[0]):
        os.utime(one, (0, 0))
    with serving(home, temporary=temporary):
        assert not left.exists()
        assert all(one.exists() for one in others)
        (held,) = set(temporary.glob("cv-*")) - set(others)
        os.utime(held, (0, 0))
        with serving(home, temporary=temporary):
            assert held.exists()


def wait_until_free(folder: Path) -> None:
    with (folder / "held").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
