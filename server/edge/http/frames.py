"""The frames of streams: five bytes with flags and a length, then a message, in Connect and gRPC-Web."""

import base64
import binascii
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.dispatch.call import PROTOBUF, Codec
from crossview.server.core.dispatch.streams import END
from crossview.server.edge.http.body import Body, check_encoding, inflated_message, too_large
from crossview.server.edge.http.codecs import JSON
from crossview.server.wire.connect import error_body, trailers
from crossview.server.wire.status import Refusal

_PREFIX = struct.Struct(">BI")
_COMPRESSED, _END_OF_CONNECT, _END_OF_WEB = 1, 2, 0x80


@dataclass(frozen=True)
class Framing:
    """A protocol of streams.

    Attributes:
        codec: the encoding of the messages.
        encoding: the header that names the compression of messages.
        timeout: the header with the deadline.
        last: returns the last frame of a response: that of a refusal, or of success.
        text: whether all frames are in base64.
        unary: whether the protocol also carries methods without streams.
    """

    codec: Codec
    encoding: str
    timeout: str
    last: Callable[[Refusal | None], bytes]
    text: bool = False
    unary: bool = True

    def sent(self, frame: bytes) -> bytes:
        """Return a frame as the body contains it."""
        return base64.b64encode(frame) if self.text else frame

    def message(self, data: bytes) -> bytes:
        """Return the frame of a message."""
        return self.sent(_PREFIX.pack(0, len(data)) + data)

    def end(self, refused: Refusal | None) -> bytes:
        """Return the last frame."""
        return self.sent(self.last(refused))


def _end_of_connect(refused: Refusal | None) -> bytes:
    data = json.dumps({} if refused is None else {"error": error_body(refused)}).encode()
    return _PREFIX.pack(_END_OF_CONNECT, len(data)) + data


def _end_of_web(refused: Refusal | None) -> bytes:
    data = trailers(refused)
    return _PREFIX.pack(_END_OF_WEB, len(data)) + data


def _connect(codec: Codec) -> Framing:
    return Framing(codec, "connect-content-encoding", "connect-timeout-ms", _end_of_connect, unary=False)


def _web(codec: Codec, text: bool = False) -> Framing:
    return Framing(codec, "grpc-encoding", "grpc-timeout", _end_of_web, text)


FRAMINGS = {
    "application/connect+json": _connect(JSON),
    "application/connect+proto": _connect(PROTOBUF),
    "application/grpc-web": _web(PROTOBUF),
    "application/grpc-web+proto": _web(PROTOBUF),
    "application/grpc-web+json": _web(JSON),
    "application/grpc-web-text": _web(PROTOBUF, text=True),
    "application/grpc-web-text+proto": _web(PROTOBUF, text=True),
}
"""The protocols of streams, by content type."""


class Frames:
    """The messages of a request in frames; ``most`` is the maximum size of a message in bytes."""

    def __init__(self, body: Body, framing: Framing, encoding: str, most: int) -> None:
        check_encoding(encoding)
        self._body, self._framing, self._encoding, self._most = body, framing, encoding, most
        self._data, self._text = bytearray(), b""

    async def read(self) -> Any:
        """Return the next message, decompressed; END after the last.

        Raises InvalidInputError for a frame that is wrong or too large, CancelledError if the client has left.
        """
        try:
            prefix = await self._take(_PREFIX.size)
            if prefix is None:
                return END
            flags, size = _PREFIX.unpack(prefix)
            if flags not in (0, _COMPRESSED):
                raise InvalidInputError(f"a frame has the flags {flags}; it must have 0, or 1 if it is compressed")
            if size > self._most:
                raise too_large(self._most)
            data = await self._take(size)
            if data is None:
                raise InvalidInputError("the body ends inside a frame")
            if not flags:
                return data
            if self._encoding != "gzip":
                raise InvalidInputError(f"a frame is compressed, but {self._framing.encoding} is not gzip")
            return await inflated_message(data, self._most, self._body.hold)
        finally:
            self._body.release()

    async def read_only(self) -> Any:
        """Return the only message, once the body has ended; END for none. Raises as ``read``, also for a second one."""
        message = await self.read()
        if message is not END and await self.read() is not END:
            raise InvalidInputError("the body has more than one message; this method takes one")
        return message

    async def _take(self, size: int) -> bytes | None:
        """Return so many bytes; None if the body ends before the first. Raises InvalidInputError if it ends later."""
        while len(self._data) < size:
            piece = await self._body.piece()
            if not piece:
                if self._data or self._text:
                    raise InvalidInputError("the body ends inside a frame")
                return None
            self._body.hold(len(piece))
            self._data += self._from_text(piece) if self._framing.text else piece
        data = bytes(self._data[:size])
        del self._data[:size]
        return data

    def _from_text(self, piece: bytes) -> bytes:
        """Return the bytes of a piece in base64, in which padding may end any group of four characters."""
        self._text += piece
        groups = self._text[: len(self._text) // 4 * 4]
        self._text = self._text[len(groups) :]
        try:
            return b"".join(
                binascii.a2b_base64(part + b"=" * (-len(part) % 4), strict_mode=True)
                for part in groups.split(b"=")
                if part
            )
        except binascii.Error as error:
            raise InvalidInputError(f"the body is not base64: {error}") from error
