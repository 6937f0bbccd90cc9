"""Clients that say nothing take no thread, delay no other client, and end after a while."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.longrunning import operations_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from long_jobs import BOTH, until
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, StorageError
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.core.dispatch.streams import Silences
from crossview.server.core.jobs.operation import new_operation
from crossview.server.core.jobs.owner import Owner
from crossview.server.core.jobs.records import Records
from crossview.server.core.services.search_service import SearchService
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import ServerUnavailableError, SilentStreamError
from crossview.server.wire.names import parse_operation
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import search_pb2
from crossview.v1.jobs_pb2 import SubmitJobRequest

NAME = "collections/rows"
SEARCH = SearchRequest([Query("color", key="cat/0")], space="raw", k=1)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    """A server with few threads and places, of the collection ``rows``."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with RunningServer(ServerSettings(home=home.path, port=0, threads=1, waiting=2, jobs=2)) as made:
        yield made


class Silent:
    """Streams that have sent some messages, and send no more until the block ends."""

    def __init__(self, method: Callable[..., Any], count: int, *messages: Any) -> None:
        self._leave = threading.Event()
        self.calls = [method(self._said(messages)) for _ in range(count)]

    def _said(self, messages: tuple[Any, ...]) -> Iterator[Any]:
        yield from messages
        self._leave.wait(300)

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: object) -> None:
        for call in self.calls:
            call.cancel()
        self._leave.set()


def test_who_waits_or_is_silent_refuses_nobody_a_training(running: RunningServer) -> None:
    """More callers than threads and places wait for one job, or for fits that have sent one message or none."""
    records = Records(running.collections.home.path)
    owner = Owner(records.folder)  # of another server, which never carries it out
    submitted = SubmitJobRequest(train=pb.TrainRequest(parent=NAME))
    job = records.add(submitted, new_operation(submitted), owner.id)[0].name
    with Client(running.address, timeout=300) as client:
        fit, first = client.collections.FitViews.future, pb.FitViewsRequest(parent=NAME, views=["sift"])
        with Silent(fit, 10), Silent(fit, 10, first), Silent(fit, 10, first, first):
            waiting = []
            for number in range(20):
                waiting.append(client.operations.WaitOperation.future(operations_pb2.WaitOperationRequest(name=job)))
                until(lambda: waits(running) > number)  # noqa: B023  # called in this turn only
            with pytest.raises(InvalidInputError, match="foo"):
                client.open("rows").train(Recipe(spec="cca", views=BOTH, settings={"foo": 1}))
        assert not any(call.done() for call in waiting)
        client.jobs.cancel(parse_operation(job))
        assert all(call.result(300).done for call in waiting)
    assert waits(running) == 0
    records.close()
    owner.close()


def waits(running: RunningServer) -> int:
    """Return how many callers wait for jobs."""
    return sum(map(len, running.jobs.waiting._waiting.values()))


@pytest.mark.parametrize("messages", [0, 1])
def test_a_stream_that_stays_silent_is_ended(running: RunningServer, messages: int) -> None:
    """The end has the reason; messages before it are answered."""
    running.collections.home.open("rows").views.add("sift:words=8")
    with (
        RunningServer(replace(running.settings, port=0, silent_seconds=0.2)) as server,
        Client(server.address) as client,
    ):
        message = search_pb2.SearchRequest(parent=NAME, space="raw", queries=[{"view": "color", "key": "cat/0"}])
        with Silent(client.searches.StreamSearch, 1, *[message] * messages) as silent:
            answers = []
            with pytest.raises(grpc.RpcError) as caught:
                answers.extend(silent.calls[0])
        assert caught.value.code() is grpc.StatusCode.CANCELLED
        with pytest.raises(SilentStreamError, match=r"silent for 0\.2 seconds"):
            next(client.stream(client.searches.StreamSearch, Silent(lambda message: message, 1).calls[0]))
        fit = pb.FitViewsRequest(parent=NAME, views=["sift"])
        with Silent(client.collections.FitViews.future, 1, *[fit] * 2 * messages) as silent:
            assert "silent" in silent.calls[0].exception(300).details()


