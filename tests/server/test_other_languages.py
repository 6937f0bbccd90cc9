"""Clients in other languages, made from the proto files alone."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from crossview.engine.home import Home
from crossview.engine.query import Query, SearchRequest
from crossview.server.listen import RunningServer
from crossview.v1 import search_pb2

ROOT = Path(__file__).resolve().parents[2]
NODE = ROOT / "examples" / "node"
pytestmark = pytest.mark.slow
_NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, with its packages."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("needs node and npm")
    copy = tmp_path_factory.mktemp("clients") / "examples" / "node"
    shutil.copytree(NODE, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy.parents[1] / "proto").symlink_to(ROOT / "proto")
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=copy, capture_output=True, text=True)
    if any(word in done.stderr for word in _NO_NETWORK):
        pytest.skip("npm reaches no registry")
    assert done.returncode == 0, done.stderr
    return copy


def search(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the example."""
    return subprocess.run(
        ["node", "search.js", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def hits(printed: str) -> list[tuple[str, str]]:
    """The key and the distance of each line."""
    return [(line.split("\t")[1], line.split("\t")[0]) for line in printed.splitlines()]


def expected(home: Home, query: Query, **options: Any) -> list[tuple[str, str]]:
    """What the library finds."""
    with home.open("drawn") as collection:
        lists = collection.search(SearchRequest([query], **options))
    return [(hit.key, f"{hit.distance:.4f}") for found in lists for hit in found.hits]


def test_node_searches_by_vector_and_by_picture(node: Path, server: RunningServer, home: Home, pictures: Path) -> None:
    """It finds what Python finds, and prints the status of a search that the server refuses."""
    with home.open("drawn") as collection:
        view = next(one for one in collection.info().views if one.name == "color")
    vector = np.random.default_rng(0).random(view.dim or 0).astype(np.float32).round(3)
    given = ",".join(map(str, vector.tolist()))
    done = search(node, server.address, "drawn", "--vector", given, "--view", "color", "--space", "raw", "-k", 3)
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(done.stdout) == expected(home, Query("color", vector=vector), space="raw", k=3)
    picture = pictures / "dots" / "dots-00.jpg"
    done = search(node, server.address, "drawn", "--image", picture, "--view", "color", "-k", 2, CROSSVIEW_KEY="abc")
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(done.stdout) == expected(home, Query("color", image=picture.read_bytes()), k=2)
    for arguments, message in {
        ("none", "--image", picture): "NOT_FOUND: no collection 'none'",
        ("drawn", "--vector", "1,2", "--view", "color"): "INVALID_ARGUMENT: ",
    }.items():
        done = search(node, server.address, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert message in done.stderr
    done = search(node, server.address, "drawn")
    assert done.returncode == 2
    assert "either --vector or --image\nusage: " in done.stderr


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """The private key and the certificate of localhost, which signs itself."""
    if not shutil.which("openssl"):
        pytest.skip("needs openssl")
    key, made = tmp_path / "key.pem", tmp_path / "cert.pem"
    name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    files = ("-keyout", str(key), "-out", str(made))
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "1", *kind, *files, *name], check=True, capture_output=True
    )
    return key, made


@pytest.fixture
def encrypted(certificate: tuple[Path, Path]) -> Iterator[tuple[str, list[str]]]:
    """The address of a port with TLS that answers one hit, and the authorizations that it received."""
    received: list[str] = []

    def answer(_: search_pb2.SearchRequest, context: grpc.ServicerContext) -> search_pb2.SearchResponse:
        received.append(str(dict(context.invocation_metadata()).get("authorization")))
        return search_pb2.SearchResponse(results=[{"target": "color", "hits": [{"key": "a", "distance": 0.5}]}])

    handler = grpc.unary_unary_rpc_method_handler(
        answer, search_pb2.SearchRequest.FromString, search_pb2.SearchResponse.SerializeToString
    )
    methods: Sequence[Any] = [grpc.method_handlers_generic_handler("crossview.v1.SearchService", {"Search": handler})]
    server = grpc.server(ThreadPoolExecutor(1), handlers=methods)
    key, made = (path.read_bytes() for path in certificate)
    port = server.add_secure_port("localhost:0", grpc.ssl_server_credentials([(key, made)]))
    server.start()
    yield f"localhost:{port}", received
    server.stop(None).wait()


def test_node_sends_its_key_over_tls(
    node: Path, encrypted: tuple[str, list[str]], certificate: tuple[Path, Path]
) -> None:
    """To a server whose certificate is signed, and to no other."""
    address, received = encrypted
    query = (address, "drawn", "--vector", "1", "--view", "color")
    done = search(node, *query, "--ca", certificate[1], CROSSVIEW_KEY="secret")
    assert (done.stdout, done.stderr) == ("0.5000\ta\tcolor\t\n", "")
    assert received == ["Bearer secret"]
    refused = search(node, *query, CROSSVIEW_KEY="secret")
    assert refused.returncode == 1
    assert "UNAVAILABLE" in refused.stderr
    assert received == ["Bearer secret"]
