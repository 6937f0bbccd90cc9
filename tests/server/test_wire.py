"""Requests are counted before they are decoded, and those under way have a budget."""

import gc
import json
import threading
import tracemalloc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_jobs import until
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.server.client.client import Client
from crossview.server.core.dispatch.call import PROTOBUF, Call
from crossview.server.core.dispatch.quotas import Budget
from crossview.server.core.writing.item_writes import ItemWrites
from crossview.server.edge.http.codecs import JSON
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.convert_conditions import from_row
from crossview.server.wire.entries import entries
from crossview.server.wire.errors import OverloadedError
from crossview.server.wire.methods import METHODS
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import search_pb2
from crossview.v1.jobs_pb2 import SubmitJobRequest

NAME = "collections/rows"
BOMB = b"\x12\x00" * 2**20
"""A million items without a key, in 2 MB; at least 100 times as much once decoded."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    home = Home(tmp_path / "home")
    fill_rows(home, 2)
    with RunningServer(ServerSettings(home=home.path, port=0)) as made:
        yield made


@pytest.mark.parametrize("method", ["ImportItems", "StreamImportItems", "SubmitJob", "nested"])
def test_millions_of_entries_are_refused_before_they_are_decoded(
    running: RunningServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """They are in a call, in a stream, in a job, and inside one item; the message gives the limit."""

    def answered(*_: object) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr(ItemWrites, "ImportItems", answered)
    parent = pb.ImportItemsRequest(parent=NAME).SerializeToString()
    path, data = "/crossview.v1.CollectionService/ImportItems", parent + BOMB
    if method == "nested":
        data = parent + _field(2, b"\x22\x00" * 2**20)
    elif method == "SubmitJob":
        assert SubmitJobRequest.FromString(_field(6, parent)).HasField("import_items")
        path, data = "/crossview.v1.JobService/SubmitJob", _field(6, data)
    with Client(running.address) as client:
        if method == "StreamImportItems":
            stream = client.channel.stream_stream("/crossview.v1.CollectionService/StreamImportItems")
            (answer,) = stream(iter([data]))
            message = pb.StreamImportItemsResponse.FromString(answer).error.message
        else:
            with pytest.raises(grpc.RpcError) as caught:
                client.channel.unary_unary(path)(data)
            message = caught.value.details() or ""
    assert "has more than 500,000 entries" in message


def test_an_import_has_so_many_items(running: RunningServer) -> None:
    """Each takes more memory than its entry."""
    for kind, field in (("ImportItems", "items"), ("UpdateItems", "updates")):
        request = getattr(pb, f"{kind}Request")(parent=NAME)
        for _ in range(10_001):
            getattr(request, field).add()
        with Client(running.address) as client, pytest.raises(InvalidInputError, match="at most 10,000"):
            client.call(getattr(client.collections, kind), request)


def _field(number: int, data: bytes) -> bytes:
    """Return a field that holds a message."""
    size, length = len(data), b""
    while size >= 0x80:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


texts = st.text(max_size=5)
items = st.builds(
    pb.NewItem,
    key=texts,
    labels=st.lists(texts, max_size=4),
    image=st.binary(max_size=300),
    attributes=st.dictionaries(texts, st.none() | st.floats(allow_nan=False) | texts, max_size=3),
    rows=st.dictionaries(texts, st.lists(st.floats(width=32, allow_nan=False), max_size=3).map(from_row), max_size=3),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(items, max_size=5))
def test_what_is_counted_is_what_there_is(drawn: list[pb.NewItem]) -> None:
    """An oracle walks through every value of every decoded message."""
    request = pb.ImportItemsRequest(parent=NAME, items=drawn)
    data, count = request.SerializeToString(deterministic=True), _walked(request)
    assert entries(data, request.DESCRIPTOR, 10**6) == count
    assert entries(data, request.DESCRIPTOR, count - 1) == count


def _walked(message: object) -> int:
    count = 0
    for field, value in message.ListFields():  # type: ignore[attr-defined]
        if field.message_type is None:
            count += len(value) if field.is_repeated and not field.is_packed else 1
            continue
        entry = field.message_type.GetOptions().map_entry
        if entry:
            holds_messages = field.message_type.fields_by_name["value"].message_type is not None
            count += sum(3 + (_walked(value[key]) if holds_messages else 0) for key in value)
            continue
        for one in value if field.is_repeated else [value]:
            count += 1 + _walked(one)
    return count


@given(st.binary(max_size=200))
def test_any_bytes_are_counted(data: bytes) -> None:
    """The decoder refuses those that are not a message."""
    assert 0 <= entries(data, pb.ImportItemsRequest.DESCRIPTOR, 100) <= 101


def test_requests_under_way_have_a_budget(running: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request beyond the budget is refused with the time to come again; a single one is always accepted."""
    settings = replace(running.settings, port=0, flight_bytes=18 * 2**20)
    real, leave = ItemWrites.ImportItems, threading.Event()
    monkeypatch.setattr(ItemWrites, "ImportItems", lambda *given: leave.wait(300) and real(*given))
    request = pb.ImportItemsRequest(parent=NAME, items=[pb.NewItem(key="a", text="x" * 2**20) for _ in range(2)])
    with RunningServer(settings) as server, Client(server.address) as client, ThreadPoolExecutor(4) as pool:
        outcomes = [pool.submit(client.call, client.collections.ImportItems, request) for _ in range(4)]
        until(lambda: sum(one.done() for one in outcomes) == 3)
        leave.set()
        errors = [one.exception(300) for one in outcomes]
        assert [type(error) for error in errors if error] == [OverloadedError] * 3
        assert "the requests in progress take 13 MB of memory" in str(next(error for error in errors if error))
        large = pb.ImportItemsRequest(parent=NAME, items=[*request.items, *request.items])
        assert client.call(client.collections.ImportItems, large).added == 0


