import errno
import logging
import sqlite3
from collections.abc import Callable

import grpc
import numpy as np
import pytest
from google.rpc import status_pb2

from crossview.engine.values import errors
from crossview.features import errors as image_errors
from crossview.features.errors import TruncatedImageError
from crossview.server.client.attempts import repeated
from crossview.server.client.client import Client
from crossview.server.client.connection import error_of
from crossview.server.edge.listen import RunningServer
from crossview.server.wire import status
from crossview.server.wire.errors import (
    DeadlineExceededError,
    OverloadedError,
    ServerFaultError,
    ServerUnavailableError,
)
from crossview.server.wire.settings import MESSAGE_BYTES
from crossview.server.wire.status import ERROR_KEY, MESSAGE_LIMIT, STATUSES, error_in, status_of
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc, search_pb2, search_pb2_grpc, types_pb2

NAME = "collections/drawn"
Code = grpc.StatusCode


def test_every_error_has_a_status() -> None:
    """Each error of the engine is in the table, itself or by its family."""
    for cls in errors.CrossviewError.__subclasses__():
        if cls.__module__ in (errors.__name__, image_errors.__name__):
            assert status_of(cls("x")) is not None
    assert status_of(TruncatedImageError("x")) is status.Code.INVALID_ARGUMENT
    assert status_of(KeyError("x")) is None
    assert len({cls for cls, _ in STATUSES}) == len(STATUSES)


def test_full_disk_is_resource_exhausted() -> None:
    """Any layer may have noticed it."""
    error = errors.StorageError("cannot write")
    error.__cause__ = OSError(errno.ENOSPC, "no space left")
    assert status_of(error) is status.Code.RESOURCE_EXHAUSTED
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    error = errors.StorageError("cannot write")
    error.__cause__ = full
    assert status_of(error) is status.Code.RESOURCE_EXHAUSTED
    assert status_of(errors.StorageError("damaged")) is status.Code.INTERNAL


class Failed(grpc.RpcError):
    """A call that ended with a status, and with metadata that any proxy may have written."""

    def __init__(
        self, code: grpc.StatusCode, *metadata: tuple[str, str | bytes], details: str = "as the proxy puts it"
    ) -> None:
        super().__init__()
        self._code, self._metadata, self._details = code, metadata, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def initial_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return ()

    def trailing_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return self._metadata


def test_a_status_of_a_proxy_is_an_error_too() -> None:
    """A deadline that the client did not set, malformed details, and an unknown code."""
    late = error_of(Failed(Code.DEADLINE_EXCEEDED), "host:1", "Search")
    assert isinstance(late, DeadlineExceededError)
    assert "within the time that a proxy allows" in str(late)
    assert "within 2.5 seconds" in str(error_of(Failed(Code.DEADLINE_EXCEEDED), "host:1", "Search", 2.5))
    details = (ERROR_KEY, "OverloadedError"), ("grpc-status-details-bin", b"\xff")
    assert isinstance(error_of(Failed(Code.RESOURCE_EXHAUSTED, *details), "host:1", "Search"), OverloadedError)
    assert isinstance(error_in(status_pb2.Status(code=99, message="?")), ServerFaultError)


