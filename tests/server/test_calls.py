"""Calls as the server sees them: requests that cannot be decoded, and the log of requests."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.server.client.client import Client
from crossview.server.core.dispatch.call_log import REQUEST_LOG
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import ServerStoppedError
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb

SERVICE = "/crossview.v1.CollectionService/"
LINE = re.compile(
    r"(?P<method>\w+) collection=(?P<collection>\S+) status=(?P<status>[A-Z_]+) ms=(?P<ms>[\d.]+) "
    r"request_bytes=(?P<request>\d+) response_bytes=(?P<response>\d+) id=(?P<id>[\w.-]+)"
)


@pytest.mark.parametrize(
    ("method", "data"),
    [("GetCollection", b"\x0a\x02\xff\xfe"), ("Train", b"\x12\x01\xff"), ("ListItems", b"\x0a\xff\xff")],
)
def test_a_request_that_cannot_be_decoded_is_the_caller_s_mistake(
    channel: grpc.Channel, caplog: pytest.LogCaptureFixture, method: str, data: bytes
) -> None:
    """Text that is not UTF-8, or bytes that are not a message: INVALID_ARGUMENT in plain words, and no traceback."""
    with caplog.at_level(logging.DEBUG), pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(SERVICE + method)(data)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert f"the request of {method} cannot be decoded: text must be UTF-8" in caught.value.details()
    assert not [record for record in caplog.records if record.exc_info]


def test_a_stream_that_cannot_be_decoded_is_the_caller_s_mistake_too(
    channel: grpc.Channel, caplog: pytest.LogCaptureFixture
) -> None:
    """Its first message may be wrong, or a later one."""
    good = pb.FitViewsRequest(parent="collections/drawn", views=["sift"], refit=True).SerializeToString()
    for messages in ([b"\x0a\x02\xff\xfe"], [good, b"\x0a\x02\xff\xfe"]):
        with caplog.at_level(logging.DEBUG), pytest.raises(grpc.RpcError) as caught:
            channel.stream_unary(SERVICE + "FitViews")(iter(messages))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not [record for record in caplog.records if record.exc_info]


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[RunningServer]:
    """A server of its own, whose log has no lines of other calls."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with RunningServer(ServerSettings(home=home.path, port=0)) as running:
        yield running


def test_every_call_has_a_line(logged: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    """The line has method, collection, status, milliseconds and bytes, for a success or a failure, at its end."""
    with caplog.at_level(logging.INFO, REQUEST_LOG), Client(logged.address) as client:
        client.names()
        client.open("rows").items.get("cat/0")
        client.create("other", ["color"])
        with pytest.raises(NotFoundError):
            client.open("no-such")
        with pytest.raises(grpc.RpcError):
            client.channel.unary_unary(SERVICE + "GetCollection")(b"\x0a\x02\xff\xfe")
    logged.stop()
    lines = [LINE.fullmatch(record.getMessage()) for record in caplog.records if record.name == REQUEST_LOG]
    assert all(lines)
    found = [line.groupdict() for line in lines if line]
    assert [(line["method"], line["collection"], line["status"]) for line in found] == [
        ("ListCollections", "-", "OK"),
        ("ListSpaces", "rows", "OK"),
        ("GetItem", "rows", "OK"),
        ("CreateCollection", "other", "OK"),
        ("ListSpaces", "no-such", "NOT_FOUND"),
        ("GetCollection", "-", "INVALID_ARGUMENT"),
    ]
    item = found[2]
    assert int(item["request"]) == pb.GetItemRequest(name="collections/rows/items/cat/0").ByteSize()
    assert int(item["response"]) > len("cat/0")
    assert all(float(line["ms"]) >= 0 for line in found)


def test_a_call_that_is_given_up_has_a_line_too(logged: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    """The status of an error is decided outside of everything that may raise one."""
    logged._dispatcher.stop()
    given_up = pytest.raises(ServerStoppedError, match="repeat the call later")
    with caplog.at_level(logging.INFO, REQUEST_LOG), Client(logged.address) as client, given_up:
        client.open("rows")
    logged.stop()
    lines = [record.getMessage() for record in caplog.records if record.name == REQUEST_LOG]
    assert lines  # the client repeats reads
    assert all("collection=rows status=UNAVAILABLE" in line for line in lines)


def test_a_line_holds_no_foreign_text(logged: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    """A name with a line break cannot write lines of its own."""
    with caplog.at_level(logging.INFO, REQUEST_LOG), Client(logged.address) as client, pytest.raises(InvalidInputError):
        client.call(client.collections.GetCollection, pb.GetCollectionRequest(name="x\nTrain collection=rows"))
    logged.stop()
    (line,) = [record.getMessage() for record in caplog.records if record.name == REQUEST_LOG]
    assert LINE.fullmatch(line)


def test_lines_are_for_those_who_ask(logged: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    """Without the option the log holds only faults."""
    with Client(logged.address) as client:
        client.names()
    logged.stop()
    assert not [record for record in caplog.records if record.name == REQUEST_LOG]