def test_a_budget_is_given_back() -> None:
    """Any end of the block gives it back."""
    budget = Budget(ServerSettings(flight_bytes=10))
    with pytest.raises(ZeroDivisionError), budget.held(8, ""):
        1 / 0  # noqa: B018
    with budget.held(8, ""), pytest.raises(OverloadedError), budget.held(3, ""):
        pass
    with budget.held(11, ""):
        pass


@pytest.mark.parametrize(
    "values", [[0.5] * 100_000, [[0.5, -1e-7, 3]] * 3_000, ["é" * 500_000], ["x" * 500_000], [{}] * 9_000]
)
def test_the_weight_of_a_request_covers_its_memory(values: list[Any]) -> None:
    """A request counts by its decoded size, before a value is made: a number has 2 bytes as JSON, and 40 in memory."""
    match values[0]:
        case float():
            request: Any = {"queries": [{"view": "v", "vector": {"values": values}}]}
        case list():
            request = {"queries": [{"view": "v", "vector": {"values": value}} for value in values]}
        case str():
            request = {"queries": [{"view": "v", "text": values[0]}]}
        case _:
            request = {"queries": values}
    data = json.dumps(request).encode()
    method = METHODS["/crossview.v1.SearchService/Search"]
    for codec, encoded in ((JSON, data), (PROTOBUF, JSON.decode(data, method, 10**9).SerializeToString())):
        tracemalloc.start()
        decoded = codec.decode(encoded, method, 10**9)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak + len(encoded) + decoded.ByteSize() <= codec.weight(encoded) + 2**20


@pytest.mark.parametrize("port", ["grpc", "http"])
def test_a_refused_request_leaves_the_memory_at_once(home: Home, port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not stay in the frames of its error until Python collects garbage, which is rare in a server at rest."""
    home.create(port, "v=vectors:dim=3")
    request = search_pb2.SearchRequest(parent=f"collections/{port}", space="raw", k=1)
    request.queries.add(view="v").vector.values.extend([0.5] * 100_000)
    calls = list[weakref.ref[Call]]()
    decode = Call.decoded

    def noted(call: Call, data: Any) -> Any:
        calls.append(weakref.ref(call))
        return decode(call, data)

    monkeypatch.setattr(Call, "decoded", noted)
    with RunningServer(ServerSettings(home=home.path, port=0, http_port=0)) as server, Client(server.address) as client:
        gc.disable()
        try:
            for _ in range(3):
                if port == "grpc":
                    with pytest.raises(InvalidInputError, match="must have 3 values"):
                        client.call(client.searches.Search, request)
                else:
                    url = f"http://127.0.0.1:{server.http_port}{METHODS['/crossview.v1.SearchService/Search'].path}"
                    headers = {"content-type": "application/proto"}
                    assert httpx.post(url, content=request.SerializeToString(), headers=headers).status_code == 400
            until(lambda: len(calls) == 3 and all(call() is None for call in calls))
        finally:
            gc.enable()
