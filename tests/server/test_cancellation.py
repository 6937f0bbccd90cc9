"""A call that no client waits for ends on the server too, and leaves nothing."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from long_jobs import ENDLESS, ended, endless, is_alive, job_processes, learning, my_job_processes, ready, until
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CancelledError, InvalidInputError
from crossview.server.client.client import Client
from crossview.server.client.job import Job
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.convert import to_message
from crossview.server.wire.errors import DeadlineExceededError, ServerStoppedError, ServerUnavailableError
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc

ROOT = Path(__file__).resolve().parents[2]
SHORT = 0.3


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    """A server with the collection ``rows``."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with RunningServer(ServerSettings(home=home.path, port=0)) as made:
        yield made


@pytest.fixture
def rows(running: RunningServer) -> Iterator[RemoteCollection]:
    """The collection, by a client that waits as long as it takes."""
    with Client(running.address) as client:
        yield client.open("rows")


def nothing_is_left(running: RunningServer, rows: RemoteCollection) -> bool:
    """Check that no space, generation, activation or index file is left, and that the server is idle."""
    spaces = [(space.name, space.active) for space in rows.spaces()]
    files = list((running.collections.home.path / "rows").glob("indexes/*"))
    until(lambda: running.stop(grace=0.0))
    return (spaces, files) == ([("raw", True)], []) and my_job_processes() == []


def newest(client: Client) -> Job:
    """Return the job that was submitted last, which must be there."""
    return next(iter(client.jobs.list()))


def test_a_training_past_its_deadline_is_given_up(running: RunningServer, rows: RemoteCollection) -> None:
    """This holds for every learner. The error names the method and the seconds; a change that waited goes through."""
    jobs = rows.connection
    assert isinstance(jobs, Client)
    ready(jobs)
    for learner in ENDLESS:
        for seconds in (3 * SHORT, 6.0, 40.0, 300.0):  # a busy machine may begin it only after the deadline
            with (
                Client(running.address, timeout=seconds) as client,
                pytest.raises(DeadlineExceededError, match=rf"Train had no answer from .* within {seconds:g} seconds"),
            ):
                RemoteCollection(client, "rows").train(endless(learner))
            job = ended(jobs, newest(jobs).id)
            assert job.state == "cancelled"
            if job.started:
                break
        assert job.started
    assert my_job_processes() == []
    assert rows.items.delete(["cat/0"]) == 1
    assert nothing_is_left(running, rows)


