"""The dispatcher answers calls of any transport: it needs a method, a function that reads, and a caller."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc import code_pb2

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import CancelledError, InvalidInputError, NotFoundError
from crossview.server.core.dispatch.call import PROTOBUF, Call, Caller, Served
from crossview.server.core.dispatch.call_log import RequestLog
from crossview.server.core.dispatch.dispatcher import Around, Dispatcher, RefusedError
from crossview.server.core.dispatch.rooms import Rooms
from crossview.server.core.dispatch.streams import END
from crossview.server.wire.methods import METHODS, Method
from crossview.server.wire.settings import ServerSettings
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import search_pb2

COUNT = METHODS["/crossview.v1.CollectionService/CountItems"]
FIT = METHODS["/crossview.v1.CollectionService/FitViews"]
STREAM = METHODS["/crossview.v1.SearchService/StreamSearch"]
REQUEST = pb.CountItemsRequest(parent="collections/rows")


class Json:
    """A transport that speaks JSON."""

    def size(self, data: str) -> int:
        return len(data)

    def weight(self, data: str) -> int:
        return len(data)

    def quick(self, data: str) -> bool:
        return True

    def decode(self, data: str, method: Method, most: int) -> Message:
        return json_format.Parse(data, method.request())

    def encode(self, message: Message) -> str:
        return json_format.MessageToJson(message, indent=None)


def reads(*messages: Any) -> Callable[[], Awaitable[Any]]:
    """Return a function that reads some messages, as a transport would."""
    left = iter(messages)

    async def read() -> Any:
        return next(left, END)

    return read


def play(
    scene: Callable[[Dispatcher], Awaitable[Any]],
    method: Method,
    answer: Callable[[Any, None], Message],
    *around: Around,
) -> Any:
    """Return the result of a scene with a dispatcher, which answers one method in a thread."""

    async def played() -> Any:
        settings = ServerSettings(port=0)
        rooms = Rooms(settings)
        dispatcher = Dispatcher(rooms, settings, around)
        dispatcher.served = {method.path: Served(method, answer)}
        try:
            return await asyncio.wait_for(scene(dispatcher), 300)
        finally:
            rooms.close()

    return asyncio.run(played())


def counted(request: Any, context: None) -> Message:
    return pb.CountItemsResponse(items=len(request.parent))


@pytest.mark.parametrize(
    ("caller", "data", "wanted"),
    [
        (Caller(), REQUEST.SerializeToString(), pb.CountItemsResponse(items=16).SerializeToString()),
        (Caller(Json()), '{"parent": "collections/rows"}', '{"items": "16"}'),
    ],
    ids=["protobuf", "json"],
)
def test_a_transport_brings_its_encoding(caller: Caller, data: Any, wanted: Any) -> None:
    """The method and the room are the same, the codec is another."""
    assert play(lambda one: one.answer(COUNT, reads(data), caller), COUNT, counted) == wanted


def test_a_stream_of_requests_has_one_response() -> None:
    """It is read while a thread answers it; each byte counts once."""
    messages = [pb.FitViewsRequest(views=[str(number)]).SerializeToString() for number in range(5)]

    def joined(requests: Iterator[Any], context: None) -> Message:
        return pb.CheckCollectionResponse(findings=[view for request in requests for view in request.views])

    ledger = Ledger()
    found = play(lambda one: one.answer(FIT, reads(*messages), Caller()), FIT, joined, ledger)
    assert ledger.lines == [("FitViews", "-", Code.OK, sum(map(len, messages)), len(found))]
    assert pb.CheckCollectionResponse.FromString(found).findings == ["0", "1", "2", "3", "4"]


def test_each_message_of_a_stream_has_its_answer_in_order() -> None:
    """A message's error is the answer to that message alone."""
    written: list[Any] = []

    async def write(data: Any) -> None:
        written.append(search_pb2.StreamSearchResponse.FromString(data))

    def searched(request: Any, context: None) -> Message:
        if request.k == 2:
            raise NotFoundError("no item")
        return search_pb2.SearchResponse()

    messages = [search_pb2.SearchRequest(k=k).SerializeToString() for k in range(1, 5)]
    play(lambda one: one.answer_each(STREAM, reads(*messages), write, Caller()), STREAM, searched)
    assert [one.WhichOneof("result") for one in written] == ["response", "error", "response", "response"]
    assert written[1].error.code == Code.NOT_FOUND


