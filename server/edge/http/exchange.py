"""A request of HTTP and the response to it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from crossview.engine.values.errors import CancelledError, InvalidInputError
from crossview.server.core.dispatch.call import Caller, Codec
from crossview.server.core.dispatch.quotas import Budget
from crossview.server.edge.http.body import Body, EncodingError, TooLargeError
from crossview.server.wire.connect import HTTP_STATUSES, error_body
from crossview.server.wire.errors import SilentStreamError
from crossview.server.wire.status import Refusal, refusal

_Header = tuple[str, str]
Send = Callable[[Any], Awaitable[None]]
_WATCH_SECONDS = 0.05
"""Time after which the server watches whether the client of a call leaves; most calls end before."""
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 1 << 26
"""Maximum time and bytes of a refused body that the server discards, so that its client reads the refusal."""


class LongAddressError(InvalidInputError):
    """An address is longer than the limit."""


EXACT_STATUSES = {SilentStreamError: 408, TooLargeError: 413, LongAddressError: 414, EncodingError: 415}
"""HTTP statuses that are more exact than those of the codes."""
_MILLISECONDS = re.compile(r"[0-9]{1,10}")
_GRPC_TIMEOUT = re.compile(r"([0-9]{1,8})([HMSmun])")
_UNITS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
JSON_TYPE = "application/json"


_PART = 1 << 18
"""Maximum bytes of a response that are sent at once."""


class ClientLeftError(Exception):
    """The client has closed its connection, so nobody reads a response."""


class Exchange:
    """A request and its response, for one call.

    Args:
        scope, receive, send: the request, as ASGI defines it.
        budget: counts the bytes of requests in memory.
    """

    def __init__(self, scope: Any, receive: Any, send: Send, budget: Budget) -> None:
        self._send, self._receive = send, receive
        self._pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        self.headers: dict[str, str] = dict(self._pairs)
        length = self.headers.get("content-length", "" if "transfer-encoding" in self.headers else "0")
        # Python refuses to read very long numbers, and 20 digits are above every limit.
        self.body: Body = Body(receive, budget, int(length[:20]) if length.isdecimal() else None, self._body_ended)
        self._started = False
        self.headers_of_answer: list[_Header] = []
        """Headers of the response, whatever it is."""
        self._timer: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._caller: asyncio.Task[Any] | None = None
        self._left = self._finished = False
        if self.body.whole:
            self._body_ended()

    @property
    def content_type(self) -> str:
        """The content type in lower case, without parameters."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The charset of the content type in lower case; "" without one."""
        parameters = str(self.headers.get("content-type", "")).lower().split(";")[1:]
        pairs = (parameter.partition("=") for parameter in parameters)
        return next((value.strip().strip('"') for name, _, value in pairs if name.strip() == "charset"), "")

    def caller(self, codec: Codec, seconds: float | None) -> Caller:
        """Return the caller of the call."""
        return Caller(codec, seconds, lambda: self._pairs)  # with repeated names, which the check of keys refuses

    def seconds(self, name: str) -> float | None:
        """Return the time until the deadline from a header; None without one. Raises InvalidInputError."""
        text = self.headers.get(name)
        if text is None:
            return None
        if name == "grpc-timeout" and (match := _GRPC_TIMEOUT.fullmatch(text)):
            return int(match[1]) * _UNITS[match[2]]
        if name != "grpc-timeout" and _MILLISECONDS.fullmatch(text):
            return int(text) / 1e3
        form = "a number and a unit, such as 5S" if name == "grpc-timeout" else "a whole number of milliseconds"
        raise InvalidInputError(f"the header {name} is {text[:50]!r}; it must be {form}")

    def check_version(self) -> None:
        """Raise InvalidInputError for an unknown version of Connect."""
        version = self.headers.get("connect-protocol-version", "1")
        if version != "1":
            raise InvalidInputError(f"the header connect-protocol-version is {version[:50]!r}; it must be 1")

    @asynccontextmanager
    async def cancelled_with_client(self) -> AsyncIterator[None]:
        """Cancel the block when the client leaves, with ClientLeftError."""
        self._caller = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if not self._left or self._caller is None:
                raise
            self._caller.uncancel()
            raise ClientLeftError from None
        except CancelledError as error:  # while the body arrived
            raise ClientLeftError from error
        finally:
            self._caller = None
            if self._timer is not None:
                self._timer.cancel()
            if self._watcher is not None:
                self._watcher.cancel()
            self.body.release()

    def leave(self) -> None:
        """Cancel the call, because the client has left, unless the response is complete."""
        if self._caller is not None and not self._finished:
            self._left = True
            self._caller.cancel()

    def _body_ended(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._watch)

    def _watch(self) -> None:
        async def watch() -> None:
            while (await self._receive())["type"] != "http.disconnect":
                pass
            self.leave()

        if self._caller is not None:
            self._watcher = asyncio.get_running_loop().create_task(watch())

    async def start(self, content_type: str, status: int = 200, headers: Iterable[_Header] = ()) -> None:
        """Send the start of the response."""
        self._started = True
        lines = [
            ("content-type", content_type),
            ("x-content-type-options", "nosniff"),
            *self.headers_of_answer,
            *headers,
        ]
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in lines]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    @property
    def started(self) -> bool:
        """Whether the response has started."""
        return self._started

    async def write(self, data: bytes, more: bool = True) -> None:
        """Send a piece of the response's body, in parts: each waits until the client has read those before."""
        *parts, last = [data[start : start + _PART] for start in range(0, len(data), _PART)] or [b""]
        for part in parts:
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
        self._finished = not more
        await self._send({"type": "http.response.body", "body": last, "more_body": more})

    async def respond(
        self, data: bytes, content_type: str = JSON_TYPE, status: int = 200, headers: Iterable[_Header] = ()
    ) -> None:
        """Send a whole response; if the request has not arrived, discard a part, and close the connection."""
        closing = () if self.body.whole else (("connection", "close"),)
        await self.start(content_type, status, [("content-length", str(len(data))), *headers, *closing])
        if closing:
            await self.write(data)
            await self._linger()
            data = b""
        await self.write(data, more=False)

    async def refuse(self, refused: Refusal, status: int | None = None, headers: Iterable[_Header] = ()) -> None:
        """Send a refusal as JSON, with the HTTP status of its code unless another one is more exact."""
        more = [*headers]
        if refused.retry_seconds is not None:
            more.append(("retry-after", str(max(1, round(refused.retry_seconds)))))
        body = json.dumps(error_body(refused)).encode()
        await self.respond(body, status=status or HTTP_STATUSES[refused.code], headers=more)

    async def refuse_error(self, error: Exception) -> None:
        """Send the refusal of an error."""
        await self.refuse(refusal(error), exact_status(error))

    async def _linger(self) -> None:
        """Discard the rest of a body: a connection that closes before loses the response."""
        remaining = _LINGER_BYTES
        with suppress(TimeoutError, CancelledError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while remaining > 0 and (piece := await self.body.piece()):
                    remaining -= len(piece)


def exact_status(error: BaseException | None) -> int | None:
    """Return the HTTP status of an error, if it is more exact than that of its code."""
    return next((status for cls, status in EXACT_STATUSES.items() if isinstance(error, cls)), None)
