"""The methods over HTTP: plain JSON and Connect for one message, also by GET, Connect and gRPC-Web for streams."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.routing import BaseRoute, Match

from crossview.engine.values.errors import CancelledError, CrossviewError, InvalidInputError
from crossview.server.core.dispatch.call import PROTOBUF, Codec
from crossview.server.core.dispatch.dispatcher import Dispatcher, RefusedError
from crossview.server.core.dispatch.streams import END, Read
from crossview.server.edge.http.body import EncodingError, inflated_message
from crossview.server.edge.http.codecs import JSON, JSON_BYTES
from crossview.server.edge.http.exchange import JSON_TYPE, ClientLeftError, Exchange, LongAddressError, exact_status
from crossview.server.edge.http.frames import FRAMINGS, Frames, Framing
from crossview.server.wire.errors import DeadlineExceededError, OverloadedError, PermissionDeniedError
from crossview.server.wire.json_reading import bytes_of_base64
from crossview.server.wire.methods import METHODS, Method
from crossview.server.wire.settings import ServerSettings
from crossview.server.wire.status import Code, Refusal, refusal

ADDRESS_BYTES = 8000
"""Maximum size of an address: programs between a client and a server pass at least so much."""
NEVER_STORED = (("cache-control", "private, no-store"), ("vary", "authorization"))
"""The headers of each response to a GET: it depends on the caller's key, and on a state that changes at any time."""
_CODECS: dict[str, Codec] = {"json": JSON, "proto": PROTOBUF}
_NAMES = ("connect", "encoding", "message", "base64", "compression")


@dataclass(frozen=True)
class Address:
    """The request in an address: the encoding and bytes of its message, compressed by gzip or not."""

    codec: Codec
    message: bytes
    compressed: bool


def read_address(scope: Mapping[str, Any]) -> Address:
    """Return the request in an address, by the scope of ASGI; InvalidInputError, LongAddressError or EncodingError."""
    query = bytes(scope["query_string"])
    if len(scope["path"]) + len(query) > ADDRESS_BYTES:
        raise LongAddressError(f"the address has more than {ADDRESS_BYTES:,} bytes: send the request by POST")
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="latin-1", max_num_fields=64)
    except ValueError as error:
        raise InvalidInputError("the address has more than 64 parameters") from error
    values = {name: value for name, value in pairs if name in _NAMES}
    if len(values) < sum(name in _NAMES for name, _ in pairs):
        raise InvalidInputError("a parameter of the address occurs twice")
    for name in ("encoding", "message"):
        if name not in values:
            raise InvalidInputError(f"the address needs the parameter {name!r}, as in ?encoding=json&message=%7B%7D")
    for name, allowed in {"connect": ("v1",), "base64": ("0", "1")}.items():
        if values.get(name, allowed[0]) not in allowed:
            raise InvalidInputError(f"the parameter {name} is {values[name][:20]!r}; it must be {' or '.join(allowed)}")
    for name, choices in {"encoding": [*_CODECS], "compression": ["gzip", "identity"]}.items():
        if values.get(name, choices[0]) not in choices:
            raise EncodingError(f"the parameter {name} is {values[name][:20]!r}; it must be {' or '.join(choices)}")
    return Address(_CODECS[values["encoding"]], _message(values), values.get("compression") == "gzip")


def _message(values: Mapping[str, str]) -> bytes:
    if values.get("base64") != "1":
        return values["message"].encode("latin-1")
    try:
        return bytes_of_base64(values["message"])
    except ValueError as error:
        raise InvalidInputError(f"the parameter message: {error}") from error


def check_site(headers: Mapping[str, str], origins: tuple[str, ...]) -> None:
    """Raise PermissionDeniedError for a request that a browser makes for a page of a site that is not an origin.

    Before a POST with JSON, browsers ask the server whether it permits the site; before a GET, they do not.
    """
    foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if foreign and "*" not in origins and headers.get("origin") not in origins:
        raise PermissionDeniedError("the request comes from a page of another site; name its origin by --http-origin")


_UNARY: dict[str, Codec] = {JSON_TYPE: JSON, "application/proto": PROTOBUF}
"""The encodings of calls with one message and one response, by content type."""
_RETRY_SECONDS = 1.0


