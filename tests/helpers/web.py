"""Frames and raw requests of HTTP, as clients of other languages send them."""

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

SEARCH = "/crossview.v1.SearchService/Search"
STREAM = "/crossview.v1.SearchService/StreamSearch"
JSON = {"content-type": "application/json"}


def frame(data: bytes, flags: int = 0) -> bytes:
    return struct.pack(">BI", flags, len(data)) + data


def frames(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Return the flags and the data of each frame."""
    while body:
        flags, size = struct.unpack(">BI", body[:5])
        assert len(body) >= 5 + size
        yield flags, body[5 : 5 + size]
        body = body[5 + size :]


def json_frames(body: bytes) -> list[Any]:
    """Return the values of the frames of a Connect stream; the last ends it."""
    found = list(frames(body))
    assert [flags for flags, _ in found] == [0] * (len(found) - 1) + [2]
    return [json.loads(data) for _, data in found]


def trailers(body: bytes) -> tuple[list[bytes], dict[str, str]]:
    """Return the messages and the trailers of a response of gRPC-Web."""
    *messages, (flags, last) = frames(body)
    assert flags == 0x80
    lines = dict(line.split(": ", 1) for line in last.decode("ascii").split("\r\n") if line)
    return [data for _, data in messages], lines


def raw(port: int, data: bytes) -> bytes:
    """Return the answer of a server to bytes: a whole one, or the part before it closed the connection.

    Raises TimeoutError if it does neither.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        found = b""
        try:
            connection.sendall(data)
            while part := connection.recv(65536):
                found += part
                head, end, body = found.partition(b"\r\n\r\n")
                length = next((int(line[15:]) for line in head.split(b"\r\n") if line[:15] == b"content-length:"), None)
                if end and length is not None and len(body) >= length:
                    break
        except ConnectionError:
            pass
        return found
