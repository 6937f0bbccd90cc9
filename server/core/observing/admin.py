"""The port for administrators: metrics and health over HTTP, in threads that the load of calls does not reach."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6, SO_REUSEPORT, SOL_SOCKET, socket
from socketserver import TCPServer
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from crossview.engine.values.errors import StorageError
from crossview.server.core.exposure import is_known_host, is_loopback

_AT_ONCE, _SECONDS = 16, 10.0
"""Maximum number of connections, and maximum time in seconds in which one may be silent."""
_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"


class AdminPort:
    """A port that answers ``/metrics`` and ``/stats`` from a registry, ``/healthz`` while it runs, and ``/readyz``.

    ``/stats`` has the values of ``/metrics`` as JSON, for programs without a parser of Prometheus's text.
    ``ready`` returns whether the server serves. Raises StorageError if the port cannot be opened.
    """

    registry: CollectorRegistry

    def __init__(self, host: str, port: int, registry: CollectorRegistry, ready: Callable[[], bool]) -> None:
        self.registry, self.ready = registry, ready
        self.names: frozenset[str] | None = frozenset() if is_loopback(host) else None
        """The names of hosts, besides loopback addresses, that requests may name; None: any."""
        try:
            self._server = _Server(host, port, self)
        except OSError as error:
            raise StorageError(
                f"cannot listen on {host}:{port} for administrators; is another program using the port?"
            ) from error
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="admin", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def page(self, path: str) -> tuple[int, str, bytes]:
        """Return the status, the type and the content of a page."""
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest(self.registry)
        if path == "/stats":
            return 200, _JSON, json.dumps(samples(self.registry)).encode()
        if path == "/healthz":
            return 200, _TEXT, b"ok\n"
        if path == "/readyz":
            return (200, _TEXT, b"ready\n") if self.ready() else (503, _TEXT, b"not ready\n")
        return 404, _TEXT, b"the pages are /metrics, /stats, /healthz and /readyz\n"


def samples(registry: CollectorRegistry) -> list[dict[str, Any]]:
    """Return every value of a registry with its name and labels."""
    return [
        {"name": sample.name, "labels": dict(sample.labels), "value": sample.value}
        for family in registry.collect()
        for sample in family.samples
    ]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, admin: AdminPort) -> None:
        self.address_family = AF_INET6 if ":" in host else AF_INET
        self.admin = admin
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind the socket without looking up a name, which can take long."""
        self.socket.setsockopt(SOL_SOCKET, SO_REUSEPORT, 1)  # for the server that replaces this one
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread; close it at once if too many are open."""
        if self._places.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except BaseException:  # no thread can start
                self._places.release()
                raise
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, and free its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: socket | Any, client_address: Any) -> None:
        """Ignore a connection that broke."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SECONDS
    server_version, sys_version = "crossview", ""

    def do_GET(self) -> None:
        """Send a page."""
        self._send(with_body=True)

    def do_HEAD(self) -> None:
        """Send the headers of a page."""
        self._send(with_body=False)

    def _send(self, with_body: bool) -> None:
        admin = self.server.admin
        if is_known_host(self.headers.get("host", ""), admin.names):
            status, kind, body = admin.page(self.path.partition("?")[0])
        else:
            status, kind, body = 403, _TEXT, b"this port does not answer for another host\n"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write no log: monitors ask every few seconds."""