class Calls:
    """The dispatcher and the limits that all calls over HTTP share."""

    dispatcher: Dispatcher

    def __init__(self, dispatcher: Dispatcher, settings: ServerSettings) -> None:
        self.dispatcher, self._settings = dispatcher, settings
        self.origins: tuple[str, ...] = settings.http_origins
        self._under_way = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a call; raise OverloadedError if too many are under way."""
        if self._under_way >= self._settings.calls:
            raise OverloadedError(
                f"{self._under_way:,} calls are in progress: try again in {_RETRY_SECONDS:g} s", _RETRY_SECONDS
            )
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def most(self, codec: Codec) -> int:
        """Return the maximum size of a message in bytes."""
        most = self._settings.message_bytes
        return min(most, JSON_BYTES) if codec is JSON else most

    async def answer(self, method: Method, exchange: Exchange, codec: Codec, read: Read) -> None:
        """Answer a call with one response, which is JSON or a refusal as JSON otherwise."""
        try:
            with self.counted():
                exchange.check_version()
                caller = exchange.caller(codec, exchange.seconds("connect-timeout-ms"))
                response = await self.dispatcher.answer(method, read, caller)
        except RefusedError as error:
            await exchange.refuse(error.refusal, exact_status(error.__cause__))
        except CrossviewError as error:
            await exchange.refuse_error(error)
        else:
            await exchange.respond(response, "application/proto" if codec is PROTOBUF else JSON_TYPE)


class MethodRoute(BaseRoute):
    """The route of all methods, by their paths."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def matches(self, scope: Any) -> tuple[Match, Any]:
        """Return whether the path is that of a method."""
        if scope["type"] == "http" and scope["path"] in METHODS:
            return Match.FULL, {}
        return Match.NONE, {}

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a call."""
        method = METHODS[scope["path"]]
        exchange = Exchange(scope, receive, send, self._calls.dispatcher.budget)
        try:
            async with exchange.cancelled_with_client():
                await self._handle(method, scope, exchange)
        except ClientLeftError:
            return

    async def _handle(self, method: Method, scope: Any, exchange: Exchange) -> None:
        verb = scope["method"]
        if verb == "GET" and method.in_address:
            await self._handle_address(method, scope, exchange)
            return
        if verb != "POST":
            verbs = "GET, POST" if method.in_address else "POST"
            wrong = _invalid(f"{method.path} takes {verbs.replace(',', ' or')}, not {verb[:20]}")
            await exchange.refuse(wrong, 405, [("allow", verbs)])
            return
        if (charset := exchange.charset) not in ("", "utf-8", "utf8"):
            await exchange.refuse(_invalid(f"text is UTF-8, not {charset[:20]!r}: leave the charset out"), 415)
            return
        codec, framing = _UNARY.get(exchange.content_type), FRAMINGS.get(exchange.content_type)
        streams = method.streams or method.each is not None
        if codec is not None and method.each is None:  # one message is a stream of one
            encoding = exchange.headers.get("content-encoding", "")
            body = partial(exchange.body.read, self._calls.most(codec), encoding)
            await self._calls.answer(method, exchange, codec, _reader(exchange, body))
        elif framing is not None and (streams or framing.unary):
            await self._handle_frames(method, exchange, framing)
        else:
            types = [*(_UNARY if method.each is None else ())]
            types += [name for name, framed in FRAMINGS.items() if streams or framed.unary]
            wrong = _invalid(
                f"{method.name} does not take the content type {exchange.content_type[:50]!r}; send "
                f"{' or '.join(types[:2])}"
            )
            await exchange.refuse(wrong, 415, [("accept-post", ", ".join(types))])

    async def _handle_address(self, method: Method, scope: Any, exchange: Exchange) -> None:
        """Answer a call whose request is in its address."""
        exchange.headers_of_answer = [*NEVER_STORED]
        try:
            check_site(exchange.headers, self._calls.origins)
            address = read_address(scope)
        except CrossviewError as error:
            await exchange.refuse_error(error)
            return
        most = self._calls.most(address.codec)

        async def message() -> bytes:
            hold = exchange.body.hold
            return await inflated_message(address.message, most, hold) if address.compressed else address.message

        await self._calls.answer(method, exchange, address.codec, _reader(exchange, message))

    async def _handle_frames(self, method: Method, exchange: Exchange, framing: Framing) -> None:
        """Answer a call in frames; its refusal is the last frame."""
        refused: Refusal | None = None
        try:
            with self._calls.counted():
                exchange.check_version()
                seconds = exchange.seconds(framing.timeout)
                encoding = exchange.headers.get(framing.encoding, "")
                frames = Frames(exchange.body, framing, encoding, self._calls.most(framing.codec))
                await self._answer_frames(method, exchange, framing, frames, seconds)
        except RefusedError as error:
            refused = error.refusal
        except CrossviewError as error:
            refused = refusal(error)
        if not exchange.started:
            await exchange.start(exchange.content_type)
        await exchange.write(framing.end(refused), more=False)

    async def _answer_frames(
        self, method: Method, exchange: Exchange, framing: Framing, frames: Frames, seconds: float | None
    ) -> None:
        async def write(data: bytes) -> None:
            if not exchange.started:
                await exchange.start(exchange.content_type)
            await exchange.write(framing.message(data))

        if method.each is None:
            caller, read = exchange.caller(framing.codec, seconds), frames.read if method.streams else frames.read_only
            await write(await self._calls.dispatcher.answer(method, read, caller))
            return
        failed: list[CrossviewError] = []

        async def read_next() -> Any:
            """Return the next message; at an error, end the stream after the answers to the messages before."""
            try:
                return await frames.read()
            except CancelledError:
                exchange.leave()
                return END
            except CrossviewError as error:
                failed.append(error)
                return END

        try:
            async with asyncio.timeout(seconds):
                caller = exchange.caller(framing.codec, None)
                await self._calls.dispatcher.answer_each(method, read_next, write, caller)
        except TimeoutError as error:
            raise DeadlineExceededError(
                f"the stream of {method.name} did not end within {seconds:g} seconds; allow more time"
            ) from error
        if failed:
            raise failed[0]


def _reader(exchange: Exchange, message: Callable[[], Awaitable[bytes]]) -> Read:
    """Return the function that reads the only message of a call, and then its end."""
    ended = False

    async def read() -> Any:
        nonlocal ended
        if ended:
            return END
        ended = True
        data = await message()
        exchange.body.release()  # the dispatcher counts the request from now on
        return data

    return read


def _invalid(message: str) -> Refusal:
    return Refusal(Code.INVALID_ARGUMENT, message, InvalidInputError.__name__, None)
