"""Reads answer a GET with the request in the address, as the protocol Connect defines it."""

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_from_bytes

import httpx
import pytest
from open_homes import copy_home
from web import JSON, SEARCH, STREAM, raw

from crossview.engine.collections.home import Home
from crossview.server.core.keys.keys import Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.methods import METHODS
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import search_pb2

QUERY = {"parent": "collections/drawn", "k": 2, "queries": [{"view": "color", "key": "pictures/dots/dots-00.jpg"}]}
LIST = "/crossview.v1.CollectionService/ListCollections"


@pytest.fixture
def web(server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.http_port}", timeout=300) as client:
        yield client


def address(message: str, encoding: str = "json", **others: str) -> str:
    """Return the address of a search; ``message`` is already quoted."""
    further = "".join(f"&{name}={value}" for name, value in others.items())
    return f"{SEARCH}?connect=v1&encoding={encoding}&message={message}{further}"


def in_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_a_read_answers_as_by_post(web: httpx.Client) -> None:
    """Requests are in JSON and in protobuf, as text, in base64 with and without padding, and compressed."""
    expected = web.post(SEARCH, json=QUERY).json()
    data = json.dumps(QUERY).encode()
    binary = METHODS[SEARCH].request(**QUERY).SerializeToString()
    padded = base64.urlsafe_b64encode(data).decode()
    for path in (
        address(quote(data)),
        address(quote(data), base64="0", compression="identity", utm_source="mail"),
        address(in_base64(data), base64="1"),
        address(padded, base64="1"),
        address(in_base64(gzip.compress(data)), base64="1", compression="gzip"),
        address(quote(data)).replace("connect=v1&", ""),
    ):
        found = web.get(path)
        assert (found.status_code, found.json()) == (200, expected), found.text
        assert found.headers["content-type"] == "application/json"
    reply = web.post(SEARCH, content=binary, headers={"content-type": "application/proto"}).content
    for path in (address(quote_from_bytes(binary), "proto"), address(in_base64(binary), "proto", base64="1")):
        found = web.get(path)
        assert (found.content, found.headers["content-type"]) == (reply, "application/proto")
        assert search_pb2.SearchResponse.FromString(found.content).results[0].hits


def test_every_method_with_side_effects_refuses_get(web: httpx.Client) -> None:
    """The refusal has the verbs that the method takes; streams refuse it, too."""
    for path, method in METHODS.items():
        if not method.in_address:
            found = web.get(f"{path}?connect=v1&encoding=json&message=%7B%7D")
            assert (found.status_code, found.headers["allow"]) == (405, "POST"), path
    found = web.delete(LIST)
    assert (found.status_code, found.headers["allow"]) == (405, "GET, POST")
    assert not METHODS[STREAM].in_address
    assert sum(method.in_address for method in METHODS.values()) == 30


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("", 400, "needs the parameter 'encoding'"),
        ("encoding=json", 400, "needs the parameter 'message'"),
        ("message=%7B%7D", 400, "needs the parameter 'encoding'"),
        ("encoding=json&message=%7B%7D&connect=v2", 400, "must be v1"),
        ("encoding=json&message=%7B%7D&base64=2", 400, "must be 0 or 1"),
        ("encoding=json&message=%7B%7D&message=%7B%7D", 400, "occurs twice"),
        ("encoding=json&message=%7B", 400, "JSON"),
        ("encoding=json&message=e&base64=1", 400, "base64"),
        ("encoding=yaml&message=%7B%7D", 415, "must be json or proto"),
        ("encoding=json&message=%7B%7D&compression=br", 415, "must be gzip or identity"),
        ("encoding=json&message=%7B%7D&compression=gzip", 415, "gzip"),
        ("encoding=json&message=%7B%7D" + "&a=b" * 64, 400, "64 parameters"),
        ("encoding=json&message=%7B%7D" + "&a=b" * 2000, 414, "8,000 bytes"),
    ],
)
def test_a_wrong_address_is_refused(web: httpx.Client, query: str, status: int, message: str) -> None:
    """The refusal has the reason, and is never a fault of the server; no cache may keep it."""
    found = web.get(f"{LIST}?{query}")
    assert (found.status_code, message in found.json()["message"]) == (status, True), found.text
    assert found.headers["cache-control"] == "private, no-store"


def test_a_message_in_an_address_has_the_limits_of_a_body(web: httpx.Client) -> None:
    """The decompressed size counts; and beyond 16 kB the port refuses the head of the request."""
    bomb = in_base64(gzip.compress(gzip.compress(b" " * (1 << 25), 9)))
    assert web.get(address(bomb, base64="1", compression="gzip")).status_code == 400
    large = in_base64(gzip.compress(b" " * 4_000_000, 9))
    assert web.get(address(large, base64="1", compression="gzip")).status_code == 400
    port = int(web.base_url.port or 0)
    assert raw(port, b"GET " + b"/a" * 20_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_a_deadline_holds(web: httpx.Client) -> None:
    """It does so by POST, too."""
    found = web.get(address(quote(json.dumps(QUERY))), headers={"connect-timeout-ms": "no"})
    assert (found.status_code, "milliseconds" in found.json()["message"]) == (400, True)


def test_no_cache_gives_an_answer_to_a_caller_with_another_key(home: Home, tmp_path: Any) -> None:
    """Each answer and each refusal forbids to store it, and says that it depends on the key."""
    place = Home(copy_home(home.path, tmp_path / "home"))
    secret, _ = Keys(place.path).create("ann", "read")
    path = f"{LIST}?encoding=json&message=%7B%7D"
    with (
        RunningServer(ServerSettings(home=place.path, port=0, http_port=0)) as running,
        httpx.Client(base_url=f"http://127.0.0.1:{running.http_port}", timeout=300) as web,
    ):
        for headers, status in (({"authorization": f"Bearer {secret}"}, 200), ({}, 401)):
            found = web.get(path, headers=headers)
            assert found.status_code == status
            assert found.headers["cache-control"] == "private, no-store"
            assert found.headers["vary"] == "authorization"


def test_pages_of_other_sites_cannot_ask_by_get(web: httpx.Client, home: Home) -> None:
    """A browser sends a GET without asking first, so that a foreign page could make the server work."""
    path = f"{LIST}?encoding=json&message=%7B%7D"
    origin = "https://a.example"
    foreign = {"sec-fetch-site": "cross-site", "origin": origin}
    for headers in (foreign, {"sec-fetch-site": "same-site"}):
        found = web.get(path, headers=headers)
        assert (found.status_code, found.json()["code"]) == (403, "permission_denied")
    for site in ("none", "same-origin"):
        assert web.get(path, headers={"sec-fetch-site": site}).status_code == 200
    settings = ServerSettings(home=home.path, port=0, http_port=0, http_origins=(origin,))
    with (
        RunningServer(settings) as running,
        httpx.Client(base_url=f"http://127.0.0.1:{running.http_port}", timeout=300) as other,
    ):
        found = other.get(path, headers=foreign)
        assert (found.status_code, found.headers["access-control-allow-origin"]) == (200, origin)
        assert {one.strip().lower() for one in found.headers["vary"].split(",")} == {"authorization", "origin"}
        assert other.get(path, headers=foreign | {"origin": "https://b.example"}).status_code == 403


def test_a_body_does_not_count(web: httpx.Client) -> None:
    """The request is in the address."""
    found = web.request("GET", f"{LIST}?encoding=json&message=%7B%7D", content=b"{wrong", headers=JSON)
    assert found.status_code == 200
