"""Everything that a server can be configured with, as one value."""

import math
from dataclasses import dataclass
from pathlib import Path

from crossview.engine.errors import InvalidInputError
from crossview.features.pictures import PictureLimits

MESSAGE_BYTES = 64 * 2**20
"""Size of the largest message that is received or sent; a camera's photograph fits."""
_RANGES = {
    "port": (0, 65_535),
    "health_port": (1, 65_535),
    "connections": (1, math.inf),
    "workers": (1, math.inf),
    "max_megapixels": (0.01, math.inf),
    "threads": (1, math.inf),
    "writers": (1, math.inf),
    "waiting": (1, math.inf),
    "calls": (1, math.inf),
    "entries": (1, math.inf),
    "flight_bytes": (1, math.inf),
    "queries": (1, math.inf),
    "hits": (1, math.inf),
    "answer_bytes": (1, math.inf),
    "processes": (1, math.inf),
    "jobs": (1, math.inf),
    "message_bytes": (1, 2**31 - 1),
    "grace_seconds": (0.0, math.inf),
    "answer_seconds": (0.0, math.inf),
    "deletion_seconds": (0.0, math.inf),
    "idle_seconds": (0.0, math.inf),
    "silent_seconds": (0.01, math.inf),
}
_OPTIONAL = ("health_port", "connections")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The settings of a server; raises InvalidInputError for a value that cannot be used."""

    home: Path | None = None
    """Folder of the collections; None: $CROSSVIEW_HOME, or ~/.crossview."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 50051
    """0 takes a free port."""
    health_port: int | None = None
    """Port that answers for health alone, whatever goes on at the other one; None for none."""
    connections: int | None = None
    """Connections at once; further ones are closed at once. None: as many as half of the descriptors allow."""
    workers: int = 1
    """Processes that read the pictures of queries and imports."""
    max_megapixels: float = 25.0
    """Larger pictures are refused."""
    threads: int = 4
    """Calls of one kind, such as searches, that are answered at once; further ones wait."""
    writers: int = 4
    """Writing calls that are prepared at once; their commits take turns."""
    waiting: int = 128
    """Calls of one kind that wait; further ones are refused at once."""
    calls: int = 2048
    """Calls of all kinds, streams as well; further ones are refused by gRPC itself."""
    jobs: int = 1
    """Jobs carried out at once, such as trainings, each in a process of its own; further ones wait."""
    message_bytes: int = MESSAGE_BYTES
    """Size of the largest message received or sent."""
    entries: int = 500_000
    """Most values of one request, such as items, labels, attributes and rows, those inside others too."""
    flight_bytes: int = 4 * MESSAGE_BYTES
    """Size of all requests under way; a further one is refused."""
    queries: int = 10_000
    """Most queries of one request."""
    hits: int = 100_000
    """Most hits that one request may ask for: queries, times k, times the targets that it names."""
    answer_bytes: int = MESSAGE_BYTES // 2
    """Size of what the hits of one search may show: keys, labels, attributes and texts."""
    processes: int = 1
    """Processes that share the port, each with its own indexes in memory; a connection stays with one of them."""
    load: tuple[str, ...] = ()
    """Collections that are loaded at the start; until then, health reports NOT_SERVING."""
    log_requests: bool = False
    """Whether each call has a line in the log."""
    grace_seconds: float = 10.0
    """How long calls under way may continue when the server stops."""
    answer_seconds: float = 2.0
    """How long, after that, the calls that were given up have to answer that the server stopped."""
    deletion_seconds: float = 30.0
    """How long the deletion of a collection waits for the calls that use it."""
    idle_seconds: float = 900.0
    """How long a collection that no call uses stays open, with its indexes in memory."""
    silent_seconds: float = 300.0
    """Seconds that a stream may be silent while nothing that it has sent is under way; then the server ends it."""

    @property
    def picture_limits(self) -> PictureLimits:
        """What a picture may take."""
        return PictureLimits(pixels=round(self.max_megapixels * 1e6))

    def __post_init__(self) -> None:
        if not self.host:
            raise InvalidInputError("the server's host is empty: give the address to listen on, such as 127.0.0.1")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is None and name in _OPTIONAL:
                continue
            number = int if isinstance(least, int) else int | float
            if not isinstance(value, number) or not least <= value <= most or value == math.inf:
                limits = f"from {least} to {most}" if most < math.inf else f"of at least {least:g}"
                kind = "whole number" if number is int else "number"
                raise InvalidInputError(f"the server's {name} is {value!r}; it must be a {kind} {limits}")
