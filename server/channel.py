"""The channel between a server and a process that works for it: tagged messages, both ways.

The server sends REQUEST with what is to be done, STOP with the Status to end with, and END. The process sends PROGRESS
with a JobMetadata.Progress, and at the end RESPONSE with what the method responds with, as an Any, or ERROR with a
Status. Who finds the channel closed knows that the other is gone.
"""

import threading
from multiprocessing.connection import Connection

from google.protobuf.message import Message

REQUEST, STOP, END = b"R", b"S", b"E"
PROGRESS, RESPONSE, ERROR = b"P", b"D", b"F"


class Channel:
    """One end of a channel; ``send`` may be called from several threads, ``receive`` from one."""

    def __init__(self, connection: "Connection[bytes, bytes]") -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, tag: bytes, message: Message | None = None) -> None:
        """Send a message; raise EOFError if the other end is gone."""
        body = b"" if message is None else message.SerializeToString()
        try:
            with self._sending:
                self._connection.send_bytes(tag + body)
        except OSError as error:
            raise EOFError from error

    def receive(self, seconds: float | None = None) -> tuple[bytes, bytes] | None:
        """Return the tag and body of the next message, None after ``seconds``; raise EOFError as ``send`` does."""
        try:
            if not self._connection.poll(seconds):
                return None
            received = self._connection.recv_bytes()
        except OSError as error:  # a connection that is reset
            raise EOFError from error
        return received[:1], received[1:]

    def close(self) -> None:
        """Close this end."""
        self._connection.close()
