"""The web service answers from a real server, and maps its errors to statuses."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

import crossview
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

pytestmark = pytest.mark.long
SERVICE = Path(__file__).parents[2] / "examples" / "fastapi-service" / "service.py"


@pytest.fixture(scope="module")
def service() -> ModuleType:
    """The module of the example."""
    spec = importlib.util.spec_from_file_location("service", SERVICE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with the trained collection ``art``, whose pictures have captions."""
    home = tmp_path_factory.mktemp("home")
    with crossview.create("art", ["color", "text:dim=20"], home=home) as art:
        art.index([pictures], crossview.IndexOptions(labels="folder", captions=pictures.with_name("captions.csv")))
        art.train(crossview.Recipe())
    with RunningServer(ServerSettings(home=home, port=0)) as running:
        yield running


@pytest.fixture
def client(service: ModuleType, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A client of the service, whose lifespan opens and closes the connection to the server."""
    monkeypatch.setenv("CROSSVIEW_SERVER", server.address)
    with TestClient(service.app) as made:
        yield made


def uploaded(client: TestClient, content: bytes, **fields: Any) -> httpx.Response:
    """Return the answer to an uploaded picture."""
    return client.post("/similar", files={"picture": ("a.jpg", content)}, data=fields)


def test_a_picture_finds_itself(client: TestClient, pictures: Path) -> None:
    """It comes first, with its label, a match and a thumbnail."""
    found = uploaded(client, (pictures / "waves" / "waves-00.jpg").read_bytes(), k=3).json()
    assert len(found) == 3
    assert (found[0]["key"], found[0]["labels"]) == ("pictures/waves/waves-00.jpg", ["waves"])
    assert 0 <= found[0]["match"] <= 1
    thumbnail = client.get(found[0]["thumbnail"])
    assert thumbnail.headers["content-type"] == "image/jpeg"
    assert thumbnail.content.startswith(b"\xff\xd8")


def test_words_find_pictures(client: TestClient) -> None:
    """Pictures of the class that the words mean come first."""
    found = client.get("/search", params={"text": "surf, tide and swell", "k": 4}).json()
    assert "waves" in found[0]["labels"]


def test_a_browser_gets_a_form(client: TestClient) -> None:
    """Its fields are those of the upload."""
    page = client.get("/").text
    assert 'action="similar"' in page
    assert {'name="picture"', 'name="k"'} <= set(page.replace(">", " ").split())


def test_errors_have_statuses(client: TestClient, service: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not a picture, a missing item, wrong arguments and a large upload."""
    refused = uploaded(client, b"no picture")
    assert (refused.status_code, refused.json()["error"]) == (415, "NotAnImageError")
    missing = client.get("/thumbnails/pictures/absent.jpg")
    assert (missing.status_code, missing.json()["error"]) == (404, "NotFoundError")
    assert "absent.jpg" in missing.json()["detail"]
    assert client.get("/search", params={"text": "sea", "k": 0}).status_code == 422
    monkeypatch.setattr(service, "MAX_BYTES", 10)
    assert uploaded(client, b"more than ten bytes").status_code == 413


def test_a_collection_that_does_not_exist_is_not_found(
    service: ModuleType, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service starts nevertheless."""
    monkeypatch.setenv("CROSSVIEW_SERVER", server.address)
    monkeypatch.setenv("CROSSVIEW_COLLECTION", "absent")
    with TestClient(service.app) as other:
        assert other.get("/search", params={"text": "sea"}).status_code == 404


def test_a_server_that_does_not_answer_is_unavailable(service: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service starts nevertheless, and answers again when the server does."""
    monkeypatch.setenv("CROSSVIEW_SERVER", "localhost:1")
    with TestClient(service.app) as alone:
        answer = alone.get("/search", params={"text": "sea"})
    assert (answer.status_code, answer.json()["error"]) == (503, "ServerUnavailableError")


def test_a_server_with_too_much_work_states_when_to_try_again(service: ModuleType) -> None:
    """The header of HTTP states the seconds."""
    app = service.app

    async def overloaded() -> None:
        raise crossview.OverloadedError("too many searches", 2.6)

    app.add_api_route("/overloaded", overloaded)
    answer = TestClient(app).get("/overloaded")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
