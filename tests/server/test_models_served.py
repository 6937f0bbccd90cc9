"""Views by models through a server: clients name registered models and nothing else, and search by picture and text."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import tiny_models as tiny
from browsing import Browsing
from drawn import encode
from terminal import run

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError, ModelError, NotFoundError
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.server.client.client import Client
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
COLORS = {"red": (0, 0, 255), "green": (0, 255, 0), "blue": (255, 0, 0)}
PICTURES = {name: encode(np.full((20, 30, 3), color, np.uint8)) for name, color in COLORS.items()}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with pages, which begins without a model; ``clip`` is added while it runs."""
    folder = tmp_path_factory.mktemp("models")
    home = Home(folder / "home")
    home.create("before", ["color"]).close()
    with RunningServer(ServerSettings(home=home.path, port=0, http_port=0, web=True)) as server:
        home.models.add("clip", tiny.clip_folder(folder / "clip"))
        home.models.add("words", tiny.text_folder(folder / "words"))
        with Client(server.address) as client, client.create("art", ["color", "clip=onnx:clip"]) as art:
            assert art.items.put([NewItem(name, image=picture) for name, picture in PICTURES.items()]).added == 3
        yield server


@pytest.fixture
def client(running: RunningServer) -> Iterator[Client]:
    with Client(running.address) as opened:
        yield opened


@pytest.fixture
def art(client: Client) -> Iterator[RemoteCollection]:
    with client.open("art") as opened:
        yield opened


def found(collection: RemoteCollection, **query: Any) -> list[str]:
    (results,) = collection.search(SearchRequest([Query("clip", **query)], k=2))
    return [hit.key for hit in results.hits]


def test_a_picture_and_a_text_find_pictures(art: RemoteCollection) -> None:
    for name, picture in PICTURES.items():
        assert found(art, image=picture)[0] == name
    assert found(art, text="red")[0] == "red"
    assert found(art, text="green")[0] == "green"


def test_pictures_are_read_by_the_processes_of_the_server(running: RunningServer, art: RemoteCollection) -> None:
    """A model runs where a picture is decoded, with the same limits of time and memory."""
    pictures = running.collections.pictures
    before = pictures.pids()
    assert before
    found(art, image=PICTURES["red"])
    assert set(pictures.pids()) >= set(before[:1])


def test_http_finds_the_same(running: RunningServer, art: RemoteCollection) -> None:
    url = f"http://127.0.0.1:{running.http_port}/crossview.v1.SearchService/Search"
    for query in ({"text": "red"}, {"image": base64.b64encode(PICTURES["green"]).decode()}):
        body = {"parent": "collections/art", "k": 2, "queries": [{"view": "clip", **query}]}
        answer = httpx.post(url, json=body, timeout=300)
        assert answer.status_code == 200, answer.text
        keys = [hit["key"] for hit in answer.json()["results"][0]["hits"]]
        assert keys == found(art, **({"image": PICTURES["green"]} if "image" in query else query))


@pytest.mark.parametrize(
    "spec",
    [
        "x=onnx:/etc/passwd",
        "x=onnx:../../.models/clip",
        "x=onnx:https",
        "x=onnx:https://example.com/model.onnx",
        "x=onnx:file:///etc/passwd",
        "x=onnx:clip:digest=" + 64 * "0",
        "x=onnx:clip:dim=1000000",
        'x=onnx:clip:inputs=["image"]',
        "x=onnx:model=/etc/passwd",
        "x=onnx",
    ],
)
def test_clients_name_registered_models_only(client: Client, art: RemoteCollection, spec: str) -> None:
    for add in (art.views.add, lambda spec: client.create("new", [spec])):
        with pytest.raises((InvalidInputError, NotFoundError)):
            add(spec)
    assert [view.name for view in art.views()] == ["color", "clip"]
    assert "new" not in client.names()


def test_a_view_names_its_model(client: Client, art: RemoteCollection) -> None:
    _, view = art.views()
    assert (view.extractor, view.params["model"], view.inputs, view.dim) == ("onnx", "clip", ("image", "text"), 4)
    printed = run("view", "list", "art", "--server", client.address).stdout
    assert "onnx(model=clip)" in printed
    assert view.params["digest"] not in printed + run("show", "art", "--server", client.address).stdout


def test_words_of_items_are_found_by_a_model_of_texts(client: Client) -> None:
    with client.create("notes", ["words=onnx:words"]) as notes:
        assert notes.items.put([NewItem(word, text=word) for word in ("red", "green", "dog")]).added == 3
        (results,) = notes.search(SearchRequest([Query(text="green")], k=1))
        assert results.hits[0].key == "green"
        with pytest.raises(InvalidInputError, match="does not accept a query by a picture"):
            notes.search(SearchRequest([Query("words", image=PICTURES["red"])], k=1))
    client.delete("notes")


def test_a_server_misses_a_removed_model_and_finds_it_again(
    running: RunningServer, client: Client, tmp_path: Path
) -> None:
    """A client learns the command that adds the model, which has no option for a server."""
    models = running.collections.home.models
    folder = tiny.picture_folder(tmp_path / "late", dim=7)
    models.add("late", folder)
    with client.create("late", ["onnx=onnx:late"]) as late:
        models.remove("late")
        item = [NewItem("red", image=PICTURES["red"])]
        with pytest.raises(ModelError, match=r"no model 'late', by which the view was made"):
            late.items.put(item)
        (tmp_path / "red.png").write_bytes(PICTURES["red"])
        said = run("search", "late", tmp_path / "red.png", "--server", client.address).output
        assert "crossview model add late FOLDER;" in said
        models.add("late", folder)
        assert late.items.put(item).added == 1
    client.delete("late")


def test_the_page_finds_pictures_by_words(running: RunningServer) -> None:
    with Browsing(running.http_port) as browsing:
        page = browsing.get("/c/art?q=red").text
    assert page.index('data-key="red"') < page.index('data-key="blue"')
