"""The connection of a client: its address and timeout, its end, many calls at once, and outages of the server."""

import asyncio
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from terminal import fill_rows

import crossview
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import ItemUpdate
from crossview.server.client.client import AsyncClient, Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import ServerUnavailableError
from crossview.server.wire.settings import ServerSettings

MANY = 250
"""More calls than a server takes of one connection."""


@pytest.fixture
def rows(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    fill_rows(made, 4)
    return made


@pytest.mark.parametrize(
    "address",
    [
        *("", "localhost", "localhost:", ":50051", "localhost:abc", "localhost:0", "localhost:65536", "a b:5", "x/y:5"),
        *("unix:", "http://localhost:5", "https://localhost:5", None, 5, b"localhost:5"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_is_none_is_refused(kind: Any, address: Any) -> None:
    with pytest.raises(InvalidInputError, match="HOST:PORT"):
        kind(address)


@pytest.mark.parametrize(
    "address", ["localhost:5", "[::1]:5", "grpcs://host:5", "grpc://host:5", "unix:a", "dns:///a:5"]
)
def test_addresses_are_taken(address: str) -> None:
    crossview.connect(address).close()


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e12, "5", [1]])
def test_a_timeout_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(InvalidInputError, match="positive number of seconds"):
        crossview.connect("localhost:5", timeout)


def test_after_its_end_a_connection_says_so(server: RunningServer) -> None:
    client = Client(server.address)
    client.close()
    with pytest.raises(NotReadyError, match="is closed: connect again"):
        client.names()

    async def late() -> None:
        other = AsyncClient(server.address)
        await other.close()
        await other.names()

    with pytest.raises(NotReadyError, match="is closed: connect again"):
        asyncio.run(late())


def test_a_client_belongs_to_one_event_loop(server: RunningServer) -> None:
    async def made() -> AsyncClient:
        client = AsyncClient(server.address)
        assert "drawn" in await client.names()
        return client

    client = asyncio.run(made())

    async def again() -> None:
        try:
            await client.names()
        finally:
            await client.close()

    with pytest.raises(NotReadyError, match="another event loop"):
        asyncio.run(again())


def _copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # its own bytes


def test_a_client_goes_into_another_process(server: RunningServer) -> None:
    with Client(server.address, 300) as client, _copied(client) as copy:
        assert (copy.names(), copy.timeout) == (client.names(), 300)
        opened = _copied(client.open("drawn"))
        assert opened.name == "drawn"
        assert opened.items.get("pictures/dots/dots-00.jpg").labels == ("dots",)


def test_more_calls_than_a_connection_takes_wait(rows: Home) -> None:
    """They are reads and writes: gRPC refused those above 100, and the client did not know whether they were made."""
    with RunningServer(ServerSettings(home=rows.path, port=0)) as server, Client(server.address, 300) as client:
        collection, errors = client.open("rows"), list[Exception]()

        def call(number: int) -> None:
            try:
                if number % 2:
                    collection.items.get("cat/1")
                else:
                    collection.items.update([ItemUpdate("cat/1", attributes={f"n{number}": number})])
            except Exception as error:  # noqa: BLE001  # every failure counts
                errors.append(error)

        threads = [threading.Thread(target=call, args=(number,)) for number in range(MANY)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(collection.items.get("cat/1").attributes) == MANY // 2

        async def together() -> None:
            async with AsyncClient(server.address, 300) as other:
                opened = await other.open("rows")
                found = await asyncio.gather(*(opened.items.get("cat/1") for _ in range(MANY)))
                assert {item.key for item in found} == {"cat/1"}

        asyncio.run(together())


def test_a_server_that_is_back_answers_the_next_call(rows: Home, tmp_path: Path) -> None:
    """An old client and a new one get it, after any pauses of gRPC."""
    settings = ServerSettings(home=rows.path, port=0)
    with RunningServer(settings) as server:
        client, port = Client(server.address, 300), server.port
        assert client.names() == ["rows"]
    for _ in range(3):
        with pytest.raises(ServerUnavailableError, match="answered before, and is not there now"):
            client.names()
    with pytest.raises(ServerUnavailableError, match=r"no server at .*; start one with: crossview serve"):
        Client(f"127.0.0.1:{port}").names()
    with RunningServer(ServerSettings(home=rows.path, port=port)) as server, client:
        with Client(server.address, 300) as new:
            assert new.names() == ["rows"]
        for _ in range(10):  # gRPC tries again after a second at most
            try:
                assert client.names() == ["rows"]
                break
            except ServerUnavailableError:
                threading.Event().wait(1)
        else:
            pytest.fail("the client does not find the server again")
