from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import Client
from crossview.server.commands.backend import Backend
from crossview.server.commands.demo.dataset import STYLES, write_pictures
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import MESSAGE_BYTES, ServerSettings

VIEWS = ("color", "sift:words=24")
PER_CLASS = 6
GRACE = 0.5
"""Seconds for calls of clients that tests left, when a server that all share stops."""
CLASSES = ("bricks", "dots", "waves")


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """No call fails because it waits for a busy machine.

    Servers of this process do not refuse it, and hostile clients wait for it; rooms have tests of their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_SEARCH_PATIENCE", "_READ_PATIENCE", "_PICTURE_PATIENCE"):
            patch.setattr(f"crossview.server.core.dispatch.rooms.{name}", 600.0)
        patch.setattr("benchmarks.serve.findings.HEALTH_WAITS", 300.0)
        patch.setattr("benchmarks.serve.victim._PATIENCE", 300.0)
        yield


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small labelled pictures: CLASS/CLASS-NN.jpg."""
    folder = tmp_path_factory.mktemp("drawn")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crossview.server.commands.demo.dataset.SIZE", (112, 84))
        patch.setattr("crossview.server.commands.demo.dataset.STYLES", {name: STYLES[name] for name in CLASSES})
        write_pictures(folder / "pictures", PER_CLASS)
    return folder / "pictures"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Home:
    """A home with the trained collection ``drawn``; tests that write make their own collection."""
    made = Home(tmp_path_factory.mktemp("home"))
    with made.create("drawn", views=VIEWS, description="for tests") as collection:
        report = collection.index([pictures], IndexOptions(labels="folder", workers=1))
        assert report.added == PER_CLASS * len(CLASSES)
        collection.train(Recipe(spec="cca", views=("color", "sift"), dim=4, holdout=0.2))
    return made


@pytest.fixture(scope="session")
def server(home: Home) -> Iterator[RunningServer]:
    with RunningServer(ServerSettings(home=home.path, port=0, http_port=0, grace_seconds=GRACE)) as running:
        yield running


@pytest.fixture
def nothing_stays(server: RunningServer) -> Iterator[None]:
    """Delete what a test makes in the home that all share, so that tests may come in any order."""
    yield
    for alias in server.collections.home.aliases():
        server.collections.home.delete_alias(alias)
    for name in server.collections.home.names():
        if name != "drawn":
            server.collections.delete(name)


@pytest.fixture
def channel(server: RunningServer, nothing_stays: None) -> Iterator[grpc.Channel]:
    options = [("grpc.max_send_message_length", 2 * MESSAGE_BYTES)]
    with grpc.insecure_channel(server.address, options=options) as opened:
        yield opened


@pytest.fixture(params=["local", "remote"])
def backend(request: pytest.FixtureRequest, server: RunningServer, nothing_stays: None) -> Iterator[Backend]:
    """The same home, opened here and through the server."""
    if request.param == "local":
        yield server.collections.home
        return
    with Client(server.address) as client:
        yield client
