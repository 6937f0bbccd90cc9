"""Engines for tests of publishing: Milvus Lite in this process and, for long tests, a Milvus server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from milvus_server import MilvusServer, skip_without_server
from published import Published, taught

from crossview.engine.collections.home import Home
from crossview.engine.publishing.address import engine_address
from crossview.engine.publishing.milvus import Milvus

KINDS = ["lite", pytest.param("server", marks=pytest.mark.long)]
"""The engines of a test; with the server it is long."""


@pytest.fixture(scope="session")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Milvus]:
    """Milvus Lite, with one file for all tests."""
    engine = Milvus(engine_address(f"milvus:{tmp_path_factory.mktemp('lite') / 'engine.db'}"), timeout=300)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """A Milvus server that tests do not stop."""
    skip_without_server()
    made = MilvusServer(tmp_path_factory.mktemp("milvus"))
    made.start()
    yield made
    made.kill()  # its data is deleted with the server


@pytest.fixture(scope="session", params=KINDS)
def engine(request: pytest.FixtureRequest) -> Iterator[Milvus]:
    """Each engine in turn."""
    if request.param == "lite":
        yield request.getfixturevalue("lite")
        return
    made = Milvus(engine_address(request.getfixturevalue("server").address), timeout=300)
    yield made
    made.close()


@pytest.fixture(scope="module")
def alike(engine: Milvus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Published]]:
    """A function that returns the published collection of a spec, made once for tests that change nothing."""
    with ExitStack() as opened:
        found = dict[str, Published]()

        def published(spec: str) -> Published:
            if spec not in found:
                folder = tmp_path_factory.mktemp("published")
                collection = opened.enter_context(taught(Home(folder / "home"), spec))
                found[spec] = opened.enter_context(Published(collection, engine, folder / "bundles"))
            return found[spec]

        yield published


@pytest.fixture
def changing(engine: Milvus, tmp_path: Path) -> Iterator[Callable[..., Published]]:
    """A function that publishes a small collection that the test changes."""
    with ExitStack() as opened:

        def published(spec: str = "", items: int = 60) -> Published:
            collection = opened.enter_context(taught(Home(tmp_path / "home"), spec, items))
            return opened.enter_context(Published(collection, engine, tmp_path / "bundles"))

        yield published
