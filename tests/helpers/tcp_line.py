"""A line between a client and a server, over TCP on loopback, that can be slow or fall silent."""

import socket
import threading
import time
from contextlib import suppress
from typing import Self

_BYTES = 1 << 16


class TcpLine:
    """Forwards each connection to a port, until it is closed."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.delay = 0.0
        """Seconds that everything takes in each direction."""
        self.passing = threading.Event()
        """Cleared, it forwards nothing and closes nothing."""
        self.passing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.passing.set()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                one, _ = self._listening.accept()
                other = socket.create_connection(("127.0.0.1", self._to))
                for pair in ((one, other), (other, one)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(_BYTES):
                time.sleep(self.delay)
                self.passing.wait()
                sink.sendall(content)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