def test_after_many_abandoned_trainings_the_server_is_idle(running: RunningServer, rows: RemoteCollection) -> None:
    """They are more than its threads, each waiting for the one before it; the collection can be deleted at once."""
    request = to_message(pb.TrainRequest, endless())
    request.parent = "collections/rows"
    with Client(running.address, timeout=SHORT) as client:
        abandoned = [client.collections.Train.future(request, timeout=SHORT) for _ in range(20)]
        for call in abandoned:
            assert call.code() in {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
    with Client(running.address) as client:
        client.delete("rows")
        assert client.names() == []
        until(lambda: all(job.has_ended for job in client.jobs.list()))
        assert {job.state for job in client.jobs.list()} == {"cancelled"}
    until(lambda: running.stop(grace=0.0))


def test_who_waits_for_a_writer_gives_up_in_time(running: RunningServer, rows: RemoteCollection) -> None:
    """The call does not do its work later, when the lock is free."""
    cache = running.collections
    with (
        cache.use("rows") as collection,
        collection._opened.folder.writer.hold(),
        Client(running.address, timeout=SHORT) as client,
    ):
        with pytest.raises(DeadlineExceededError, match="DeleteItems"):
            RemoteCollection(client, "rows").items.delete(["cat/0"])
        with pytest.raises(DeadlineExceededError, match="DeleteCollection"):
            client.delete("rows")
        with cache._changed:
            assert cache._changed.wait_for(lambda: cache._entries["rows"].users == 1 and not cache._leaving, 300)
    assert rows.items.get("cat/0").key == "cat/0"
    until(lambda: running.stop(grace=0.0))
    assert running.collections.home.names() == ["rows"]


def test_a_cut_stream_fits_nothing(running: RunningServer, rows: RemoteCollection) -> None:
    """Half of the pictures are not a sample."""
    rows.views.add("sift:words=4")
    read = threading.Event()

    def requests() -> Iterator[pb.FitViewsRequest]:
        yield pb.FitViewsRequest(parent="collections/rows", views=["sift"])
        read.set()
        threading.Event().wait(SHORT)
        call.cancel()

    stub = collections_pb2_grpc.CollectionServiceStub(rows.connection.channel)
    call = stub.FitViews.future(requests())
    assert call.code() is grpc.StatusCode.CANCELLED
    assert read.is_set()
    until(lambda: running.stop(grace=0.0))
    with running.collections.home.open("rows") as collection:
        assert not next(view for view in collection.views() if view.name == "sift").fitted


@pytest.mark.long
def test_control_c_on_the_client_stops_the_job(running: RunningServer, rows: RemoteCollection) -> None:
    """The command ends with 130, and the training that it requested ends, too."""
    jobs = rows.connection
    assert isinstance(jobs, Client)
    settings = ["--set", "batch_size=8", "--set", "max_iter=1000000", "--dim", "4"]
    arguments = ["train", "rows", "--learner", "multi-npp", "--views", "color,gist", "--server", running.address]
    # shells ignore the signal for processes in the background
    code = "import signal; from crossview.server.commands.cli import main; "
    code += "signal.signal(signal.SIGINT, signal.default_int_handler); main()"
    command = [sys.executable, "-c", code, *arguments, *settings]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: list(jobs.jobs.list()))
        learning(jobs, newest(jobs).id)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == "stopped"  # after the estimate
    assert ended(jobs, newest(jobs).id).state == "cancelled"
    assert nothing_is_left(running, rows)


def test_a_server_that_stops_says_so(running: RunningServer, rows: RemoteCollection) -> None:
    """Callers that wait for an answer learn this, and not that no server exists."""
    jobs = rows.connection
    assert isinstance(jobs, Client)

    def stop() -> None:
        until(lambda: list(jobs.jobs.list()))
        learning(jobs, newest(jobs).id)
        until(lambda: running.stop(grace=0.05))

    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(stop)
        with pytest.raises(ServerStoppedError, match="the server stopped during the call") as caught:
            rows.train(endless())
        stopped.result(300)
    assert isinstance(caught.value, CancelledError)
    with pytest.raises(ServerUnavailableError, match="answered before, and is not there now"):
        rows.info()


@pytest.mark.long
def test_a_server_that_is_killed_leaves_the_change_open(tmp_path: Path) -> None:
    """The error says that only the next read shows the outcome. The job ends with its server."""
    fill_rows(Home(tmp_path / "home"), 10)
    serve = [
        sys.executable,
        "-m",
        "crossview.server.commands.cli",
        "serve",
        "--port",
        "0",
        "--home",
        str(tmp_path / "home"),
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        working: list[int] = []

        def kill() -> None:
            with Client(address) as other:
                until(lambda: list(other.jobs.list()))
                learning(other, newest(other).id)
            working.extend(job_processes(process.pid))
            process.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        with Client(address) as client, pytest.raises(ServerUnavailableError, match="lost, during Train") as caught:
            client.open("rows").train(endless())
        killer.join()
    assert "no server at" not in str(caught.value)
    assert working
    until(lambda: not any(map(is_alive, working)))


def test_no_address_is_no_lost_connection() -> None:
    """A name that cannot be resolved was never reached."""
    with Client("no-such-host.invalid:1") as client, pytest.raises(ServerUnavailableError, match="no server at"):
        client.names()


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_number(timeout: float) -> None:
    """Anything else is refused before a call."""
    with pytest.raises(InvalidInputError, match="positive number of seconds"):
        Client("127.0.0.1:1", timeout=timeout)
