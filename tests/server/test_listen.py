import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from long_jobs import until
from terminal import run

from crossview.engine.collections.home import Home
from crossview.engine.collections.memory import Memory
from crossview.engine.values.errors import BusyError, NotFoundError, StorageError
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.core.cache import OpenCollections
from crossview.server.core.dispatch.rooms import Rooms
from crossview.server.core.limits import descriptors, most_collections, most_connections, raise_descriptors
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.methods import SERVICES
from crossview.server.wire.settings import ServerSettings


def test_health_tells_that_it_serves(channel: grpc.Channel) -> None:
    """Health is stated for the whole server and for each service, as orchestrators ask."""
    stub = health_pb2_grpc.HealthStub(channel)
    for service in ("", *SERVICES):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as caught:
        stub.Check(health_pb2.HealthCheckRequest(service="no.such.Service"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_health_waits_for_the_collections_that_are_loaded_first(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers meanwhile; then every index of the active space is in memory."""
    leave, real = threading.Event(), Memory.load
    monkeypatch.setattr(Memory, "load", lambda self: leave.wait(300) and real(self))
    with RunningServer(ServerSettings(home=home.path, port=0, load=("drawn",))) as running:
        with Client(running.address) as client:
            stub = health_pb2_grpc.HealthStub(client.channel)

            def serves() -> bool:
                statuses = {stub.Check(health_pb2.HealthCheckRequest(service=name)).status for name in ("", *SERVICES)}
                return statuses == {health_pb2.HealthCheckResponse.SERVING}

            assert not serves()
            assert client.names() == ["drawn"]
            leave.set()
            until(serves)
        with running.collections.if_open("drawn") as collection:
            assert collection is not None
            assert collection.memory.least_bytes() > 0


def test_garbage_is_collected_between_calls_and_at_last_beside_them(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection stops all calls, so it waits while one is at work, but not for ever; free memory is returned."""
    looks: list[bool] = []
    busy, returned, collected = threading.Event(), threading.Event(), threading.Event()
    busy.set()

    def at_work(rooms: Rooms) -> bool:
        looks.append(busy.is_set())
        return busy.is_set()

    monkeypatch.setattr(Rooms, "busy", at_work)

    def give_memory_back(collect: bool) -> None:
        (collected if collect else returned).set()

    monkeypatch.setattr("crossview.server.edge.listen.give_memory_back", give_memory_back)
    monkeypatch.setattr("crossview.server.edge.listen._SETTLED_SECONDS", 0.0)
    monkeypatch.setattr("crossview.server.edge.listen._MOST_PUT_OFF", 3)
    with RunningServer(ServerSettings(home=home.path, port=0, idle_seconds=0.01)):
        assert collected.wait(300)
        assert returned.is_set()
        assert looks[:4] == [True] * 4
        busy.clear()
        collected.clear()
        looks.clear()
        assert collected.wait(300)
        assert len(looks) <= 2  # the first may have begun beside a call


def test_what_cannot_be_loaded_keeps_health_from_serving(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """The log has the reason; a command that names the collection ends with the error."""
    with (
        RunningServer(ServerSettings(home=home.path, port=0, load=("no-such",))) as running,
        Client(running.address) as client,
    ):
        until(lambda: "cannot load collection 'no-such'" in caplog.text)
        answer = health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest(service=""))
        assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
    refused = run("serve", "--home", home.path, "--load", "no-such")
    assert refused.exit_code == 1
    assert "no collection 'no-such'" in refused.stderr


def test_reflection_lists_the_services(channel: grpc.Channel) -> None:
    """Tools such as grpcurl work without the proto files."""
    reflected = {f"grpc.reflection.{version}.ServerReflection" for version in ("v1", "v1alpha")}
    for name in reflected:
        ask = channel.stream_stream(
            f"/{name}/ServerReflectionInfo",
            reflection_pb2.ServerReflectionRequest.SerializeToString,
            reflection_pb2.ServerReflectionResponse.FromString,
        )
        (answer,) = ask(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        listed = {service.name for service in answer.list_services_response.service}
        assert {*SERVICES, *reflected} < listed
        every = [reflection_pb2.ServerReflectionRequest(file_containing_symbol=one) for one in sorted(listed)]
        described = [one.file_descriptor_response.file_descriptor_proto for one in ask(iter(every))]
        assert all(described)


def test_a_taken_port_is_an_error(server: RunningServer, home: Home) -> None:
    """A second server does not quietly share the port."""
    with pytest.raises(StorageError, match="cannot listen on"):
        RunningServer(ServerSettings(home=home.path, port=server.port))


def test_it_listens_on_loopback_only(server: RunningServer) -> None:
    """This is the default."""
    assert server.address.startswith("127.0.0.1:")


def test_many_clients_at_once_get_their_own_answers(server: RunningServer) -> None:
    with Client(server.address) as client:
        collection = client.open("drawn")
        items = collection.items()

        def ask(number: int) -> bool:
            item = items[number % len(items)]
            (found,) = collection.search(SearchRequest([Query("color", key=item.key)], k=50, targets=("color",)))
            return item.key not in {hit.key for hit in found.hits} and len(found.hits) == len(items) - 1

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask, range(40)))


def test_a_collection_is_opened_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of calls may come first together."""
    opened: list[str] = []
    real = home.open
    monkeypatch.setattr(home, "open", lambda name, pictures: opened.append(name) or real(name, pictures))
    collections = OpenCollections(home)

    def use(_: int) -> str:
        with collections.use("drawn") as collection:
            return collection.name

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(use, range(32))) == {"drawn"}
    collections.close()
    assert opened == ["drawn"]


def test_the_collections_that_were_used_least_recently_are_closed(home: Home, tmp_path: Path) -> None:
    """As many stay open as allowed, besides those that calls use, and those that are to be kept."""
    many = Home(tmp_path / "many")
    for name in "abcdef":
        many.create(name, ["color"]).close()
    collections = OpenCollections(many, kept=("a",), most=3)

    def opened() -> str:
        found = []
        for name in "abcdef":
            with collections.if_open(name) as collection:
                found += [name] if collection is not None else []
        return "".join(found)

    for name in "abcad":
        with collections.use(name):
            pass
    assert opened() == "acd"
    with collections.use("c"), collections.use("d"), collections.use("e"):
        assert opened() == "acde"
    with collections.use("f") as collection:
        assert collection.info().name == "f"
    assert opened() == "acf"  # c was used until the last
    collections.close()


def test_descriptors_are_shared_between_connections_and_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """With any limit, both have some; it is raised as far as the system allows."""
    limit = [256, 65_536]
    monkeypatch.setattr("resource.getrlimit", lambda _: tuple(limit))
    monkeypatch.setattr("resource.setrlimit", lambda _, new: limit.__setitem__(slice(None), new))
    for soft in (64, 256, 1_024, 65_536):
        limit[0] = soft
        assert 8 <= most_connections() <= max(8, soft // 2)
        assert 4 <= most_collections() <= 1_000
        assert soft <= 64 or most_connections() + 14 * most_collections() <= soft
    limit[:] = [256, 4_096]
    raise_descriptors()
    assert limit == [4_096, 4_096]
    assert descriptors() == 4_096


def test_a_collection_that_another_process_made_anew_is_opened_anew(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create("a", ["color"]).close()
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as client:
        assert [view.name for view in client.open("a").views()] == ["color"]
        home.delete("a")
        with pytest.raises(NotFoundError):
            client.open("a").views()
        home.create("a", ["gist"]).close()
        assert [view.name for view in client.open("a").views()] == ["gist"]


def test_stopping_does_not_wait_for_ever(tmp_path: Path) -> None:
    """A call that outlasts the grace is left behind, and stop says so."""
    running = RunningServer(ServerSettings(home=tmp_path, port=0))
    running.collections.create("pets", ("color",), "")
    with running.collections.use("pets"):
        assert running.stop(grace=0.05) is False
    assert running.collections.close() is True


def test_what_nobody_uses_is_closed_and_opened_again_when_it_is(tmp_path: Path) -> None:
    """A collection that a call uses stays open, for any time."""
    home = Home(tmp_path)
    for name in ("busy", "idle"):
        home.create(name, ["color"]).close()
    closed = threading.Event()
    with RunningServer(ServerSettings(home=home.path, port=0, idle_seconds=0.1)) as running:
        with running.collections.use("busy") as busy:
            with running.collections.use("idle") as idle:
                real = idle.close
                idle.close = lambda: (real(), closed.set())  # type: ignore[method-assign]
            assert closed.wait(300)
            with running.collections.use("busy") as same:
                assert same is busy
        with running.collections.use("idle") as again:
            assert again is not idle
            assert again.count() == 0


def test_deleting_waits_for_those_who_read(tmp_path: Path) -> None:
    """A call under way ends in peace; one that takes too long makes the deletion fail, not itself."""
    home = Home(tmp_path)
    collections = OpenCollections(home, deletion_seconds=1.0)
    collections.create("pets", ("color",), "")
    inside, leave = threading.Event(), threading.Event()

    def read() -> int:
        with collections.use("pets") as collection:
            inside.set()
            leave.wait(300)
            return collection.count()

    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(read)
        assert inside.wait(300)
        with pytest.raises(BusyError, match="in use"):
            collections.delete("pets")
        collections._deletion_seconds = 600.0
        deleting = pool.submit(collections.delete, "pets")
        leave.set()
        assert reading.result(300) == 0
        deleting.result(300)
    assert home.names() == []
    with pytest.raises(NotFoundError), collections.use("pets"):
        pass
