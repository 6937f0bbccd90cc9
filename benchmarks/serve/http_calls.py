"""One connection of HTTP/1.1 that posts bodies and reads whole answers: as little of a client as there can be."""

import asyncio
import re
from typing import Self

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class HttpConnection:
    """A lasting connection to HOST:PORT; ``path`` is that of every request, ``key`` the key of the caller, if any."""

    def __init__(self, address: str, path: str, key: str = "") -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        header = f"authorization: Bearer {key}\r\n" if key else ""
        self._head = f"POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{header}".encode()

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def post(self, body: bytes) -> int:
        """Send a request and return the status of its answer, once all of the answer is there."""
        self._writer.write(self._head + b"content-length: %d\r\n\r\n" % len(body) + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if length is None:
            raise RuntimeError(f"an answer without its length: {head!r}")
        await self._reader.readexactly(int(length[1]))
        return int(head[9:12])