@pytest.mark.parametrize(
    ("error", "code"), [(InvalidInputError("no"), Code.INVALID_ARGUMENT), (KeyError("no"), Code.INTERNAL)]
)
def test_an_error_is_a_typed_refusal(error: Exception, code: Code) -> None:
    """It has a code, a message and the name of the error, which is all that a transport sends."""

    def fails(request: Any, context: None) -> Message:
        raise error

    with pytest.raises(RefusedError) as caught:
        play(lambda one: one.answer(COUNT, reads(REQUEST.SerializeToString()), Caller()), COUNT, fails)
    assert caught.value.refusal.code is code
    assert caught.value.refusal.status.code == code


def test_codes_are_those_of_google_rpc() -> None:
    """Names and numbers agree."""
    assert {code.name: code.value for code in Code} == dict(code_pb2.Code.items())


def test_a_call_without_a_message_is_refused() -> None:
    with pytest.raises(RefusedError, match="send its request"):
        play(lambda one: one.answer(COUNT, reads(), Caller()), COUNT, counted)


def test_a_deadline_ends_the_call_and_its_work() -> None:
    """The caller learns at once; the thread ends at its next checkpoint."""
    ended = threading.Event()

    def slow(request: Any, context: None) -> Message:
        try:
            while True:
                checkpoint()
        except CancelledError:
            ended.set()
            raise

    read, caller = reads(REQUEST.SerializeToString()), Caller(seconds=0.05)
    with pytest.raises(RefusedError, match=r"CountItems was not answered within 0\.05 seconds") as caught:
        play(lambda one: one.answer(COUNT, read, caller), COUNT, slow)
    assert caught.value.refusal.code is Code.DEADLINE_EXCEEDED
    assert ended.wait(300)


class Ledger:
    """Refuses callers without a key, and notes how the calls of others ended."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Code, int, int]] = []

    def begin(self, call: Call) -> None:
        if call.method.reads and dict(call.caller.metadata()).get("key") != "secret":
            raise InvalidInputError("a key is missing")

    def end(self, call: Call) -> None:
        self.lines.append((call.method.name, call.collection, call.code, call.received, call.sent))


def test_what_happens_around_calls_may_refuse_them_and_sees_how_they_end(caplog: pytest.LogCaptureFixture) -> None:
    """Keys, rates and metrics need this; a refused call is in the log, which is outside."""
    ledger, data = Ledger(), REQUEST.SerializeToString()
    known = Caller(metadata=lambda: [("key", "secret")])

    async def scene(dispatcher: Dispatcher) -> list[Any]:
        calls = [
            dispatcher.answer(COUNT, reads(one), caller)
            for one, caller in ((data, known), (data, Caller()), (b"\xff", known))
        ]
        return await asyncio.gather(*calls, return_exceptions=True)

    with caplog.at_level("INFO", "crossview.requests"):
        answered, refused, wrong = play(scene, COUNT, counted, RequestLog(), ledger)
    assert PROTOBUF.size(answered) > 0
    assert refused.refusal.message == "a key is missing"
    assert isinstance(wrong, RefusedError)
    assert sorted(ledger.lines) == [
        ("CountItems", "-", Code.INVALID_ARGUMENT, 1, 0),
        ("CountItems", "rows", Code.OK, len(data), len(answered)),
    ]
    assert len([record for record in caplog.records if "INVALID_ARGUMENT" in record.getMessage()]) == 2


def test_a_caller_that_leaves_ends_the_work() -> None:
    """A transport cancels the task of the call."""
    begun, ended = threading.Event(), threading.Event()

    def slow(request: Any, context: None) -> Message:
        begun.set()
        try:
            while True:
                checkpoint()
        except CancelledError:
            ended.set()
            raise

    async def scene(dispatcher: Dispatcher) -> None:
        call = asyncio.ensure_future(dispatcher.answer(COUNT, reads(REQUEST.SerializeToString()), Caller()))
        with ThreadPoolExecutor(1) as pool:
            await asyncio.get_running_loop().run_in_executor(pool, begun.wait, 30)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    play(scene, COUNT, slow)
    assert ended.wait(300)
