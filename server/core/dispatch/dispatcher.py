"""The dispatcher: answers the calls of every transport in their rooms, with limits, cancellation and a log.

The event loop only moves messages; threads do all long work. A transport passes the method, a function that reads the
next message, and the caller. It gets the encoded response, or a RefusedError with the status.
"""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Protocol

from google.protobuf.message import Message

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.values.errors import CrossviewError
from crossview.server.core.dispatch.call import DECODED_AT_ONCE, Call, Caller, Encoded, Served
from crossview.server.core.dispatch.call_log import RequestLog
from crossview.server.core.dispatch.origin import caused_by
from crossview.server.core.dispatch.quotas import Budget
from crossview.server.core.dispatch.rooms import Rooms
from crossview.server.core.dispatch.streams import END, OneMessage, Read, Silences, Stream
from crossview.server.core.dispatch.together import Gathering, answered_alone, answered_together
from crossview.server.wire.errors import DeadlineExceededError, OverloadedError, ServerStoppedError, SilentStreamError
from crossview.server.wire.identity import acting
from crossview.server.wire.methods import Method
from crossview.server.wire.settings import ServerSettings
from crossview.server.wire.status import Code, Refusal, refusal


class Around(Protocol):
    """A check or a record around every call, in the event loop."""

    def begin(self, call: Call) -> None:
        """Handle the start of a call, before its request is read; raise an error to refuse the call."""

    def end(self, call: Call) -> None:
        """Handle the end of a call, with its code, collection and sizes, unless ``begin`` raised an error."""


class Gate:
    """An ``Around`` that also guards the opening of a stream whose messages are calls, before the first message."""

    def begin(self, call: Call) -> None:
        """See ``Around``."""

    def end(self, call: Call) -> None:
        """See ``Around``."""


_STREAM_PATIENCE = 10.0
"""Maximum time for which the server retries a message of a stream that a full room refuses."""

Write = Callable[[Any], Awaitable[None]]
"""Sends an encoded message to the caller."""


class RefusedError(Exception):
    """The error of a failed call, with the refusal that a transport sends."""

    def __init__(self, refused: Refusal) -> None:
        super().__init__(refused.message)
        self.refusal = refused


