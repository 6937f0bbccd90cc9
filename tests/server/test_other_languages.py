"""Clients in other languages, made from the proto files alone."""

import os
import shutil
import subprocess
import sys
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
EXAMPLES = ROOT / "examples"
pytestmark = pytest.mark.slow
_NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "no such host", "dial tcp")


@pytest.fixture(scope="module", params=["node", "go"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of an example, built from a copy beside the folder proto."""
    folder = tmp_path_factory.mktemp("clients") / "examples" / request.param
    shutil.copytree(EXAMPLES / request.param, folder, ignore=shutil.ignore_patterns("node_modules", "v1"))
    (folder.parents[1] / "proto").symlink_to(ROOT / "proto")
    return BUILT[request.param](folder)


def in_node(folder: Path) -> list[str]:
    """Install the packages of the example for Node."""
    needs("node", "npm")
    fetched(folder, "npm", "install", "--no-audit", "--no-fund")
    return ["node", str(folder / "search.js")]


def in_go(folder: Path) -> list[str]:
    """Generate the messages and build the example for Go."""
    needs("go", "protoc-gen-go", "protoc-gen-go-grpc")
    outputs = [f"--{kind}_{end}" for kind in ("go", "go-grpc") for end in ("out=.", "opt=module=crossview")]
    names = [f"crossview/v1/{name}.proto" for name in ("search", "types", "changes", "duplicates")]
    protoc = (sys.executable, "-m", "grpc_tools.protoc", "-I../../proto", *outputs, *names)
    subprocess.run(protoc, cwd=folder, check=True)
    fetched(folder, "go", "mod", "tidy")
    fetched(folder, "go", "build", "-o", "search", ".")
    return [str(folder / "search")]


BUILT = {"node": in_node, "go": in_go}


def needs(*commands: str) -> None:
    """Skip the test without these commands."""
    if missing := [name for name in commands if not shutil.which(name)]:
        pytest.skip(f"needs {' and '.join(missing)}")


def fetched(folder: Path, *command: str) -> None:
    """Run a command that may need a registry of packages; skip the test if it reaches none."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode and any(word in done.stderr for word in _NO_NETWORK):
        pytest.skip(f"{command[0]} reaches no registry")
    assert done.returncode == 0, done.stderr


def search(program: list[str], *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the example."""
    command, variables = [*program, *map(str, arguments)], {**os.environ, **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)


def hits(printed: str) -> list[tuple[str, str]]:
    """The key and the distance of each line."""
    return [(line.split("\t")[1], line.split("\t")[0]) for line in printed.splitlines()]


def expected(home: Home, query: Query, **options: Any) -> list[tuple[str, str]]:
    """What the library finds."""
    with home.open("drawn") as collection:
        lists = collection.search(SearchRequest([query], **options))
    return [(hit.key, f"{hit.distance:.4f}") for found in lists for hit in found.hits]


def test_a_program_searches_by_vector_and_by_picture(
    program: list[str], server: RunningServer, home: Home, pictures: Path
) -> None:
    """It finds what Python finds, and prints the status of a search that the server refuses."""
    with home.open("drawn") as collection:
        view = next(one for one in collection.info().views if one.name == "color")
    vector = np.random.default_rng(0).random(view.dim or 0).astype(np.float32).round(3)
    by_vector = ("--vector", ",".join(map(str, vector.tolist())), "--view", "color", "--space", "raw", "-k", 3)
    done = search(program, *by_vector, server.address, "drawn")
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(done.stdout) == expected(home, Query("color", vector=vector), space="raw", k=3)
    picture = pictures / "dots" / "dots-00.jpg"
    by_picture = ("--image", picture, "--view", "color", "-k", 2)
    done = search(program, *by_picture, server.address, "drawn", CROSSVIEW_KEY="abc")
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(done.stdout) == expected(home, Query("color", image=picture.read_bytes()), k=2)
    refused: dict[tuple[object, ...], str] = {
        (*by_picture, server.address, "none"): "notfound: no collection 'none'",
        ("--vector", "1,2", "--view", "color", server.address, "drawn"): "invalidargument: ",
    }
    for arguments, message in refused.items():
        done = search(program, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.lower().replace("_", "").startswith(message)
    done = search(program, server.address, "drawn")
    assert done.returncode == 2
    assert "usage: " in done.stderr


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


def test_a_program_sends_its_key_over_tls(
    program: list[str], encrypted: tuple[str, list[str]], certificate: tuple[Path, Path]
) -> None:
    """To a server whose certificate is signed, and to no other."""
    address, received = encrypted
    query = ("--vector", "1", "--view", "color")
    done = search(program, *query, "--ca", certificate[1], address, "drawn", CROSSVIEW_KEY="secret")
    assert (done.stdout, done.stderr) == ("0.5000\ta\tcolor\t\n", "")
    assert received == ["Bearer secret"]
    refused = search(program, *query, address, "drawn", CROSSVIEW_KEY="secret")
    assert refused.returncode == 1
    assert "unavailable" in refused.stderr.lower()
    assert received == ["Bearer secret"]
