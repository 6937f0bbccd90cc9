from collections.abc import Iterator

import pytest
from browsing import Browsing
from open_homes import copy_home

from crossview.engine.collections.home import Home
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings


@pytest.fixture(scope="session")
def site(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with pages on a copy of the home, for all tests of pages: those that change it make their own."""
    copied = copy_home(home.path, tmp_path_factory.mktemp("site") / "home")
    with RunningServer(ServerSettings(home=copied, port=0, web=True, grace_seconds=0.5)) as running:
        yield running


@pytest.fixture
def browsing(site: RunningServer) -> Iterator[Browsing]:
    with Browsing(site.http_port) as client:
        yield client
