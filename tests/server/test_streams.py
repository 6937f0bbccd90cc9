"""Streams that are answered message by message: searches and imports."""

import asyncio
import threading
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import grpc
import numpy as np
import pytest
from long_jobs import until
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest, SuggestRequest
from crossview.server.client.client import AsyncClient, Client
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import DeadlineExceededError
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import search_pb2, search_pb2_grpc

NAME = "collections/rows"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    home = Home(tmp_path / "home")
    fill_rows(home, 30)
    with RunningServer(ServerSettings(home=home.path, port=0)) as made:
        yield made


@pytest.fixture
def rows(running: RunningServer) -> Iterator[RemoteCollection]:
    with Client(running.address, timeout=120) as client:
        yield client.open("rows")


def searches(rows: RemoteCollection, count: int) -> list[SearchRequest]:
    """Return queries by every item in turn."""
    keys = [item.key for item in rows.items(limit=30)]
    return [SearchRequest([Query("color", key=keys[n % 30])], space="raw", k=1 + n % 7) for n in range(count)]


def test_a_stream_of_searches_gives_the_answers_of_single_ones_in_order(rows: RemoteCollection) -> None:
    """They are more than are answered at once."""
    requests = searches(rows, 100)
    assert list(rows.search_stream(requests)) == [rows.search(request) for request in requests]


def test_a_stream_is_read_as_it_is_answered(rows: RemoteCollection) -> None:
    """Requests are read only as answers are wanted: an endless stream gives answers at once, and can be left."""

    (request,) = searches(rows, 1)
    answers = rows.search_stream(repeat(request))
    first = next(answers)
    assert [next(answers) for _ in range(5)] == [first] * 5
    answers.close()  # type: ignore[attr-defined]
    assert rows.search(request) == first


def test_a_bad_message_is_refused_alone(rows: RemoteCollection) -> None:
    """The refusal has its status; the messages before and after it are answered."""
    good = search_pb2.SearchRequest(parent=NAME, space="raw", queries=[{"view": "color", "key": "cat/0"}])
    bad = search_pb2.SearchRequest(parent=NAME, queries=[{"view": "color", "key": "no-such"}])
    stub = search_pb2_grpc.SearchServiceStub(rows.connection.channel)
    answers = list(stub.StreamSearch(iter([good, bad, search_pb2.SearchRequest(), good])))
    assert [one.WhichOneof("result") for one in answers] == ["response", "error", "error", "response"]
    assert answers[0] == answers[3]
    codes = [grpc.StatusCode.NOT_FOUND.value[0], grpc.StatusCode.INVALID_ARGUMENT.value[0]]
    assert [one.error.code for one in answers[1:3]] == codes
    with pytest.raises(NotFoundError, match="no-such"):
        list(rows.search_stream([SearchRequest([Query("color", key="no-such")])]))


def test_each_batch_of_an_import_is_on_disk_when_it_is_answered(running: RunningServer, rows: RemoteCollection) -> None:
    """It stays, for any end of the stream."""
    row, seen = np.ones(rows.views()[0].dim, np.float32), threading.Event()

    def items() -> Iterator[NewItem]:
        for number in range(200):
            yield NewItem(f"new/{number:03}", rows={"color": row})
        assert seen.wait(300)
        raise RuntimeError("the source of items broke")

    reports = rows.items.put_stream(items())
    first = next(reports)
    seen.set()
    assert rows.items.get("new/000").key == "new/000"
    assert rows.count() >= 60 + first.added
    with pytest.raises(RuntimeError, match="the source of items broke"):
        list(reports)
    kept = rows.count() - 60
    assert kept % first.added == 0
    until(lambda: running.stop(grace=300.0))


def test_a_bad_item_of_a_stream_is_a_failure_of_its_batch(rows: RemoteCollection) -> None:
    """It is one of a single import, too."""
    row = np.ones(rows.views()[0].dim, np.float32)
    items = [NewItem("good", rows={"color": row}), NewItem("", rows={"color": row}), NewItem("bare")]
    reports = list(rows.items.put_stream(items))
    assert sum(report.added for report in reports) == 1
    assert sorted(failure.key for report in reports for failure in report.failures) == ["", "bare"]


def test_a_server_that_stops_tells_its_streams(running: RunningServer, rows: RemoteCollection) -> None:
    """Sent messages are answered; then the stream ends with UNAVAILABLE and a reason, long before the grace is over."""
    stopped, sent = threading.Event(), threading.Event()

    def requests() -> Iterator[SearchRequest]:
        yield from searches(rows, 20)
        sent.set()
        stopped.wait(300)

    answers = rows.search_stream(requests())
    received = [next(answers) for _ in range(20)]
    assert sent.wait(300)
    stopping = threading.Thread(target=lambda: running.stop(grace=3_600.0))
    stopping.start()
    with pytest.raises(Exception, match="the server stops: it has answered all messages of the stream"):
        next(answers)
    stopped.set()
    stopping.join(300)
    assert not stopping.is_alive()
    assert len(received) == 20


def test_the_asynchronous_client_tells_the_same(running: RunningServer, rows: RemoteCollection) -> None:
    """Searches, streams, labels, vectors, items and changes are equal; and so are the errors."""
    requests = searches(rows, 12)
    row = np.ones(rows.views()[0].dim, np.float32)
    embedded = Query("color", key="cat/0")

    async def ask() -> None:
        async with AsyncClient(running.address, timeout=120) as client:
            here = client.collection("rows")
            found = await asyncio.gather(*map(here.search, requests))
            assert found == [rows.search(request) for request in requests]
            assert [one async for one in here.search_stream(requests)] == found
            asked = SuggestRequest([embedded], space="raw")
            assert await here.suggest(asked) == rows.suggest(asked)
            (vector,), (same,) = (
                await here.embed([embedded], space="raw", targets=["color"]),
                rows.embed([embedded], space="raw", targets=["color"]),
            )
            assert np.array_equal(vector.vector, same.vector)
            assert await here.items.get("cat/0") == rows.items.get("cat/0")
            assert (await here.items.put([NewItem("new", rows={"color": row})])).added == 1
            assert await here.count() == rows.count() == 61
            assert await here.items.delete(["new"]) == 1
            with pytest.raises(NotFoundError, match="no-such"):
                await here.items.get("no-such")
            with pytest.raises(InvalidInputError):
                [one async for one in here.search_stream([SearchRequest([embedded], k=10**6)])]

    asyncio.run(ask())


def test_a_stream_past_its_deadline_says_so(running: RunningServer) -> None:
    """The timeout is the whole stream's."""

    def slow() -> Iterator[SearchRequest]:
        yield SearchRequest([Query("color", key="cat/0")], space="raw")
        threading.Event().wait(5)

    with Client(running.address, timeout=0.5) as client, pytest.raises(DeadlineExceededError, match="StreamSearch"):
        list(RemoteCollection(client, "rows").search_stream(slow()))
