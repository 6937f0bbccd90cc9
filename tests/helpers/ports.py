"""Free ports."""

import socket


def free_port() -> int:
    """A port that no program uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
