from collections.abc import Iterator

import pytest
from browsing import Browsing

from crossview.engine.home import Home
from crossview.server.listen import RunningServer
from crossview.server.settings import ServerSettings


@pytest.fixture(scope="session")
def site(home: Home) -> Iterator[RunningServer]:
    """A server with pages on the home that all tests share: tests that change it make their own."""
    with RunningServer(ServerSettings(home=home.path, port=0, web=True)) as running:
        yield running


@pytest.fixture
def browsing(site: RunningServer) -> Iterator[Browsing]:
    with Browsing(site.http_port) as client:
        yield client
