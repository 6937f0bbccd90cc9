"""Malformed requests over HTTP are refused: no fault of the server, no traceback, and the memory stays."""

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from long_jobs import until
from seeds import seed_of
from web import JSON, SEARCH, STREAM, frame, raw

from crossview.engine.collections.home import Home
from crossview.server.edge.http import body, port
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.methods import METHODS
from crossview.server.wire.settings import ServerSettings

MOST_GROWTH = 100_000_000
TYPES = (
    *("application/json", "application/proto", "application/connect+json", "application/connect+proto"),
    *("application/grpc-web", "application/grpc-web-text", "application/grpc-web+json", "text/plain", "", "\xff"),
    *("multipart/form-data; boundary=b", "multipart/form-data", "multipart/form-data; boundary=" + "b" * 300),
)
PATHS = (
    *METHODS,
    "/v1/collections/drawn:search",
    "/v1/collections/%00:search",
    "/health",
    "/openapi.json",
    "/",
    "/%ff",
)
BODIES: tuple[bytes, ...] = (
    *(b"", b"{", b"{}", b"[]", b"null", b"1e999", b'"', b"\xff\xfe", b"[" * 30_000, b'{"a":' * 20_000, b"0" * 50_000),
    *(b'{"parent":"collections/drawn"}', b'{"parent":"../..","queries":[{}]}', b'{"parent":"\\ud800"}'),
    b'{"parent":"collections/drawn","k":60000,"queries":[{"view":"color","vector":{"values":[1,2]}}]}',
    *(
        frame(b"{}"),
        frame(b"{}", 1),
        frame(b"{}", 0x80),
        frame(b"{}")[:4],
        b"\0\xff\xff\xff\xff",
        b"AAAAAAA=",
        b"=" * 999,
    ),
    b'--b\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\nnot a picture\r\n--b--\r\n',
    b'--b\r\ncontent-disposition: form-data; name="k"\r\n\r\n' + b"9" * 5_000 + b"\r\n--b--\r\n",
    *(b"--b\r\n" + b"a: b\r\n" * 100, b"--b\r\n\r\n\r\n" * 500, b"--b--", b"--b\r\n" + b"x" * 5_000),
)
HEADERS: tuple[bytes, ...] = (
    *(b"", b"", b"", b"content-encoding: gzip", b"content-encoding: br", b"connect-timeout-ms: -1"),
    *(
        b"connect-content-encoding: gzip",
        b"grpc-encoding: deflate",
        b"grpc-timeout: 1X",
        b"connect-protocol-version: 9",
    ),
    *(b"expect: 100-continue", b"upgrade: websocket\r\nconnection: upgrade", b"origin: null", b"x: \x01", b"x" * 3_000),
    *(b"transfer-encoding: chunked", b"content-length: 5", b"content-length: -1", b"host: evil.example", b"a\0b: c"),
)
RAW: tuple[bytes, ...] = (
    *(b"\r\n" * 100_000, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", b"\0" * 1_000),
    *(
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ),
    *(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 30_000 + b"\r\n"),
    *(b"GET / HTTP/1.1\r\nx: " + b"y" * 1_000_000, b"GET http://[ HTTP/1.1\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n"),
    b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;" + b"e" * 100_000,
    b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + b"t: u\r\n" * 30_000,
    b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 2_000,
)


@pytest.fixture
def victim(home: Home, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """A server that soon ends silent connections; at its end, it had logged no error of its own."""
    monkeypatch.setattr(body, "_WHOLE_SECONDS", 1.0)
    monkeypatch.setattr(port, "_HEAD_SECONDS", 1.0)
    settings = ServerSettings(home=home.path, port=0, http_port=0, connections=40, silent_seconds=1.0)
    with RunningServer(settings) as running:
        yield running
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


def memory() -> int:
    """Return the resident bytes of this process, which is also the server's."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def request(random_: random.Random) -> bytes:
    """Return any of the paths with any of the types, headers and bodies."""
    content = random_.choice(BODIES)
    verb = random_.choice((b"POST", b"POST", b"POST", b"POST", b"GET", b"PUT", b"HEAD"))
    head = [
        verb + b" " + random_.choice(PATHS).encode() + b" HTTP/1.1",
        b"host: localhost",
        b"content-type: " + random_.choice(TYPES).encode("latin-1"),
        b"connection: close",
    ]
    extra = random_.choice(HEADERS)
    if not extra.startswith((b"transfer", b"content-length")):
        head.append(b"content-length: %d" % len(content))
    return b"\r\n".join([*head, *([extra] if extra else []), b"", b""]) + content


def attack(server: RunningServer, data: bytes) -> int:
    """Send bytes and return the status of the response, or 0 if the server closed the connection.

    Raises TimeoutError if it neither answers nor closes.
    """
    assert server.http_port is not None
    found = raw(server.http_port, data)
    assert b"Traceback" not in found
    return int(found[9:12]) if found.startswith(b"HTTP/1.1 ") else 0


@pytest.mark.random
def test_malformed_requests_are_refused(victim: RunningServer) -> None:
    """None is a fault of the server, and the next call is answered."""
    statuses = [attack(victim, one) for one in RAW]
    drawn = random.Random(seed_of(7))
    attacks = [request(drawn) for _ in range(300)]
    statuses += [attack(victim, one) for one in attacks[:100]]
    before = memory()
    statuses += [attack(victim, one) for one in attacks[100:]]
    assert {status for status in statuses if status >= 500} == set(), statuses
    assert sum(400 <= status < 500 for status in statuses) > 150
    assert memory() - before < MOST_GROWTH
    assert httpx.get(f"http://127.0.0.1:{victim.http_port}/health", timeout=300).status_code == 200


@pytest.mark.random
@pytest.mark.long
def test_many_malformed_requests_are_refused(victim: RunningServer) -> None:
    drawn = random.Random(seed_of(8))
    statuses = [attack(victim, request(drawn)) for _ in range(500)]
    before = memory()
    statuses += [attack(victim, request(drawn)) for _ in range(3_000)]
    assert {status for status in statuses if status >= 500} == set()
    assert memory() - before < MOST_GROWTH


@pytest.mark.parametrize(
    ("slow", "limit"),
    [
        (lambda: b"POST " + SEARCH.encode() + b" HTTP/1.1\r\nhost: loc", 0),
        (lambda: b"", 0),
        (
            lambda: (
                b"POST " + SEARCH.encode() + b" HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9"
                b"\r\ncontent-type: application/json\r\n\r\n{"
            ),
            408,
        ),
        (
            lambda: (
                b"POST /v1/collections/drawn:search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n"
                b"content-type: multipart/form-data; boundary=b\r\n\r\n--b"
            ),
            408,
        ),
    ],
    ids=["headers", "silence", "body", "form"],
)
def test_slow_requests_end(
    victim: RunningServer, monkeypatch: pytest.MonkeyPatch, slow: Callable[[], bytes], limit: int
) -> None:
    """Headers and bodies must arrive in time."""
    monkeypatch.setattr(body, "_WHOLE_SECONDS", 0.3)
    monkeypatch.setattr(port, "_HEAD_SECONDS", 0.3)
    assert attack(victim, slow()) == limit


def test_connections_are_limited(victim: RunningServer) -> None:
    """Further ones are closed at once, and a place is free again when one ends."""
    health = f"http://127.0.0.1:{victim.http_port}/health"
    with ExitStack() as held:
        for _ in range(20):
            held.enter_context(socket.create_connection(("127.0.0.1", victim.http_port or 0)))
        until(lambda: not reached(health))
    until(lambda: reached(health))


def reached(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(address, timeout=300).status_code == 200
    return False


def test_requests_that_arrive_have_a_budget(home: Home) -> None:
    """Bodies that are still arriving take no more memory than the requests in progress may have."""
    settings = ServerSettings(home=home.path, port=0, http_port=0, flight_bytes=4_000_000)
    head = b"POST " + SEARCH.encode() + b" HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with RunningServer(settings) as running:
        with socket.create_connection(("127.0.0.1", running.http_port or 0)) as slow:
            slow.sendall(head + b"content-length: 5000000\r\n\r\n" + b" " * 1_900_000)
            until(lambda: posted(running).status_code == 429)
            found = posted(running)
            assert found.json()["code"] == "resource_exhausted"
            assert int(found.headers["retry-after"]) >= 1
        until(lambda: posted(running).status_code == 400)


def posted(server: RunningServer) -> httpx.Response:
    """Return the response to half a megabyte that is not a search."""
    url = f"http://127.0.0.1:{server.http_port}{SEARCH}"
    return httpx.post(url, content=b" " * 500_000, headers=JSON, timeout=300)


def test_a_stopped_server_ends_its_streams(home: Home) -> None:
    """A stream that waits for messages does not delay the end, for any allowed duration of calls."""
    with RunningServer(ServerSettings(home=home.path, port=0, http_port=0)) as running:
        head = b"POST " + STREAM.encode() + b" HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n"
        with socket.create_connection(("127.0.0.1", running.http_port or 0)) as waiting:
            waiting.sendall(head + b"content-type: application/connect+json\r\n\r\n")
            until(lambda: len(running._dispatcher.silences) > 0)
            stopping = threading.Thread(target=running.stop, args=(3_600.0,), daemon=True)
            stopping.start()
            stopping.join(300)
            assert not stopping.is_alive()
            assert b"unavailable" in waiting.recv(65536)