class Dispatcher:
    """The dispatcher of the calls of all methods. Construct it in the event loop.

    Args:
        rooms: the rooms of threads.
        settings: the limits.
        around: the checks and records around every call, the outermost first.
    """

    def __init__(self, rooms: Rooms, settings: ServerSettings, around: Sequence[Around] = (RequestLog(),)) -> None:
        self.served: Mapping[str, Served] = {}
        """The functions that answer each method, by path; set before the first call."""
        self._rooms, self._entries, self._around = rooms, settings.entries, tuple(around)
        self.budget: Budget = Budget(settings)
        self._gathering = Gathering()
        loop = asyncio.get_running_loop()
        self.stopped: asyncio.Future[None] = loop.create_future()
        """Done when all work must end."""
        self.draining: asyncio.Future[None] = loop.create_future()
        """Done when streams must end after the answers to their received messages."""
        self.silences: Silences = Silences(settings.calls // 2, settings.silent_seconds)
        """The silent calls of all kinds, except fits of views, which have their own limit."""
        self._silent_fits = Silences(settings.waiting // 2, settings.silent_seconds)

    def stop(self) -> None:
        """End the work of every call at its next checkpoint, with ServerStoppedError."""
        if not self.stopped.done():
            self.stopped.set_result(None)

    def drain(self) -> None:
        """End the streams with one answer per message, after the answers to their received messages."""
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

        It reads further messages while the server answers earlier ones. The error of a message is the answer to it.
        """
        self._open(Call(self.served[method.path], caller, self.stopped.done, self._entries))
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

    def _open(self, call: Call) -> None:
        """Raise RefusedError if a gate refuses a stream; otherwise the stream could be silent without being allowed."""
        gates = [gate for gate in self._around if isinstance(gate, Gate)]
        try:
            for gate in gates:
                gate.begin(call)
        except CrossviewError as error:
            refused = refusal(error, call.id)
            call.code, call.error = refused.code, refused.error_name
            records = list(takewhile(lambda around: around not in gates, self._around))
            for record in records:
                record.begin(call)
            for record in reversed(records):
                record.end(call)
            raise RefusedError(refused) from error

    async def _answer_to_message(self, method: Method, data: Any, caller: Caller) -> Any:
        """Return the encoded answer to a message of a stream: a response, or the error of the message."""
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
        """Return the result of the work, inside the checks and records of ``around``; raise RefusedError."""
        begun = 0
        try:
            for around in self._around:
                around.begin(call)
                begun += 1
            encoded = await (work() if call.caller.seconds is None else _within(call, call.caller.seconds, work()))
            call.sent = call.caller.codec.size(encoded)
            return encoded
        except asyncio.CancelledError:
            call.left, call.code = True, Code.CANCELLED
            raise
        except Exception as error:
            refused = refusal(error, call.id)
            refused = replace(refused, message=call.caller.identity.shown(refused.message))
            call.code, call.error = refused.code, refused.error_name
            _let_go(error)
            raise RefusedError(refused) from error
        finally:
            for around in reversed(self._around[:begun]):
                around.end(call)

    async def _response_to_one(self, call: Call, read: Read) -> Any:
        """Read the request and return the encoded response to it."""
        data = await OneMessage(read, self.silences).read()
        call.note("read the request", call.began)
        with self.budget.held(call.take(data), call.caller.identity.name):
            return await self._response(call, _request(call, data))

    async def _patient_response(self, call: Call, data: Any) -> Any:
        """Return the response to a message of a stream; retry if the room is full: later messages wait for it."""
        weight, request = call.take(data), _request(call, data)
        while True:
            try:
                with self.budget.held(weight, call.caller.identity.name):
                    return await self._response(call, request)
            except OverloadedError as error:
                if time.monotonic() - call.began + error.retry_seconds > _STREAM_PATIENCE:
                    raise
                await asyncio.sleep(error.retry_seconds)

    async def _response(self, call: Call, request: Message | Encoded) -> Any:
        """Return the encoded response to a request: from memory, from a job, or from a thread."""
        served, decoded = call.served, isinstance(request, Message)
        by_model = served.by_model is not None and isinstance(request, Message) and served.by_model(request)
        alike = call.alike(request) if isinstance(request, Message) and not by_model else None
        if (encoded := await self._immediate(call, request, alike)) is not None:
            return encoded
        if served.awaited is not None:
            if isinstance(request, Encoded):
                request = await self._rooms.reads.run(request.decoded, call.caller.identity.name)
            response = await _awaited(call, served.awaited(request))
            if response is not None:
                return await self._encoded(call, response)
        room = self._rooms.of(served.method, request if decoded else None, by_model)
        call.wait()
        line = call.caller.identity.name
        if served.together is None or alike is None:
            return await room.run(lambda: call.encode(call.answered(request)), line)
        return await room.run_together(alike, (call, request), answered_together, served.together.most, line)

    async def _immediate(self, call: Call, request: Message | Encoded, alike: Hashable | None) -> Any:
        """Return the encoded response if the call needs no thread, perhaps with similar calls; otherwise None."""
        immediate = call.served.immediate
        if immediate is None or isinstance(request, Encoded) or not immediate.suits(request):
            return None
        return answered_alone(call, request) if alike is None else await self._gathering.encoded(alike, call, request)

    async def _encoded(self, call: Call, response: Message) -> Any:
        """Return the encoded response of a job, which can be large, without holding up the event loop."""
        if response.ByteSize() <= DECODED_AT_ONCE:
            return call.encode(response)
        return await asyncio.to_thread(call.encode, response)

    async def _response_to_stream(self, call: Call, stream: Stream) -> Any:
        """Return the response to a stream; one of a single message, as two reads show, can be a job instead."""
        first = await stream.read()
        second = END if first is END else await stream.read()
        head = [data for data in (first, second) if data is not END]
        size = sum(map(call.take, head))
        if len(head) == 1 and call.served.awaited is not None:
            request = await self._rooms.reads.run(lambda: call.decoded(first), call.caller.identity.name)
            response = await _awaited(call, call.served.awaited(request))
            if response is not None:
                return await self._encoded(call, response)
        call.items = 0  # ``_messages`` decodes and counts all
        requests = _messages(call, head, stream, asyncio.get_running_loop())
        room = self._rooms.of(call.method, None)
        call.wait()
        with self.budget.held(size, call.caller.identity.name):
            return await room.run(lambda: call.encode(call.answered(requests)), call.caller.identity.name)


def _let_go(error: BaseException | None) -> None:
    """Clear the frames of a reported error and of its causes: they hold the request until Python collects garbage."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _request(call: Call, data: Any) -> Message | Encoded:
    """Return a request, decoded if decoding takes less time than starting a thread."""
    return call.decoded(data) if call.caller.codec.quick(data) else Encoded(call, data)


async def _awaited(call: Call, answer: Awaitable[Message | None]) -> Message | None:
    """Return the awaited answer to a call, whose identity and origin a job takes over."""
    began = time.monotonic()
    with acting(call.caller.identity), caused_by(call.origin):
        response = await answer
    if response is not None:
        call.note("wait for the job", began)
    return response


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


def _messages(call: Call, head: Sequence[Any], stream: Stream, loop: asyncio.AbstractEventLoop) -> Iterator[Message]:
    """Yield the requests of a stream in a thread, first those of ``head``; raise the errors of reading."""
    yield from map(call.decoded, head)
    while len(head) > 1:  # a stream of one message has already ended
        data = asyncio.run_coroutine_threadsafe(stream.read(), loop).result()
        if data is END:
            break
        call.take(data)
        yield call.decoded(data)
    checkpoint()
