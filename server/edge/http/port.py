"""The port for HTTP: uvicorn in the server's event loop, with limits for each connection."""

import asyncio
import json
import logging
import socket
import ssl
from contextlib import suppress
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crossview.engine.values.errors import StorageError
from crossview.server.core.exposure import is_loopback

_HEAD_BYTES = 16 * 1024
"""Maximum size of the headers of a request, and of further bytes outside a body."""
_HEAD_SECONDS, _IDLE_SECONDS, _UNREAD_SECONDS = 10.0, 60, 60.0
"""Maximum time of the headers; of a connection between two requests; of a response that the client does not read."""
_END_SECONDS = 5.0
"""Maximum time in which the connections end once they are cut off."""
_MOST_AHEAD = 16
"""Maximum number of requests that a connection sends before the response to the first."""
_WAITING = 2048
"""Maximum number of connections that wait to be accepted."""
_FIELD_COST = 64
"""Bytes by which a header counts more than its text."""


_TLS_ONLY = ("strict-transport-security", f"max-age={365 * 86_400}")
"""The header by which a browser uses TLS from now on."""
_HTTP_2 = b"PRI * HTTP/2.0"
"""The first bytes of a connection of HTTP/2."""
_OF_UPGRADE = (b"upgrade", b"connection", b"http2-settings")
"""The headers that offer another protocol."""


class TooMuchError(Exception):
    """A connection exceeds a limit; the parser reports it as a wrong request."""


class AmbiguousError(Exception):
    """Two programs could read different requests from the same bytes; the parser reports it as a wrong request."""


