"""Messages without their end, in bare HTTP/2: connections that announce a large message, send most, and wait."""

import select
import socket
import struct
import time
from contextlib import ExitStack, suppress

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, HEADERS, SETTINGS, _PING, _WINDOW, _ACK = 0, 1, 4, 6, 8, 1
_ANNOUNCED, _FRAME, _WAIT = 60 * 2**20, 16_384, 10.0


def half_messages(address: str, path: str, megabytes: int, wait: float = _WAIT) -> int:
    """Send so much of messages of 60 MiB, each through a connection of its own; return the megabytes that were taken.

    The connections stay until all has been sent, or the server takes no more for ``wait`` seconds.
    """
    with ExitStack() as stack:
        halves = [Half(address, path, stack) for _ in range(max(1, megabytes * 2**20 // (_ANNOUNCED - _FRAME)))]
        last = time.monotonic()
        while time.monotonic() - last < wait and any(half.left for half in halves):
            if sum([half.push() for half in halves]):
                last = time.monotonic()
            else:
                time.sleep(0.01)
        return sum(_ANNOUNCED - half.left for half in halves) // 2**20


class Half:
    """A connection with one call, whose message lacks its end."""

    def __init__(self, address: str, path: str, stack: ExitStack) -> None:
        host, _, port = address.rpartition(":")
        self._socket = stack.enter_context(socket.create_connection((host, int(port)), timeout=5.0))
        self._received, self._room, self._room_of_stream = b"", 65_535, 65_535
        self.left = _ANNOUNCED - 1
        names = {":method": "POST", ":scheme": "http", ":path": path, ":authority": address}
        names |= {"te": "trailers", "content-type": "application/grpc"}
        block = b"".join(b"\0" + encoded_text(name) + encoded_text(value) for name, value in names.items())
        self._send(PREFACE + frame(SETTINGS) + frame(HEADERS, block, 4, 1))
        self._send_data(struct.pack(">BI", 0, _ANNOUNCED))

    def push(self) -> int:
        """Send as much as the server has room for; return how many bytes."""
        self._listen()
        size = min(self.left, self._room, self._room_of_stream, _FRAME)
        if size <= 0:
            return 0
        self.left -= size
        self._send_data(bytes(size))
        return size

    def _send_data(self, data: bytes) -> None:
        self._room -= len(data)
        self._room_of_stream -= len(data)
        self._send(frame(_DATA, data, 0, 1))

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:  # the server has ended the connection, as it may
            self.left = 0

    def _listen(self) -> None:
        while self.left and select.select([self._socket], [], [], 0)[0]:
            with suppress(OSError):
                data = self._socket.recv(65_536)
                self._received += data
                if data:
                    continue
            self.left = 0
        while len(self._received) >= 9 + (size := int.from_bytes(self._received[:3])):
            kind, flags, stream = struct.unpack(">BBI", self._received[3:9])
            self._take(kind, flags, stream, self._received[9 : 9 + size])
            self._received = self._received[9 + size :]

    def _take(self, kind: int, flags: int, stream: int, data: bytes) -> None:
        """Return the requests of the server: acknowledgements, and how much it accepts."""
        if kind in (SETTINGS, _PING) and not flags & _ACK:
            if kind == SETTINGS:
                settings = dict(struct.iter_unpack(">HI", data))
                self._room_of_stream += settings.get(4, 65_535) - 65_535
            self._send(frame(kind, b"" if kind == SETTINGS else data, _ACK))
        elif kind == _WINDOW:
            room = int.from_bytes(data) & 0x7FFFFFFF
            if stream:
                self._room_of_stream += room
            else:
                self._room += room


def frame(kind: int, data: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    """Return a frame of HTTP/2."""
    return len(data).to_bytes(3) + struct.pack(">BBI", kind, flags, stream) + data


def encoded_text(text: str) -> bytes:
    """Return a short text as HPACK writes it."""
    return bytes([len(text)]) + text.encode()
