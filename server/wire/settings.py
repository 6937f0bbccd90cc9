"""The settings of a server, as one value."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from crossview.engine.values.errors import InvalidInputError
from crossview.features.pictures import PictureLimits

MESSAGE_BYTES = 64 * 2**20
"""Default for the maximum size of a message; a photograph of a camera fits."""
LOG_FORMATS = ("text", "json")
"""The formats of a server's logs."""
THUMBNAILS_AT_ONCE = 500
"""Maximum number of thumbnails of one call."""
_RANGES = {
    "port": (0, 65_535),
    "health_port": (1, 65_535),
    "admin_port": (1, 65_535),
    "http_port": (0, 65_535),
    "connections": (1, math.inf),
    "workers": (1, math.inf),
    "max_megapixels": (0.01, math.inf),
    "threads": (1, math.inf),
    "writers": (1, math.inf),
    "waiting": (1, math.inf),
    "calls": (1, math.inf),
    "entries": (1, math.inf),
    "flight_bytes": (1, math.inf),
    "key_rate": (0.01, math.inf),
    "key_bytes": (1, math.inf),
    "queries": (1, math.inf),
    "hits": (1, math.inf),
    "answer_bytes": (1, math.inf),
    "processes": (1, math.inf),
    "jobs": (1, math.inf),
    "message_bytes": (1, 2**31 - 1),
    "slow_ms": (0.0, math.inf),
    "trace_ratio": (0.0, 1.0),
    "grace_seconds": (0.0, math.inf),
    "answer_seconds": (0.0, math.inf),
    "deletion_seconds": (0.0, math.inf),
    "idle_seconds": (0.0, math.inf),
    "silent_seconds": (0.01, math.inf),
}
_COLLECTOR = re.compile(r"https?://[^/\s]\S*")
_ORIGIN = re.compile(r"https?://[^/\s]+")
_OPTIONAL = ("health_port", "http_port", "admin_port", "connections", "key_rate", "key_bytes", "slow_ms")


