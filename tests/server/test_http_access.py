"""The port for HTTP keeps strangers out as that of gRPC does: by TLS, certificates of clients, and keys."""

import ssl
from pathlib import Path

import httpx
import pytest
from certificates import Authority, authority
from open_homes import copy_home
from web import JSON, SEARCH, STREAM, frame, json_frames

from crossview.engine.collections.home import Home
from crossview.server.core.keys.keys import Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

LIST = "/crossview.v1.CollectionService/ListCollections"
UPLOAD = "/v1/collections/drawn:search"


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return authority(tmp_path, "ours")


def trusting(issuer: Authority, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(issuer.ca))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if client is not None:
        context.load_cert_chain(*client)
    return context


def listed(port: int | None, context: ssl.SSLContext) -> int:
    return httpx.post(f"https://localhost:{port}{LIST}", json={}, verify=context, timeout=300).status_code


def test_with_a_certificate_it_speaks_https_alone(home: Home, ours: Authority) -> None:
    cert, key = ours.sign("server")
    settings = ServerSettings(home=home.path, port=0, http_port=0, tls_cert=cert, tls_key=key)
    with RunningServer(settings) as running:
        assert listed(running.http_port, trusting(ours)) == 200
        with pytest.raises(httpx.TransportError):
            httpx.post(f"http://localhost:{running.http_port}{LIST}", json={}, timeout=300)


def test_it_asks_clients_for_certificates(home: Home, ours: Authority, tmp_path: Path) -> None:
    cert, key = ours.sign("server")
    others = authority(tmp_path, "theirs").sign("client")
    settings = ServerSettings(home=home.path, port=0, http_port=0, tls_cert=cert, tls_key=key, tls_client_ca=ours.ca)
    with RunningServer(settings) as running:
        assert listed(running.http_port, trusting(ours, ours.sign("client"))) == 200
        for strangers in (None, others):
            with pytest.raises(httpx.TransportError):
                listed(running.http_port, trusting(ours, strangers))


def test_every_route_of_calls_needs_a_key(home: Home, tmp_path: Path) -> None:
    """Routes are JSON, a form and a stream; the state of the server and the interface's description need no key."""
    home = Home(copy_home(home.path, tmp_path / "home"))  # other tests use the home without keys
    made = Keys(home.path)
    secret, _ = made.create("ann", "read")
    given = {"authorization": f"Bearer {secret}"}
    settings = ServerSettings(home=home.path, port=0, http_port=0)
    picture = {"image": ("a.jpg", b"no picture")}
    stream = {"content-type": "application/connect+json"}
    with (
        RunningServer(settings) as running,
        httpx.Client(base_url=f"http://127.0.0.1:{running.http_port}", timeout=300) as web,
    ):
        assert web.post(LIST, content=b"{}", headers=JSON).json()["code"] == "unauthenticated"
        assert web.post(UPLOAD, files=picture).json()["code"] == "unauthenticated"
        (ended,) = json_frames(web.post(STREAM, content=frame(b"{}"), headers=stream).content)
        assert ended["error"]["code"] == "unauthenticated"
        assert web.post(LIST, content=b"{}", headers=JSON | given).status_code == 200
        assert web.post(UPLOAD, files=picture, headers=given).json()["code"] == "invalid_argument"
        twice = [("content-type", "application/json"), *2 * [("authorization", f"Bearer {secret}")]]
        assert web.post(LIST, content=b"{}", headers=twice).json()["code"] == "unauthenticated"
        writing = SEARCH.replace("SearchService/Search", "CollectionService/CreateCollection")
        refused = web.post(writing, content=b'{"collectionId": "new"}', headers=JSON | given)
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
        assert web.get("/health").status_code == 200
        assert web.get("/openapi.json").status_code == 200
    assert "new" not in home.names()