def test_who_waits_for_an_answer_is_not_silent(running: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer may take any time."""

    class Clock:
        """The clock of silences, which goes on only while an answer is made: the client never takes long."""

        now = 0.0

        def monotonic(self) -> float:
            return self.now

    def slow(*given: Any) -> Any:
        clock.now += 3_600
        time.sleep(0.5)  # the server looks for silent calls meanwhile
        return searched(*given)

    searched, clock = SearchService.Search, Clock()
    monkeypatch.setattr("crossview.server.core.dispatch.streams.time", clock)
    monkeypatch.setattr(SearchService, "Search", slow)
    settings = replace(running.settings, port=0, silent_seconds=0.1)
    with RunningServer(settings) as server, Client(server.address) as client:
        assert len(list(client.open("rows").search_stream([SEARCH, SEARCH]))) == 2


def test_the_stream_that_is_silent_for_longest_makes_room(running: RunningServer) -> None:
    """This begins when half of all calls are silent streams: others are answered whatever they do."""
    with (
        RunningServer(replace(running.settings, port=0, calls=20)) as server,
        Client(server.address) as client,
        Silent(client.searches.StreamSearch, 15) as silent,
    ):
        until(lambda: sum(call.done() for call in silent.calls) == 5)
        assert "too many calls are silent" in silent.calls[0].details()
        assert len(client.open("rows").search(SEARCH)) == 1


def test_calls_that_send_no_request_make_room_too(running: RunningServer) -> None:
    """They may call any service, health and reflection as well: gRPC itself would wait for their messages for ever."""
    paths = [
        *("/crossview.v1.SearchService/Search", "/crossview.v1.CollectionService/Train"),
        *("/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"),
        *(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "/google.longrunning.Operations/WaitOperation",
        ),
    ]
    with RunningServer(replace(running.settings, port=0, calls=20)) as server, Client(server.address) as client:
        for path in paths:
            method = client.channel.stream_stream(path)
            with Silent(method, 15) as silent:
                until(lambda: sum(call.done() for call in silent.calls) == 5)  # called in this turn only
                assert silent.calls[0].code() is grpc.StatusCode.CANCELLED
                assert len(client.open("rows").search(SEARCH)) == 1


def test_who_watches_over_health_is_silent(running: RunningServer) -> None:
    """It learns of each change, and ends if too many watch."""
    with RunningServer(replace(running.settings, port=0, calls=20)) as server, Client(server.address) as client:
        stub = health_pb2_grpc.HealthStub(client.channel)
        watching: list[Any] = []
        for _ in range(15):  # one after another, so that the last one has been silent for the shortest time
            watching.append(stub.Watch(health_pb2.HealthCheckRequest(service="")))
            assert next(watching[-1]).status == health_pb2.HealthCheckResponse.SERVING
        until(lambda: sum(call.done() for call in watching) == 5)
        server._health.set(serving=False)
        assert next(watching[-1]).status == health_pb2.HealthCheckResponse.NOT_SERVING
        unknown = next(stub.Watch(health_pb2.HealthCheckRequest(service="none")))
        assert unknown.status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        for call in watching:
            call.cancel()


def test_connections_are_bounded_and_health_has_a_port_of_its_own(
    running: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent connection takes no place from a client that asks for health, and is cut after seconds."""
    monkeypatch.setattr("crossview.server.core.limits._HANDSHAKE_SECONDS", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = replace(running.settings, port=0, health_port=port, connections=4)
    with RunningServer(settings) as server, ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(20)]
        asked = health_pb2.HealthCheckRequest(service="")
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=300, wait_for_ready=True)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
            unknown = health_pb2.HealthCheckRequest(service="none")
            with pytest.raises(grpc.RpcError) as caught:
                health_pb2_grpc.HealthStub(channel).Check(unknown, timeout=300, wait_for_ready=True)
            assert caught.value.code() is grpc.StatusCode.NOT_FOUND
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary("/crossview.v1.SearchService/Search")(b"", timeout=300, wait_for_ready=True)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        for one in silent:
            one.settimeout(300)
            while one.recv(100):  # the server's last bytes before the cut
                pass
        until(lambda: reached(server))
    with pytest.raises(StorageError, match="cannot listen"), RunningServer(replace(settings, health_port=running.port)):
        pass


def reached(server: RunningServer) -> bool:
    """Return whether a client comes to a server within the time of a handshake."""
    with Client(server.address) as client, suppress(ServerUnavailableError):
        return client.names() == ["rows"]
    return False


def test_compressed_requests_are_refused(running: RunningServer) -> None:
    """Few bytes could be millions of entries."""
    with Client(running.address) as client, pytest.raises(grpc.RpcError) as caught:
        client.collections.CountItems(pb.CountItemsRequest(parent=NAME), compression=grpc.Compression.Gzip)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_streams_that_speak_are_not_counted() -> None:
    """A stream is silent from its last answer to its next message."""

    class Fake:
        why = ""

        def let_go(self, why: str) -> None:
            self.why = why

    async def scene() -> list[int]:
        silences = Silences(2, 60.0)
        streams: list[Any] = [Fake() for _ in range(4)]
        for one in streams[:2]:
            silences.begin(one)
        silences.end(streams[0])
        silences.begin(streams[2])
        silences.begin(streams[0])
        silences.begin(streams[3])
        assert len(silences) == 2
        return [number for number, one in enumerate(streams) if one.why]

    assert asyncio.run(scene()) == [1, 2]
