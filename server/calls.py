"""Every call of the server: decoded, answered in its room, with its status, its cancellation and its line of the log.

The event loop only moves messages; what takes time is done in threads.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from typing import Any, cast

import grpc
from google.protobuf.message import DecodeError, Message

from crossview.engine.errors import CancelledError, InvalidInputError
from crossview.engine.runtime.cancellation import cancellable, checkpoint
from crossview.server.budget import Budget
from crossview.server.errors import OverloadedError, ServerStoppedError, SilentStreamError
from crossview.server.rooms import Rooms
from crossview.server.settings import ServerSettings
from crossview.server.status import Refusal, refusal
from crossview.server.streams import STOPPED, OneMessage, Silences, Stream
from crossview.server.wire import entries

REQUEST_LOG = "crossview.requests"
"""The logger that has one line for each call, at level INFO; a stream has one for each message."""

_DECODED_AT_ONCE = 1 << 16
"""Bytes of a request that is decoded in the event loop, in less time than a thread takes to begin."""
_STREAM_PATIENCE = 10.0
"""Seconds that a message of a stream tries to be answered where too many calls are under way."""
_COLLECTION = re.compile(r"(?:collections/)?([a-z0-9][a-z0-9_-]{0,62})(?:/.*)?", re.DOTALL)
_log = logging.getLogger(REQUEST_LOG)

Context = Any  # grpc.aio.ServicerContext of bytes
Answer = Callable[[Any, Any], Message]


@dataclass(frozen=True)
class Method:
    """A method of a service.

    ``answer`` takes a request (or an iterator over those of a stream of requests) and a context, which is None.
    """

    service: str
    name: str
    request: type[Message]
    answer: Answer | None
    """None where all requests are awaited."""
    at_hand: Callable[[Any], Message | None] | None = None
    """Gives the response to some requests at once, in the event loop, and None to others."""
    together: "Together | None" = None
    """Answers several requests as one where they are alike."""
    awaited: Callable[[Any], Awaitable[Message | None]] | None = None
    """Waits for the response to some requests in the event loop, and gives None to others; a single one of a stream."""


@dataclass(frozen=True)
class Together:
    """How requests that wait at the same time are answered as one."""

    alike: Callable[[Any], Hashable | None]
    """Gives what requests must have in common; None for one that is answered alone."""
    answers: Callable[[list[Any]], Sequence[Message]]
    """Gives the response to each of some requests that are alike."""
    most: int
    """Requests that are answered as one."""


@dataclass
class _Call:
    """One call, or one message of a stream that is answered message by message."""

    method: Method
    stopping: Callable[[], bool]
    entries: int
    """That a request may have."""
    encode: Callable[[Message], bytes] = methodcaller("SerializeToString")
    """Makes of the response what is sent."""
    left: bool = False
    """Whether the caller has left, or ran out of time."""
    collection: str = field(default="-", init=False)
    received: int = field(default=0, init=False)
    began: float = field(default_factory=time.monotonic, init=False)

    def decoded(self, data: bytes) -> Message:
        """Returns a request; raises InvalidInputError where it cannot be decoded, or has too many entries."""
        self.received += len(data)
        if len(data) > _DECODED_AT_ONCE and entries(data, self.method.request.DESCRIPTOR, self.entries) > self.entries:
            raise InvalidInputError(
                f"the request of {self.method.name} has more than {self.entries:,} entries, such as items, labels, "
                "attributes and rows: send fewer at a time"
            )
        try:
            request = self.method.request.FromString(data)
        except DecodeError as error:
            raise InvalidInputError(
                f"the request of {self.method.name} cannot be decoded: text must be UTF-8, and the message as the "
                ".proto files of this version define it"
            ) from error
        if self.collection == "-" and _log.isEnabledFor(logging.INFO):
            self.collection = _collection(request)
        return request

    def at_hand(self, request: Any) -> Message | None:
        """Returns the response to a decoded request that needs no thread; None for any other."""
        if self.method.at_hand is None or not isinstance(request, Message) or self.stopping():
            return None
        return self.method.at_hand(request)

    def answered(self, request: Any) -> Message:
        """Returns the response to a request, encoded or not; its work ends at a checkpoint once nobody wants it."""
        with cancellable(self.check):
            checkpoint()
            if self.method.answer is None:
                raise NotImplementedError(f"{self.method.name} is answered in the event loop")
            return self.method.answer(self.decoded(request) if isinstance(request, bytes) else request, None)

    def check(self) -> None:
        """Raises where nobody wants the response, or the server stops."""
        if self.stopping():
            raise ServerStoppedError(STOPPED)
        if self.left:
            raise CancelledError("the call was cancelled by its caller, or ran out of time")

    def log(self, code: str, sent: int = 0) -> None:
        """Writes the line of the call, which has ended."""
        if _log.isEnabledFor(logging.INFO):
            milliseconds = 1e3 * (time.monotonic() - self.began)
            _log.info(
                "%s collection=%s status=%s ms=%.1f request_bytes=%d response_bytes=%d",
                *(self.method.name, self.collection, code, milliseconds, self.received, sent),
            )


class Calls:
    """Answers the calls of a server's methods; ``stop`` ends the work of those under way with ServerStoppedError.

    It is made in the event loop.
    """

    def __init__(self, rooms: Rooms, settings: ServerSettings) -> None:
        self._rooms, self._entries = rooms, settings.entries
        self._budget = Budget(settings.flight_bytes)
        loop = asyncio.get_running_loop()
        self.stopped: asyncio.Future[None] = loop.create_future()
        """Done once the work of every call is to end."""
        self.draining: asyncio.Future[None] = loop.create_future()
        """Done once streams are to end, as soon as what they have sent is answered."""
        self.silences = Silences(settings.calls // 2, settings.silent_seconds)
        """The calls of all kinds whose clients say nothing."""
        self._silent_fits = Silences(settings.waiting // 2, settings.silent_seconds)

    def stop(self) -> None:
        """Ends the work of every call at its next checkpoint."""
        if not self.stopped.done():
            self.stopped.set_result(None)

    def drain(self) -> None:
        """Ends streams that are answered message by message, as soon as what they have sent is answered."""
        if not self.draining.done():
            self.draining.set_result(None)

    def handler(self, method: Method) -> Any:
        """Returns what grpc needs to serve a method with one request and one response.

        To grpc it is a stream of requests: of others it waits for the message by itself, for ever.
        """
        return grpc.stream_unary_rpc_method_handler(partial(self._unary, method))

    def stream_handler(self, method: Method) -> Any:
        """Returns what grpc needs to serve a method with a stream of requests and one response."""
        return grpc.stream_unary_rpc_method_handler(partial(self._client_stream, method))

    def duplex_handler(self, method: Method, wrap: Callable[..., Message], ahead: int) -> Any:
        """Returns what grpc needs to serve a method that answers each message of a stream, in order.

        ``wrap`` makes the response of ``response`` or ``error``; up to ``ahead`` messages are answered at once.
        """
        return grpc.stream_stream_rpc_method_handler(partial(self._duplex, method, wrap, ahead))

    async def _unary(self, method: Method, _requests: Any, context: Context) -> bytes:
        call = _Call(method, self.stopped.done, self._entries)
        try:
            data = await OneMessage(context, self.silences).read()
            with self._budget.held(len(data)):
                request = call.decoded(data) if len(data) <= _DECODED_AT_ONCE else data
                return await _ended(call, self._response(call, request))
        except Exception as error:  # noqa: BLE001 - every error becomes a status
            return await _refuse(call, context, error)

    async def _client_stream(self, method: Method, _requests: Any, context: Context) -> bytes:
        call = _Call(method, self.stopped.done, self._entries)
        try:
            stream = Stream(context, self._silent_fits, self.stopped)
            return await _ended(call, self._response_to_stream(call, stream))
        except Exception as error:  # noqa: BLE001 - as above
            return await _refuse(call, context, error)

    async def _response(self, call: _Call, request: Any) -> bytes:
        """Returns the response to a request, which is encoded where it is large: at hand, awaited, or from a thread."""
        decoded, together = isinstance(request, Message), call.method.together
        found = call.at_hand(request)
        if found is not None:
            return call.encode(found)
        if call.method.awaited is not None:
            request = request if decoded else await self._rooms.reads.run(lambda: call.decoded(request))
            found = await call.method.awaited(request)
            if found is not None:
                return call.encode(found)
        room = self._rooms.of(call.method.service, call.method.name, request if decoded else None)
        alike = together.alike(request) if together is not None and decoded else None
        if together is None or alike is None:
            return await room.run(lambda: call.encode(call.answered(request)))
        found = await room.run_together(alike, (call, request), _answered_together, together.most)
        return cast(bytes, found)

    async def _patient_response(self, call: _Call, request: Any) -> bytes:
        """Returns the response to a message of a stream, which may wait longer: what it sends ahead waits for it."""
        while True:
            try:
                return await self._response(call, request)
            except OverloadedError as error:
                if time.monotonic() - call.began + error.retry_seconds > _STREAM_PATIENCE:
                    raise
                await asyncio.sleep(error.retry_seconds)

    async def _response_to_stream(self, call: _Call, stream: Stream) -> bytes:
        """Returns the response to a stream, whose first messages are read before it takes a thread."""
        first = await stream.read()
        second = None if first is None else await stream.read()
        if first is not None and second is None and call.method.awaited is not None:
            request = await self._rooms.reads.run(lambda: call.decoded(first))
            found = await call.method.awaited(request)
            if found is not None:
                return call.encode(found)
        begin = [data for data in (first, second) if data is not None]
        requests = _messages(call, begin, stream, asyncio.get_running_loop())
        room = self._rooms.of(call.method.service, call.method.name, None)
        with self._budget.held(sum(map(len, begin))):
            return await room.run(lambda: call.encode(call.answered(requests)))

    async def _duplex(
        self, method: Method, wrap: Callable[..., Message], ahead: int, _requests: Any, context: Context
    ) -> None:
        """Reads on while earlier messages are answered; a message's error is the answer to that message alone."""
        answers: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue(ahead)
        stream = Stream(context, self.silences, self.draining)
        ended: Exception | None = None

        async def write() -> None:
            while (answer := await answers.get()) is not None:
                await context.write(await answer)
                stream.end()

        async with asyncio.TaskGroup() as group:
            writer = group.create_task(write())
            try:
                async for data in stream:
                    stream.begin()
                    await answers.put(group.create_task(self._one(method, wrap, data)))
            except (SilentStreamError, ServerStoppedError) as error:
                ended = error
            await answers.put(None)
            await writer
        if ended is not None:
            await abort(context, refusal(ended))

    async def _one(self, method: Method, wrap: Callable[..., Message], data: bytes) -> bytes:
        encode = lambda response: wrap(response=response).SerializeToString()  # noqa: E731
        call = _Call(method, self.stopped.done, self._entries, encode)
        try:
            with self._budget.held(len(data)):
                request = call.decoded(data) if len(data) <= _DECODED_AT_ONCE else data
                response = await self._patient_response(call, request)
        except asyncio.CancelledError:
            call.left = True
            raise
        except Exception as error:  # noqa: BLE001 - as above
            refused = refusal(error)
            call.log(refused.code.name)
            return wrap(error=refused.status).SerializeToString()
        call.log(grpc.StatusCode.OK.name, len(response))
        return response


