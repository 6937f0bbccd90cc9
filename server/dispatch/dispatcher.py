"""The dispatcher: it answers the calls of every transport, each in its room, with its limits, its end and its log.

The event loop only moves messages; threads do what takes time. A transport passes the method, a function that reads the
next message, and what it knows of the caller; it gets the encoded response, or a RefusedError with the status.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from google.protobuf.message import Message

from crossview.engine.runtime.cancellation import cancellable, checkpoint
from crossview.server.dispatch.call import DECODED_AT_ONCE, Call, Caller, Encoded, Served
from crossview.server.dispatch.rooms import Rooms
from crossview.server.dispatch.streams import END, OneMessage, Read, Silences, Stream
from crossview.server.errors import DeadlineExceededError, OverloadedError, ServerStoppedError, SilentStreamError
from crossview.server.methods import Method
from crossview.server.settings import ServerSettings
from crossview.server.wire.status import Code, Refusal, refusal

REQUEST_LOG = "crossview.requests"
"""The logger that has one line for each call, at level INFO; a stream has one for each message."""
_log = logging.getLogger(REQUEST_LOG)


class Around(Protocol):
    """One thing that happens around calls, in the event loop."""

    def begin(self, call: Call) -> None:
        """Note that a call begins, before its request is read; an error that this raises refuses the call."""

    def end(self, call: Call) -> None:
        """Note that a call has ended, with its code, collection and sizes; only if ``begin`` raised nothing."""


class RequestLog:
    """Writes a line for each call."""

    def begin(self, call: Call) -> None:
        """See ``Around``."""

    def end(self, call: Call) -> None:
        """See ``Around``."""
        if _log.isEnabledFor(logging.INFO):
            milliseconds = 1e3 * (time.monotonic() - call.began)
            _log.info(
                "%s collection=%s status=%s ms=%.1f request_bytes=%d response_bytes=%d",
                *(call.method.name, call.collection, call.code.name, milliseconds, call.received, call.sent),
            )


_BUDGET_RETRY_SECONDS = 1.0


class Budget:
    """So many bytes of requests may be under way at once; it is used in the event loop alone."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0

    @contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Count the bytes of a request during the block; raise OverloadedError if too many are counted already."""
        if self._taken and self._taken + size > self._most:
            raise OverloadedError(
                f"the requests under way take {self._taken / 1e6:,.0f} MB, and this one {size / 1e6:,.1f} MB more: try "
                f"again in {_BUDGET_RETRY_SECONDS:g} s, or send less at a time",
                _BUDGET_RETRY_SECONDS,
            )
        self._taken += size
        try:
            yield
        finally:
            self._taken -= size


_STREAM_PATIENCE = 10.0
"""Seconds that a message of a stream tries to be answered where too many calls are under way."""

Write = Callable[[Any], Awaitable[None]]
"""Sends an encoded message to the caller."""


class RefusedError(Exception):
    """A call that ended with an error; a transport sends its refusal."""

    def __init__(self, refused: Refusal) -> None:
        super().__init__(refused.message)
        self.refusal = refused


class Dispatcher:
    """Answers the calls of methods; ``stop`` ends the work of those under way with ServerStoppedError.

    It is made in the event loop.

    Args:
        rooms: the threads.
        settings: the limits.
        around: what happens around every call, the outermost first.
    """

    def __init__(self, rooms: Rooms, settings: ServerSettings, around: Sequence[Around] = (RequestLog(),)) -> None:
        self.served: Mapping[str, Served] = {}
        """How each method is answered, by its path; set before the first call."""
        self._rooms, self._entries, self._around = rooms, settings.entries, tuple(around)
        self._budget = Budget(settings.flight_bytes)
        loop = asyncio.get_running_loop()
        self.stopped: asyncio.Future[None] = loop.create_future()
        """Done once the work of every call is to end."""
        self.draining: asyncio.Future[None] = loop.create_future()
        """Done once streams are to end, as soon as what they have sent is answered."""
        self.silences = Silences(settings.calls // 2, settings.silent_seconds)
        """The calls of all kinds whose clients are silent."""
        self._silent_fits = Silences(settings.waiting // 2, settings.silent_seconds)

    def stop(self) -> None:
        """End the work of every call at its next checkpoint."""
        if not self.stopped.done():
            self.stopped.set_result(None)

    def drain(self) -> None:
        """End streams that are answered message by message, once the messages that they have sent are answered."""
        if not self.draining.done():
            self.draining.set_result(None)

    async def answer(self, method: Method, read: Read, caller: Caller) -> Any:
        """Return the encoded response to a request, or to a stream of requests; raise RefusedError."""
        call = Call(self.served[method.path], caller, self.stopped.done, self._entries)
        if method.streams:
            stream = Stream(read, self._silent_fits, self.stopped)
            return await self._run(call, lambda: self._response_to_stream(call, stream))
        return await self._run(call, lambda: self._response_to_one(call, read))

    async def answer_each(self, method: Method, read: Read, write: Write, caller: Caller) -> None:
        """Write the encoded answer to each message of a stream, in order; raise RefusedError for the stream itself.

        It reads on while earlier messages are answered. A message's error is the answer to that message alone.
        """
        ahead = 1 if method.each is None else method.each.ahead
        answers: asyncio.Queue[asyncio.Task[Any] | None] = asyncio.Queue(ahead)
        stream = Stream(read, self.silences, self.draining)
        ended: Exception | None = None

        async def send() -> None:
            while (answer := await answers.get()) is not None:
                await write(await answer)
                stream.end()

        async with asyncio.TaskGroup() as group:
            sender = group.create_task(send())
            try:
                async for data in stream:
                    stream.begin()
                    await answers.put(group.create_task(self._answer_to_message(method, data, caller)))
            except (SilentStreamError, ServerStoppedError) as error:
                ended = error
            await answers.put(None)
            await sender
        if ended is not None:
            raise RefusedError(refusal(ended)) from ended

    async def _answer_to_message(self, method: Method, data: Any, caller: Caller) -> Any:
        """Return the encoded answer to a message of a stream: a response, or the error of this message alone."""
        make: Any = method.response

        def wrap(response: Message) -> Message:
            wrapped: Message = make(response=response)
            return wrapped

        call = Call(self.served[method.path], caller, self.stopped.done, self._entries, wrap)
        try:
            return await self._run(call, lambda: self._patient_response(call, data))
        except RefusedError as error:
            return caller.codec.encode(make(error=error.refusal.status))

    async def _run(self, call: Call, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return the result of the work, with all that happens around a call; raise RefusedError."""
        begun = 0
        try:
            for one in self._around:
                one.begin(call)
                begun += 1
            encoded = await (work() if call.caller.seconds is None else _within(call, call.caller.seconds, work()))
            call.sent = call.caller.codec.size(encoded)
            return encoded
        except asyncio.CancelledError:
            call.left, call.code = True, Code.CANCELLED
            raise
        except Exception as error:
            refused = refusal(error)
            call.code = refused.code
            raise RefusedError(refused) from error
        finally:
            for one in reversed(self._around[:begun]):
                one.end(call)

    async def _response_to_one(self, call: Call, read: Read) -> Any:
        """Read the request and return the encoded response to it."""
        data = await OneMessage(read, self.silences).read()
        with self._budget.held(size := call.take(data)):
            return await self._response(call, _request(call, data, size))

    async def _patient_response(self, call: Call, data: Any) -> Any:
        """Return the response to a message of a stream, which may wait longer: messages sent ahead wait for it."""
        with self._budget.held(size := call.take(data)):
            request = _request(call, data, size)
            while True:
                try:
                    return await self._response(call, request)
                except OverloadedError as error:
                    if time.monotonic() - call.began + error.retry_seconds > _STREAM_PATIENCE:
                        raise
                    await asyncio.sleep(error.retry_seconds)

    async def _response(self, call: Call, request: Message | Encoded) -> Any:
        """Return the encoded response to a request: at hand, awaited, or from a thread."""
        served, decoded = call.served, isinstance(request, Message)
        if (found := call.at_hand(request)) is not None:
            return call.encode(found)
        if served.awaited is not None:
            if isinstance(request, Encoded):
                request = await self._rooms.reads.run(request.decoded)
            if (found := await served.awaited(request)) is not None:
                return call.encode(found)
        room = self._rooms.of(served.method, request if decoded else None)
        alike = served.together.alike(request) if served.together is not None and decoded else None
        if served.together is None or alike is None:
            return await room.run(lambda: call.encode(call.answered(request)))
        return await room.run_together(alike, (call, request), _answered_together, served.together.most)

    async def _response_to_stream(self, call: Call, stream: Stream) -> Any:
        """Return the response to a stream, whose first messages are read before it takes a thread."""
        first = await stream.read()
        second = END if first is END else await stream.read()
        begin = [data for data in (first, second) if data is not END]
        size = sum(map(call.take, begin))
        if len(begin) == 1 and call.served.awaited is not None:
            request = await self._rooms.reads.run(lambda: call.decoded(first))
            found = await call.served.awaited(request)
            if found is not None:
                return call.encode(found)
        requests = _messages(call, begin, stream, asyncio.get_running_loop())
        room = self._rooms.of(call.method, None)
        with self._budget.held(size):
            return await room.run(lambda: call.encode(call.answered(requests)))


