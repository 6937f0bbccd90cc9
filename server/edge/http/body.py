"""The body of an HTTP request, read piece by piece within limits of size, time and memory."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from crossview.engine.values.errors import CancelledError, InvalidInputError
from crossview.server.core.dispatch.quotas import Budget
from crossview.server.wire.errors import SilentStreamError

_WHOLE_SECONDS, _BYTES_A_SECOND = 30.0, 32_000
"""A whole body must arrive within this time, and a second more for so many bytes."""
_PIECE = 1 << 18
"""Maximum bytes to decompress at once, between which the event loop answers other calls."""
_GZIP = 31
"""The argument of zlib for gzip."""
Receive = Callable[[], Awaitable[Any]]


class TooLargeError(InvalidInputError):
    """A body or a message is larger than the limit."""


class EncodingError(InvalidInputError):
    """A body is compressed in a way that the server does not read."""


class Body:
    """The body of a request.

    Args:
        receive: returns the next event of the request, as ASGI defines it.
        budget: counts the bytes that the body holds in memory.
        length: the announced size; None if it is not announced.
        ended: called when the whole body has arrived.
    """

    def __init__(self, receive: Receive, budget: Budget, length: int | None, ended: Callable[[], None]) -> None:
        self._receive, self._budget, self._length, self._ended = receive, budget, length, ended
        self._held = 0
        self.whole: bool = length == 0
        """Whether the last piece has arrived."""

    async def piece(self) -> bytes:
        """Return the next bytes, b"" only at the end; raise CancelledError if the client has left."""
        while not self.whole:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise CancelledError("the client closed the connection during its request")
            if not event.get("more_body", False):
                self.whole = True
                self._ended()
            if event["body"]:
                return bytes(event["body"])
        return b""

    def hold(self, size: int) -> None:
        """Count bytes in memory; raise OverloadedError if all requests hold too many."""
        self._budget.arrive(size)
        self._held += size

    def release(self) -> None:
        """Count no bytes any more."""
        self._budget.leave(self._held)
        self._held = 0

    async def read(self, most: int, encoding: str) -> bytes:
        """Return the whole body, decompressed; raise the errors of ``limited``, SilentStreamError if it is late."""
        data = bytearray()
        async with self.in_time():
            async for piece in self.limited(most, encoding):
                data += piece
        return bytes(data)

    async def limited(self, most: int, encoding: str) -> AsyncIterator[bytes]:
        """Yield the pieces of the body, decompressed, and hold their bytes.

        Raises TooLargeError for more than ``most`` bytes, before reading an announced size, EncodingError for another
        encoding than gzip, and OverloadedError.
        """
        if self._length is not None and self._length > most:
            raise too_large(most)
        total = 0
        async for piece in self._decoded(encoding):
            total += len(piece)
            if total > most:
                raise too_large(most)
            self.hold(len(piece))
            yield piece

    def in_time(self) -> "_InTime":
        """Return a context that raises SilentStreamError if the body does not arrive in time."""
        return _InTime(_WHOLE_SECONDS + (self._length or 0) / _BYTES_A_SECOND)

    async def _decoded(self, encoding: str) -> AsyncIterator[bytes]:
        check_encoding(encoding)
        if encoding != "gzip":
            while piece := await self.piece():
                yield piece
            return
        inflate = zlib.decompressobj(_GZIP)
        while data := await self.piece():
            while data and not inflate.eof:
                yield inflated(inflate, data)
                data = inflate.unconsumed_tail
                await asyncio.sleep(0)
        if not inflate.eof:
            raise EncodingError("the body ends before its gzip data does")


class _InTime:
    """A limit of time that raises SilentStreamError."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._limit = seconds, asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        try:
            await self._limit.__aexit__(*error)
        except TimeoutError:
            late = f"the body did not arrive within {self._seconds:.0f} seconds; send it again"
            raise SilentStreamError(late) from None


async def inflated_message(data: bytes, most: int, hold: Callable[[int], None]) -> bytes:
    """Return a message of a stream, decompressed by gzip; ``hold`` counts its bytes as they appear.

    Raises TooLargeError, EncodingError, and the errors of ``hold``.
    """
    inflate, message = zlib.decompressobj(_GZIP), bytearray()
    for start in range(0, len(data), _PIECE):  # in parts, because zlib copies what it has not read yet
        part = data[start : start + _PIECE]
        while part and not inflate.eof:
            piece = inflated(inflate, part)
            hold(len(piece))
            message += piece
            if len(message) > most:
                raise too_large(most)
            part = inflate.unconsumed_tail
            await asyncio.sleep(0)
    if not inflate.eof:
        raise EncodingError("a message ends before its gzip data does")
    return bytes(message)


def inflated(inflate: Any, data: bytes) -> bytes:
    """Return the next bytes of a decompressor; raise EncodingError for data that are not gzip."""
    try:
        return bytes(inflate.decompress(data, _PIECE))
    except zlib.error as error:
        raise EncodingError(f"the data are not gzip: {error}") from error


def check_encoding(encoding: str) -> None:
    """Raise EncodingError for an encoding that the server does not read."""
    if encoding not in ("", "identity", "gzip"):
        raise EncodingError(f"the server does not read the encoding {encoding[:50]!r}: send identity or gzip")


def too_large(most: int) -> TooLargeError:
    """Return the error of a body or a message with more than ``most`` bytes."""
    return TooLargeError(f"the request has more than {most:,} bytes: send less at a time")
