"""The channel between a server and one of its worker processes: messages with tags, in both directions.

The server sends REQUEST with a request, STOP with the Status that the work must end with, and END. The process sends
PROGRESS with a JobMetadata.Progress, STAGES with a StringValue of JSON, and at the end RESPONSE with the response of
the method, as an Any, or ERROR with a Status. A closed channel means that the other process has ended.
"""

import threading
from multiprocessing.connection import Connection

from google.protobuf.message import Message

REQUEST, STOP, END = b"R", b"S", b"E"
PROGRESS, STAGES, RESPONSE, ERROR = b"P", b"T", b"D", b"F"


class Channel:
    """One end of a channel. Several threads may call ``send``; one thread may call ``receive``."""

    def __init__(self, connection: "Connection[bytes, bytes]") -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, tag: bytes, message: Message | None = None) -> None:
        """Send a message; raise EOFError if the other process has ended."""
        body = b"" if message is None else message.SerializeToString()
        try:
            with self._sending:
                self._connection.send_bytes(tag + body)
        except OSError as error:
            raise EOFError from error

    def receive(self, seconds: float | None = None) -> tuple[bytes, bytes] | None:
        """Return the tag and body of the next message, or None after ``seconds``; raise EOFError as ``send`` does."""
        try:
            if not self._connection.poll(seconds):
                return None
            received = self._connection.recv_bytes()
        except OSError as error:  # the connection was reset
            raise EOFError from error
        return received[:1], received[1:]

    def close(self) -> None:
        """Close this end."""
        self._connection.close()