def test_a_call_that_a_server_never_began_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds even for a write; but not for a call that the server answered, or that this program ended."""
    pauses = list[float]()
    monkeypatch.setattr("crossview.server.client.attempts.time.sleep", pauses.append)
    reset = Failed(Code.CANCELLED, details="CANCELLED")
    failures: list[grpc.RpcError] = [reset, reset]

    def attempt() -> int:
        if failures:
            raise failures.pop()
        return 7

    assert repeated(attempt, None) == 7
    for never in (reset, Failed(Code.UNAVAILABLE, details="failed to connect to all addresses; last error: ...")):
        failures.extend([never] * 4)
        with pytest.raises(grpc.RpcError):
            repeated(attempt, None)
        assert failures == []
        assert pauses[-3:] == [0.1, 0.2, 0.4]
    refused = Failed(Code.UNAVAILABLE, details="Stream removed (RST_STREAM (Received RST_STREAM with error code 7))")
    failures.extend([refused] * 20)
    assert repeated(attempt, None) == 7  # a place is free at last
    failures.extend([refused] * 20)
    with pytest.raises(grpc.RpcError):
        repeated(attempt, 0.01)
    failures.clear()
    assert "repeat it" in str(error_of(reset, "host:1", "Search"))
    assert isinstance(error_of(reset, "host:1", "Search"), ServerUnavailableError)
    for other in (
        Failed(Code.CANCELLED, (ERROR_KEY, "CancelledError"), details="CANCELLED"),
        Failed(Code.CANCELLED, details="Locally cancelled by application!"),
        Failed(Code.UNAVAILABLE, details="CANCELLED"),
    ):
        failures[:] = [other, other]
        with pytest.raises(grpc.RpcError):
            repeated(attempt, None)
        assert failures == [other]


def query(**values: object) -> search_pb2.Query:
    return search_pb2.Query(**{"view": "color", "vector": types_pb2.Vector(values=[0.0] * 10), **values})  # type: ignore[arg-type]  # tests pass what they like


def by_key(view: str = "color", key: str = "pictures/dots/dots-00.jpg") -> search_pb2.Query:
    return search_pb2.Query(view=view, key=key)


def search(channel: grpc.Channel, queries: list[search_pb2.Query], **values: object) -> search_pb2.SearchResponse:
    request = search_pb2.SearchRequest(**{"parent": NAME, "queries": queries, **values})  # type: ignore[arg-type]
    return search_pb2_grpc.SearchServiceStub(channel).Search(request)


SEARCHES: dict[str, tuple[Callable[[grpc.Channel], object], Code, str]] = {
    "unknown collection": (lambda c: search(c, [by_key()], parent="collections/no"), Code.NOT_FOUND, "drawn"),
    "malformed name": (lambda c: search(c, [by_key()], parent="drawn"), Code.INVALID_ARGUMENT, "collections/"),
    "no queries": (lambda c: search(c, []), Code.INVALID_ARGUMENT, "at least one query"),
    "no input": (
        lambda c: search(c, [search_pb2.Query(view="color")]),
        Code.INVALID_ARGUMENT,
        "one of image, text",
    ),
    "dimension": (lambda c: search(c, [query()]), Code.INVALID_ARGUMENT, "10"),
    "k": (lambda c: search(c, [by_key()], k=0), Code.INVALID_ARGUMENT, "k must be at least 1"),
    "negative k": (lambda c: search(c, [by_key()], k=-3), Code.INVALID_ARGUMENT, "k must be at least 1"),
    "unknown view": (lambda c: search(c, [by_key("smell")]), Code.NOT_FOUND, "color"),
    "unknown target": (lambda c: search(c, [by_key()], targets=["smell"]), Code.NOT_FOUND, "color"),
    "unknown space": (lambda c: search(c, [by_key()], space="outer"), Code.NOT_FOUND, "cca"),
    "unknown item": (lambda c: search(c, [by_key(key="no/such")]), Code.NOT_FOUND, "no/such"),
    "unknown option": (lambda c: search(c, [by_key()], options={"boost": 2}), Code.INVALID_ARGUMENT, "boost"),
    "no picture": (
        lambda c: search(c, [search_pb2.Query(view="color", image=b"words")]),
        Code.INVALID_ARGUMENT,
        "not a picture",
    ),
    "empty picture": (
        lambda c: search(c, [search_pb2.Query(view="color", image=b"")]),
        Code.INVALID_ARGUMENT,
        "empty",
    ),
    "too large": (
        lambda c: search(c, [search_pb2.Query(view="color", image=bytes(MESSAGE_BYTES + 1))]),
        Code.RESOURCE_EXHAUSTED,
        "larger than max",
    ),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_bad_searches_say_what_is_wrong(channel: grpc.Channel, case: str) -> None:
    """Each mistake has its status and a message that helps; none is UNKNOWN, none shows a traceback."""
    call, code, words = SEARCHES[case]
    with pytest.raises(grpc.RpcError) as caught:
        call(channel)
    assert caught.value.code() is code, caught.value.details()
    assert words in caught.value.details()
    assert "Traceback" not in caught.value.details()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_vectors_must_be_finite(channel: grpc.Channel, bad: float) -> None:
    """Neither NaN nor infinity has a distance."""
    stub = collections_pb2_grpc.CollectionServiceStub(channel)
    views = stub.GetCollection(pb.GetCollectionRequest(name=NAME)).views
    dim = next(view.dim for view in views if view.name == "color")
    with pytest.raises(grpc.RpcError) as caught:
        search(channel, [query(vector=types_pb2.Vector(values=np.full(dim, bad).tolist()))])
    assert caught.value.code() is Code.INVALID_ARGUMENT
    assert f"has {'NaN' if np.isnan(bad) else 'inf'} in column 1" in caught.value.details()


COLLECTIONS: dict[str, tuple[Callable[[collections_pb2_grpc.CollectionServiceStub], object], Code, str]] = {
    "taken name": (
        lambda s: s.CreateCollection(pb.CreateCollectionRequest(collection_id="drawn")),
        Code.ALREADY_EXISTS,
        "drawn",
    ),
    "bad name": (
        lambda s: s.CreateCollection(pb.CreateCollectionRequest(collection_id="../up")),
        Code.INVALID_ARGUMENT,
        "../up",
    ),
    "unknown extractor": (
        lambda s: s.CreateCollection(pb.CreateCollectionRequest(collection_id="new", views=["smell"])),
        Code.INVALID_ARGUMENT,
        "color",
    ),
    "deep parameter": (
        lambda s: s.AddView(pb.AddViewRequest(parent=NAME, spec="v=vectors:dim=" + "[" * 9_000)),
        Code.INVALID_ARGUMENT,
        "v=vectors:dim=[[[",
    ),
    "long view": (
        lambda s: s.AddView(pb.AddViewRequest(parent=NAME, spec="v=vectors:dim=" + "9" * 50_000)),
        Code.INVALID_ARGUMENT,
        "at most 10,000 characters, not 50,014",
    ),
    "delete unknown": (
        lambda s: s.DeleteCollection(pb.DeleteCollectionRequest(name="collections/no")),
        Code.NOT_FOUND,
        "drawn",
    ),
    "item of no name": (lambda s: s.GetItem(pb.GetItemRequest(name=NAME)), Code.INVALID_ARGUMENT, "items/KEY"),
    "unknown item": (lambda s: s.GetItem(pb.GetItemRequest(name=f"{NAME}/items/x/y")), Code.NOT_FOUND, "x/y"),
    "delete unknown item": (
        lambda s: s.DeleteItem(pb.DeleteItemRequest(name=f"{NAME}/items/x/y")),
        Code.NOT_FOUND,
        "x/y",
    ),
    "thumbnail of none": (
        lambda s: s.GetThumbnail(pb.GetThumbnailRequest(name=f"{NAME}/items/x/y")),
        Code.NOT_FOUND,
        "x/y",
    ),
    "bad token": (
        lambda s: s.ListItems(pb.ListItemsRequest(parent=NAME, page_token="%%")),
        Code.INVALID_ARGUMENT,
        "next_page_token",
    ),
    "negative page": (
        lambda s: s.ListItems(pb.ListItemsRequest(parent=NAME, page_size=-1)),
        Code.INVALID_ARGUMENT,
        "page_size",
    ),
    "unknown space": (lambda s: s.GetSpace(pb.GetSpaceRequest(name=f"{NAME}/spaces/x")), Code.NOT_FOUND, "cca"),
    "unknown learner": (
        lambda s: s.Train(pb.TrainRequest(parent=NAME, learner="guess", views=["color"])),
        Code.INVALID_ARGUMENT,
        "multi-npp",
    ),
    "unknown setting": (
        lambda s: s.Train(pb.TrainRequest(parent=NAME, learner="cca", views=["color", "sift"], settings={"foo": 1})),
        Code.INVALID_ARGUMENT,
        "foo",
    ),
    "holdout": (
        lambda s: s.Train(pb.TrainRequest(parent=NAME, learner="cca", views=["color", "sift"], holdout=1.5)),
        Code.INVALID_ARGUMENT,
        "held-out share",
    ),
    "endless holdout": (
        lambda s: s.Train(pb.TrainRequest(parent=NAME, learner="cca", views=["color", "sift"], holdout=float("inf"))),
        Code.INVALID_ARGUMENT,
        "held-out share",
    ),
    "empty stream": (lambda s: s.FitViews(iter(())), Code.INVALID_ARGUMENT, "stream is empty"),
}


@pytest.mark.parametrize("case", COLLECTIONS)
def test_bad_requests_say_what_is_wrong(channel: grpc.Channel, case: str) -> None:
    """Each mistake has its status and a message that helps."""
    call, code, words = COLLECTIONS[case]
    with pytest.raises(grpc.RpcError) as caught:
        call(collections_pb2_grpc.CollectionServiceStub(channel))
    assert caught.value.code() is code, caught.value.details()
    assert words in caught.value.details()


def test_a_fault_is_told_by_its_id_only(
    server: RunningServer, channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The client gets an id, and the log has the fault."""

    def fail() -> list[str]:
        raise ZeroDivisionError("secret of the server")

    monkeypatch.setattr(server.collections.home, "names", fail)
    with (
        caplog.at_level(logging.ERROR, "crossview.server"),
        Client(server.address) as client,
        pytest.raises(ServerFaultError, match=r"log explains error (\w+)") as caught,
    ):
        client.names()
    assert "secret" not in str(caught.value)
    assert str(caught.value).split()[-1] in caplog.text
    assert "secret of the server" in caplog.text


def test_endless_messages_are_cut(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that no header could hold still arrives, shortened."""

    def fail() -> list[str]:
        raise errors.StorageError("ü" * 100_000)

    monkeypatch.setattr(server.collections.home, "names", fail)
    with Client(server.address) as client, pytest.raises(errors.StorageError) as caught:
        client.names()
    assert str(caught.value) == "ü" * (MESSAGE_LIMIT // 2)


def test_the_client_raises_the_error_of_the_engine(server: RunningServer) -> None:
    """It is as precise as that of a local collection."""
    with Client(server.address) as client:
        with pytest.raises(errors.NotFoundError, match="no collection 'no'"):
            client.open("no")
        with pytest.raises(errors.AlreadyExistsError):
            client.create("drawn")


def test_no_server_is_said_with_the_remedy() -> None:
    """A client without a server gets an error that shows how to start one."""
    with (
        Client("127.0.0.1:1") as client,
        pytest.raises(ServerUnavailableError, match=r"no server at 127\.0\.0\.1:1; start"),
    ):
        client.names()
    assert issubclass(ServerUnavailableError, errors.CrossviewError)
