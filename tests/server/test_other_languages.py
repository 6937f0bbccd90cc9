"""Clients in other languages, made from the proto files alone."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificates import authority
from open_homes import copy_home
from registries import fetched, needs

from crossview.engine.collections.home import Home
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.core.keys.keys import Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["node", "fetch", "go"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of an example, built from a copy beside the folder proto."""
    language = "go" if request.param == "go" else "node"
    folder = tmp_path_factory.mktemp("clients") / "examples" / language
    shutil.copytree(EXAMPLES / language, folder, ignore=shutil.ignore_patterns("node_modules", "v1"))
    (folder.parents[1] / "proto").symlink_to(ROOT / "proto")
    return BUILT[request.param](folder)


def in_node(folder: Path) -> list[str]:
    """Install the packages of the example for Node."""
    needs("node", "npm")
    fetched(folder, "npm", "install", "--no-audit", "--no-fund")
    return ["node", str(folder / "search.js")]


def in_node_alone(folder: Path) -> list[str]:
    """Return the command; nothing is installed."""
    needs("node")
    return ["node", str(folder / "fetch.js")]


def in_go(folder: Path) -> list[str]:
    """Generate the messages and build the example for Go."""
    needs("go", "protoc-gen-go", "protoc-gen-go-grpc")
    outputs = [f"--{kind}_{end}" for kind in ("go", "go-grpc") for end in ("out=.", "opt=module=crossview")]
    names = [f"crossview/v1/{name}.proto" for name in ("search", "types", "changes", "duplicates", "options")]
    protoc = (sys.executable, "-m", "grpc_tools.protoc", "-I../../proto", *outputs, *names)
    subprocess.run(protoc, cwd=folder, check=True)
    fetched(folder, "go", "mod", "tidy")
    fetched(folder, "go", "build", "-o", "search", ".")
    return [str(folder / "search")]


BUILT = {"node": in_node, "fetch": in_node_alone, "go": in_go}


def search(program: list[str], *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the example."""
    command, variables = [*program, *map(str, arguments)], {**os.environ, **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)


def hits(printed: str) -> list[tuple[str, str]]:
    """Return the key and the distance of each line."""
    return [(line.split("\t")[1], line.split("\t")[0]) for line in printed.splitlines()]


def expected(home: Home, query: Query, **options: Any) -> list[tuple[str, str]]:
    """Return the hits of the library."""
    with home.open("drawn") as collection:
        lists = collection.search(SearchRequest([query], **options))
    return [(hit.key, f"{hit.distance:.4f}") for found in lists for hit in found.hits]


def address_of(program: list[str], server: RunningServer) -> str:
    """Return the address of a server of this machine, as the program takes it."""
    secure = server.settings.tls is not None
    if "fetch.js" in program[-1]:
        return f"http{'s' * secure}://localhost:{server.http_port}"
    return f"localhost:{server.port}"


@pytest.fixture
def served(home: Home) -> Iterator[RunningServer]:
    """A server with a port for HTTP."""
    with RunningServer(ServerSettings(home=home.path, host="localhost", port=0, http_port=0)) as running:
        yield running


def test_a_program_searches_by_vector_and_by_picture(
    program: list[str], served: RunningServer, home: Home, pictures: Path
) -> None:
    """It finds what Python finds, and prints the status of a search that the server refuses."""
    address = address_of(program, served)
    with home.open("drawn") as collection:
        view = next(one for one in collection.info().views if one.name == "color")
    vector = np.random.default_rng(0).random(view.dim or 0).astype(np.float32).round(3)
    by_vector = ("--vector", ",".join(map(str, vector.tolist())), "--view", "color", "--space", "raw", "-k", 3)
    done = search(program, *by_vector, address, "drawn")
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(done.stdout) == expected(home, Query("color", vector=vector), space="raw", k=3)
    picture = pictures / "dots" / "dots-00.jpg"
    by_picture = ("--image", picture, "--view", "color", "-k", 2)
    done = search(program, *by_picture, address, "drawn", CROSSVIEW_KEY="abc")
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(done.stdout) == expected(home, Query("color", image=picture.read_bytes()), k=2)
    refused: dict[tuple[object, ...], str] = {
        (*by_picture, address, "none"): "notfound: no collection 'none'",
        ("--vector", "1,2", "--view", "color", address, "drawn"): "invalidargument: ",
    }
    for arguments, message in refused.items():
        done = search(program, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.lower().replace("_", "").startswith(message)
    done = search(program, address, "drawn")
    assert done.returncode == 2
    assert "usage: " in done.stderr


@pytest.fixture
def guarded(home: Home, tmp_path: Path) -> Iterator[tuple[RunningServer, Path, str]]:
    """A server with TLS and keys, the authority of its certificate, and a key that may read."""
    needs("openssl")
    place = Home(copy_home(home.path, tmp_path / "home"))
    key, _ = Keys(place.path).create("reader", "read", ["drawn"])
    issuer = authority(tmp_path)
    cert, private = issuer.sign("server")
    settings = ServerSettings(home=place.path, host="localhost", port=0, http_port=0, tls_cert=cert, tls_key=private)
    with RunningServer(settings) as running:
        yield running, issuer.ca, key


def test_a_program_sends_its_key_over_tls(
    program: list[str], guarded: tuple[RunningServer, Path, str], home: Home, pictures: Path
) -> None:
    """It sends it to a server whose certificate is signed, and to no other."""
    server, ca, key = guarded
    picture = pictures / "dots" / "dots-00.jpg"
    query = ("--image", picture, "--view", "color", "-k", 2, address_of(program, server), "drawn")
    trusting = () if "fetch.js" in program[-1] else ("--ca", ca)
    done = search(program, *trusting, *query, CROSSVIEW_KEY=key, NODE_EXTRA_CA_CERTS=str(ca))
    assert (done.returncode, done.stderr) == (0, "")
    assert hits(done.stdout) == expected(home, Query("color", image=picture.read_bytes()), k=2)
    done = search(program, *trusting, *query, CROSSVIEW_KEY="wrong", NODE_EXTRA_CA_CERTS=str(ca))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.lower().startswith("unauthenticated: ")
    done = search(program, *query, CROSSVIEW_KEY=key)
    assert (done.returncode, done.stdout) == (1, "")
    assert "unavailable" in done.stderr.lower()
