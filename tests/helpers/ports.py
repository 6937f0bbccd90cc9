"""Free ports."""

import socket
from contextlib import suppress


def free_port() -> int:
    """Return a port that no program uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_neighbors() -> int:
    """Return the first of two ports in a row that no program uses now."""
    while True:
        first = free_port()
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", first + 1))
            return first