class Parser:
    """A parser of requests that ignores offers of other protocols, as curl and Java make with a POST.

    The parser of uvicorn takes what follows such an offer for the other protocol, and so loses the body. This one reads
    the head again, without the offer, and then the body.
    """

    def __init__(self, connection: "Connection") -> None:
        self._connection, self._parser = connection, httptools.HttpRequestParser(connection)

    def feed_data(self, data: bytes) -> None:
        """Parse bytes; see httptools."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            method, url = self._parser.get_method(), self._connection.url
            headers = [pair for pair in self._connection.headers if pair[0] not in _OF_UPGRADE]
            if any(map(_closes, self._connection.headers)):
                headers.append((b"connection", b"close"))
            lines = [b"%s %s HTTP/1.1" % (method, url), *(b"%s: %s" % pair for pair in headers)]
            self._parser = httptools.HttpRequestParser(self._connection)
            self._parser.feed_data(b"\r\n".join([*lines, b"", b""]))
            if rest := data[offer.args[0] :]:
                self.feed_data(rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)


def _closes(header: tuple[bytes, bytes]) -> bool:
    """Return whether a header asks that the connection closes after the answer, perhaps beside an offer."""
    name, value = header
    return name == b"connection" and b"close" in map(bytes.strip, value.lower().split(b","))


class Connection(HttpToolsProtocol):
    """A connection of HTTP/1.1, with limits of its headers, its time, and its requests in advance."""

    most = 1
    """Maximum number of connections; further ones are closed at once."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._idle_bytes = self._fields = 0
        """Bytes since the last progress, and bytes of the headers and trailers of the request."""
        self._cycles: list[Any] = []
        """The requests without a whole response: uvicorn tells only the last one that the client has left."""
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self.parser: Any = Parser(self)

    def connection_made(self, transport: Any) -> None:
        """See ``asyncio.Protocol``."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol``."""
        for timer in (self._head, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self.pipeline.clear()
        for cycle in self._cycles:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``."""
        if self.transport.is_closing():
            return
        self._idle_bytes += len(data)
        if self.cycle is None and data.startswith(_HTTP_2):
            self.send_400_response("This port speaks HTTP/1.1: do not begin with HTTP/2.")
            return
        super().data_received(data)
        if self._idle_bytes > _HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")
        if self.cycle is None or self.cycle.response_complete:
            self._limit_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be read, in the form of other refusals, and close the connection."""
        body = json.dumps({"code": "invalid_argument", "message": msg}).encode()
        further = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        lines = [b"%s: %s" % pair for pair in [*self.server_state.default_headers, *further]]
        self.transport.write(b"\r\n".join([b"HTTP/1.1 400 Bad Request", *lines, b"", body]))
        self.transport.close()

    def _limit_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _progress(self) -> None:
        self._idle_bytes = 0

    def on_message_begin(self) -> None:
        """Start a request."""
        self._fields = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Add to the address of the request."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header, or a trailer behind a body."""
        self._count(len(name) + len(value) + _FIELD_COST)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._fields += size
        if self._fields > _HEAD_BYTES:
            raise TooMuchError("the headers are too large")

    def on_headers_complete(self) -> None:
        """Start the answer to a request."""
        if self.parser.should_upgrade():
            return  # the parser reads the head again
        self._check_head()
        if len(self.pipeline) >= _MOST_AHEAD:
            raise TooMuchError("too many requests before the response to the first")
        if self._head is not None:
            self._head.cancel()
            self._head = None
        self._progress()
        super().on_headers_complete()
        self._cycles = [*(cycle for cycle in self._cycles if not cycle.response_complete), self.cycle]

    def _check_head(self) -> None:
        names = [name for name, _ in self.headers]
        if names.count(b"host") > 1:
            raise AmbiguousError("two headers name the host")
        if any(name == b"transfer-encoding" and value.strip().lower() != b"chunked" for name, value in self.headers):
            raise AmbiguousError("the body has an encoding of transfer other than chunked")

    def on_body(self, body: bytes) -> None:
        """Add to the body."""
        self._progress()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the body."""
        if self.parser.should_upgrade():
            return
        self._progress()
        super().on_message_complete()

    def pause_writing(self) -> None:
        """See ``asyncio.Protocol``; close the connection if its client does not read."""
        super().pause_writing()
        self._unread = self.loop.call_later(_UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """See ``asyncio.Protocol``."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()


class HttpPort:
    """A listening port for HTTP, in the running event loop. Raises StorageError if it cannot listen.

    Args:
        app: the ASGI application.
        host, port: the address; port 0 selects a free port.
        connections: maximum number of connections.
        tls: the certificate; None without TLS.
    """

    def __init__(self, app: Any, host: str, port: int, connections: int, tls: ssl.SSLContext | None = None) -> None:
        self._socket = listening_socket(host, port)
        self.port: int = self._socket.getsockname()[1]
        """The port on which it listens."""
        protocol = type("LimitedConnection", (Connection,), {"most": connections})
        config = uvicorn.Config(
            app,
            http=protocol,
            loop="none",  # the event loop of the server already runs
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.ERROR,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
            # On this machine it would bind the browser for the ports of other programs, too.
            headers=[] if tls is None or is_loopback(host) else [_TLS_ONLY],
        )
        config.load()
        config.ssl = tls
        self._server = uvicorn.Server(config)
        self._serving = asyncio.get_running_loop().create_task(self._server.serve(sockets=[self._socket]))

    async def stop(self, seconds: float) -> None:
        """Accept no further connections, and return when all requests are answered, or cut off after ``seconds``."""
        self._server.should_exit = True
        await asyncio.wait({self._serving}, timeout=seconds)
        for connection in list(self._server.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.wait({self._serving}, timeout=_END_SECONDS)
        self._serving.cancel()  # a connection in its TLS handshake would hold it
        with suppress(asyncio.CancelledError):
            await self._serving
        self._socket.close()  # uvicorn does not if it ends before it began


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket that other processes of this user can share; raise StorageError if it cannot be bound."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections do not hold the port
        bound.bind((host.strip("[]"), port))
        bound.listen(_WAITING)  # connections wait until the event loop accepts them
    except OSError as error:
        bound.close()
        raise StorageError(f"cannot listen on {host}:{port} for HTTP; is another program using the port?") from error
    bound.setblocking(False)
    return bound
