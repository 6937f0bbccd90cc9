"""Free ports."""

import random
import socket
from contextlib import suppress

_LISTENING = 20_000, 32_000
"""Below the ports of outgoing connections, which would take that of a server while it is down."""


def free_port() -> int:
    """Return a port that no program uses now."""
    while True:
        port = random.SystemRandom().randrange(*_LISTENING)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def free_neighbors() -> int:
    """Return the first of two ports in a row that no program uses now."""
    while True:
        first = free_port()
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", first + 1))
            return first