async def _ended(call: _Call, response: Awaitable[bytes]) -> bytes:
    """Returns an encoded response, and logs the call."""
    try:
        encoded = await response
    except asyncio.CancelledError:
        call.left = True
        call.log(grpc.StatusCode.CANCELLED.name)
        raise
    call.log(grpc.StatusCode.OK.name, len(encoded))
    return encoded


def _answered_together(calls: list[tuple[_Call, Message]]) -> list[bytes | Exception]:
    """Returns a response, encoded, or an error for each of some calls that are alike."""
    together = calls[0][0].method.together
    if together is not None and len(calls) > 1:
        # Where it fails by one of them, or nobody wants it any more, each fails below by what is its own.
        with suppress(Exception), cancellable(lambda: _check_all(calls)):
            found = together.answers([request for _, request in calls])
            return [call.encode(one) for (call, _), one in zip(calls, found, strict=True)]
    return [_outcome(call, request) for call, request in calls]


def _outcome(call: _Call, request: Message) -> bytes | Exception:
    try:
        return call.encode(call.answered(request))
    except Exception as error:  # noqa: BLE001 - it is raised where the call is awaited
        return error


def _check_all(calls: list[tuple[_Call, Message]]) -> None:
    """Raises where no call is wanted any more."""
    if all(call.left or call.stopping() for call, _ in calls):
        calls[0][0].check()


def _messages(
    call: _Call, begin: Sequence[bytes], stream: Stream, loop: asyncio.AbstractEventLoop
) -> Iterator[Message]:
    """Yields the requests of a stream, of which the first are read already, in a thread; errors as of its reading."""
    yield from map(call.decoded, begin)
    while len(begin) > 1:  # else there are no more
        data = asyncio.run_coroutine_threadsafe(stream.read(), loop).result()
        if data is None:
            break
        yield call.decoded(data)
    checkpoint()


async def _refuse(call: _Call, context: Context, error: Exception) -> bytes:
    """Ends a call with the status of an error."""
    refused = refusal(error)
    call.log(refused.code.name)
    await abort(context, refused)
    return b""


async def abort(context: Context, refused: Refusal) -> None:
    """Ends a call with a status."""
    await context.abort(refused.code, refused.message, refused.metadata)


def _collection(request: Message) -> str:
    """Returns the collection that a request names, else "-". Only a valid name is logged: it cannot break the line."""
    for name in ("parent", "name", "collection_id"):
        if match := _COLLECTION.fullmatch(getattr(request, name, "")):
            return match[1]
    return "-"