def _request(call: Call, data: Any, size: int) -> Message | Encoded:
    """Return a request, decoded if that takes less time than a thread takes to begin."""
    return call.decoded(data) if size <= DECODED_AT_ONCE else Encoded(call, data)


async def _within(call: Call, seconds: float, work: Awaitable[Any]) -> Any:
    """Return the awaited result; raise DeadlineExceededError after ``seconds``."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        call.left = True
        raise DeadlineExceededError(
            f"{call.method.name} was not answered within {seconds:g} seconds; allow more time, or request less"
        ) from error


def _answered_together(calls: list[tuple[Call, Message]]) -> list[Any]:
    """Return a response, encoded, or an error for each of some calls that are alike."""
    together = calls[0][0].served.together
    if together is not None and len(calls) > 1:
        # If one of them makes the search fail, or nobody wants it any more, each call fails below with its own error.
        with suppress(Exception), cancellable(lambda: _check_all(calls)):
            found = together.answers([request for _, request in calls])
            return [call.encode(one) for (call, _), one in zip(calls, found, strict=True)]
    return [_outcome(call, request) for call, request in calls]


def _outcome(call: Call, request: Message) -> Any:
    try:
        return call.encode(call.answered(request))
    except Exception as error:  # noqa: BLE001 - it is raised where the call is awaited
        return error


def _check_all(calls: list[tuple[Call, Message]]) -> None:
    """Raise an error if no call is wanted any more."""
    if all(call.left or call.stopping() for call, _ in calls):
        calls[0][0].check()


def _messages(call: Call, begin: Sequence[Any], stream: Stream, loop: asyncio.AbstractEventLoop) -> Iterator[Message]:
    """Yield the requests of a stream, whose first are read already, in a thread; raise the errors of its reading."""
    yield from map(call.decoded, begin)
    while len(begin) > 1:  # else there are no more
        data = asyncio.run_coroutine_threadsafe(stream.read(), loop).result()
        if data is END:
            break
        call.take(data)
        yield call.decoded(data)
    checkpoint()