@dataclass(frozen=True)
class TlsFiles:
    """The files of a server's certificate, in PEM.

    ``cert`` contains the certificate and those of its issuers, ``key`` its private key without a password. With
    ``client_ca``, clients must show a certificate of one of the authorities in this file.
    """

    cert: Path
    key: Path
    client_ca: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The settings of a server. Raises InvalidInputError for a value of a wrong type or out of range."""

    home: Path | None = None
    """Folder of the collections [default: $CROSSVIEW_HOME, or ~/.crossview]."""
    bundle: str | None = None
    """Address of published bundles, to serve published collections instead of those of the home."""
    engine: str | None = None
    """Address of the engine with the items of published collections."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 50051
    """Port to listen on; 0 selects a free port."""
    socket: Path | None = None
    """Unix-domain socket to listen on as well; only this user can use it [default: no socket]."""
    tcp: bool = True
    """Whether gRPC listens on the port; without it, gRPC listens on the socket alone."""
    tls_cert: Path | None = None
    """Certificate of the server with those of its issuers, in PEM; the server loads changed files [default: no TLS]."""
    tls_key: Path | None = None
    """Private key of the certificate, in PEM, without a password."""
    tls_client_ca: Path | None = None
    """Authorities in PEM; clients must show a certificate of one of them [default: clients need none]."""
    insecure: bool = False
    """Whether the server may listen without TLS on an address that the network can reach."""
    health_port: int | None = None
    """Separate port for health checks, independent of the load on the main port [default: no separate port]."""
    http_port: int | None = None
    """Port for calls over HTTP as JSON, Connect and gRPC-Web; 0 selects a free port [default: no such port]."""
    http_origins: tuple[str, ...] = ()
    """Origins, such as https://example.org, whose pages may call the HTTP port from a browser; "*": every origin."""
    web: bool = False
    """Whether the HTTP port serves pages for people; without another port, a free one."""
    admin_port: int | None = None
    """Separate HTTP port for metrics and health; each further process uses the next port [default: no such port]."""
    admin_host: str = "127.0.0.1"
    """Address of the port for metrics."""
    connections: int | None = None
    """Maximum number of connections; the server closes further ones [default: half of the descriptors]."""
    workers: int = 1
    """Number of processes that read the pictures of queries and imports."""
    device: str | None = None
    """Device that runs the models of views: cpu or cuda [default: $CROSSVIEW_DEVICE, or cpu]."""
    max_megapixels: float = 25.0
    """Maximum megapixels of a picture; the server refuses larger ones."""
    threads: int = 4
    """Number of threads for each kind of call, such as searches; further calls wait."""
    writers: int = 4
    """Maximum number of concurrent writing calls; their commits take turns."""
    waiting: int = 128
    """Maximum number of waiting calls of each kind; the server refuses further ones."""
    calls: int = 2048
    """Maximum number of calls of all kinds, including streams; gRPC itself refuses further ones."""
    jobs: int = 1
    """Maximum number of running jobs, such as trainings, each in its own process; further ones wait."""
    message_bytes: int = MESSAGE_BYTES
    """Maximum size of a received or sent message."""
    entries: int = 500_000
    """Maximum number of values in one request, such as items, labels, attributes and rows, including nested ones."""
    flight_bytes: int = 4 * MESSAGE_BYTES
    """Maximum memory of the requests that arrive or are in progress, decoded; the server refuses further ones."""
    key_rate: float | None = None
    """Maximum number of requests a second of one key; callers without a key share one limit [default: no limit]."""
    key_bytes: int | None = None
    """Maximum memory of the requests of one key in progress; callers without a key share it [default: no limit]."""
    queries: int = 10_000
    """Maximum number of queries in one request."""
    hits: int = 100_000
    """Maximum number of hits of one request: queries x k x named targets."""
    answer_bytes: int = MESSAGE_BYTES // 2
    """Maximum size of the content of an answer: keys, labels, attributes and texts of hits, and vectors of queries."""
    processes: int = 1
    """Number of processes that share the port, each with its own indexes in memory; one process serves a connection."""
    load: tuple[str, ...] = ()
    """Collections to load at the start; health reports NOT_SERVING until they are loaded."""
    require_keys: bool = False
    """Whether callers need a key even if the home has had none; a home with keys always requires them."""
    audit_log: Path | None = None
    """File to which the server appends a line of JSON for each change [default: the logger crossview.audit only]."""
    take_over: bool = False
    """Whether to replace the server of this home at the port: it stops once this one has loaded its collections."""
    log_requests: bool = False
    """Whether to log a line for each call."""
    log_format: str = "text"
    """Format of the log: "text", or "json" for one JSON object a line."""
    slow_ms: float | None = None
    """Time in milliseconds above which a call is logged with its stages and sizes [default: no such log]."""
    trace_url: str | None = None
    """Address of a collector for traces (OTLP over HTTP), such as http://localhost:4318 [default: no collector]."""
    trace_file: Path | None = None
    """File to which the server appends traces, one JSON object for each span [default: no file]."""
    trace_ratio: float = 1.0
    """Share of the traces that begin at this server to record; calls inside a trace follow its flag."""
    grace_seconds: float = 10.0
    """Time that calls in progress have to end when the server stops."""
    answer_seconds: float = 2.0
    """Time after the grace period in which abandoned calls report that the server stopped."""
    deletion_seconds: float = 30.0
    """Maximum time that the deletion of a collection waits for the calls that use it."""
    idle_seconds: float = 900.0
    """Time after which the server closes an unused collection, with its indexes."""
    silent_seconds: float = 300.0
    """Time of silence after which the server ends a stream whose messages are all answered."""

    @property
    def picture_limits(self) -> PictureLimits:
        """The limits of a picture."""
        return PictureLimits(pixels=round(self.max_megapixels * 1e6))

    @property
    def listens(self) -> bool:
        """Whether the server answers calls on a port, over gRPC or HTTP."""
        return self.tcp or self.http_port is not None

    @property
    def tls(self) -> TlsFiles | None:
        """The files of the certificate; None without TLS."""
        if self.tls_cert is None or self.tls_key is None:
            return None
        return TlsFiles(self.tls_cert, self.tls_key, self.tls_client_ca)

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidInputError("TLS needs a certificate and its key: give both tls_cert and tls_key")
        if self.tls_client_ca is not None and self.tls is None:
            raise InvalidInputError("tls_client_ca is for a server with TLS: give tls_cert and tls_key as well")
        if self.socket is None and not self.tcp:
            raise InvalidInputError("the server has nothing to listen on: give a socket, or allow tcp")
        if self.socket is not None and self.processes > 1:
            raise InvalidInputError(
                f"one process listens on a socket, not {self.processes}: give a socket or processes"
            )
        if not self.host:
            raise InvalidInputError("the server's host is empty: give the address to listen on, such as 127.0.0.1")
        if not self.admin_host:
            raise InvalidInputError("the server's admin_host is empty: give an address, such as 127.0.0.1")
        if self.log_format not in LOG_FORMATS:
            raise InvalidInputError(f"the server's log_format is {self.log_format!r}; it must be text or json")
        if self.trace_url is not None and not _COLLECTOR.fullmatch(self.trace_url):
            raise InvalidInputError(
                f"the server's trace_url is {self.trace_url!r}; it must be an address such as http://localhost:4318"
            )
        for name in _RANGES:
            check_range(name, getattr(self, name))
        self._check_published()
        self._check_origins()
        if self.web:
            self._check_web()
        self._check_ports()

    def _check_published(self) -> None:
        if (self.bundle is None) != (self.engine is None):
            raise InvalidInputError("published collections are in a bundle and an engine: give both bundle and engine")
        if self.bundle is not None and self.web:
            raise InvalidInputError("the pages need the catalog of a collection: leave web out, or bundle and engine")

    def _check_origins(self) -> None:
        """Raise InvalidInputError for an origin that no browser sends."""
        for origin in self.http_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise InvalidInputError(
                    f"the origin {origin!r} is not one: write the scheme, the host and its port if it has one, such as "
                    "https://example.org or http://localhost:8000"
                )

    def _check_web(self) -> None:
        """Choose a port for pages; raise InvalidInputError if the server has several processes."""
        if self.processes > 1:
            raise InvalidInputError(
                f"pages keep their sessions in one process, not in {self.processes}: leave out web or processes"
            )
        if self.http_port is None:
            object.__setattr__(self, "http_port", 0)

    def _check_ports(self) -> None:
        """Raise InvalidInputError for equal ports, and for processes without a port for administrators."""
        if self.admin_port is not None and self.admin_port + self.processes - 1 > _RANGES["admin_port"][1]:
            raise InvalidInputError(
                f"the server's admin_port is {self.admin_port}, and each of {self.processes} processes needs a port of "
                "its own, from there: choose a smaller one"
            )
        admin = [] if self.admin_port is None else [self.admin_port + number for number in range(self.processes)]
        ports = [port for port in (self.tcp and self.port, self.http_port, self.health_port, *admin) if port]
        if len(set(ports)) < len(ports):
            raise InvalidInputError(
                f"two ports of the server are equal ({', '.join(map(str, sorted(ports)))}): change one"
            )


def check_range(name: str, value: object) -> None:
    """Raise InvalidInputError if a setting has a range, and a value is not in it."""
    if name not in _RANGES or (value is None and name in _OPTIONAL):
        return
    least, most = _RANGES[name]
    number = int if isinstance(least, int) else int | float
    if not isinstance(value, number) or not least <= value <= most or value == math.inf:
        limits = f"from {least} to {most}" if most < math.inf else f"of at least {least:g}"
        kind = "whole number" if number is int else "number"
        raise InvalidInputError(f"the server's {name} is {value!r}; it must be a {kind} {limits}")
