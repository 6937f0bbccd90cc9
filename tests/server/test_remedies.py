"""Remedies are worded for their reader: Python, command lines, or names of methods and fields."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from terminal import run
from web import JSON

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import NotFoundError
from crossview.server.client.client import Client
from crossview.server.commands.hints import STEPS
from crossview.server.edge.listen import RunningServer
from crossview.server.wire import remedies
from crossview.server.wire.methods import METHODS
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc

_COLLECTIONS = "/crossview.v1.CollectionService"
_SEARCHES = "/crossview.v1.SearchService"


@pytest.fixture
def web(server: RunningServer, nothing_stays: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.http_port}", timeout=300) as client:
        yield client


def test_each_call_in_a_remedy_has_a_method_or_a_command() -> None:
    assert remedies.METHODS_OF_STEPS.keys() | remedies.ON_SERVER.keys() == STEPS.keys()
    assert set(remedies.METHODS_OF_STEPS.values()) <= {method.name for method in METHODS.values()}
    for command in remedies.ON_SERVER.values():
        assert run(*command.split()[1:], "--help").exit_code == 0


def test_words_of_users_between_backticks_stay() -> None:
    for text in ("`", "`x y`", "`unknown.call()`", "``", "`rm -rf /`", "`1/0`"):
        assert remedies.for_programs(text) == text


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("try `holdout=0.2`", "try `holdout: 0.2`"),
        ("use `refit=True` or `views=['color', 'ü']`", 'use `refit: true` or `views: ["color", "ü"]`'),
        ("give `pairs`", "give `pairs`"),
        ("with: `collection.views.fit([], views=['text'])`", "with: `FitViews`"),
        ("with: `home.models.add('NAME', 'FOLDER')`", "with: `crossview model add` on the server"),
    ],
)
def test_words_for_programs(python: str, words: str) -> None:
    assert remedies.for_programs(python) == words


def test_every_door_has_its_own_words(server: RunningServer, web: httpx.Client, channel: grpc.Channel) -> None:
    """A client of Python gets the engine's Python, the command line commands, and all others methods."""
    with Client(server.address) as client, pytest.raises(NotFoundError, match=r"`home\.create\('none'\)`"):
        client.open("none").describe()
    with pytest.raises(grpc.RpcError) as failed:
        collections_pb2_grpc.CollectionServiceStub(channel).GetCollection(
            pb.GetCollectionRequest(name="collections/none")
        )
    over_http = web.post(f"{_COLLECTIONS}/GetCollection", content=b'{"name": "collections/none"}', headers=JSON)
    for message in (failed.value.details(), over_http.json()["message"]):
        assert "`CreateCollection`" in message
        assert "home." not in message
    assert "crossview create none" in run("show", "none", "--server", server.address).output


def test_json_alone_makes_fits_fills_trains_and_searches(web: httpx.Client, pictures: Path, home: Home) -> None:
    """The stream of FitViews takes one message, and a note names the method that gives the other rows."""

    def post(path: str, **request: object) -> Any:
        answer = web.post(path, json=request)
        assert answer.status_code == 200, answer.text
        return answer.json()

    files = sorted(pictures.glob("*/*.jpg"))
    encoded = {file: base64.b64encode(file.read_bytes()).decode() for file in files}
    items = [{"key": file.name, "labels": [file.parent.name], "image": encoded[file]} for file in files]
    post(f"{_COLLECTIONS}/CreateCollection", collectionId="new", views=["color", "sift", "gist"])
    (note,) = post(f"{_COLLECTIONS}/ImportItems", parent="collections/new", items=items[:2])["notes"]
    assert "view 'sift' is not fitted" in note
    assert note.endswith("fit it with: `FitViews`, then add them again")
    sample = [{"image": image} for image in encoded.values()]
    post(f"{_COLLECTIONS}/FitViews", parent="collections/new", pictures=sample)
    post(f"{_COLLECTIONS}/ImportItems", parent="collections/new", items=items)
    post(f"{_COLLECTIONS}/Train", parent="collections/new", learner="cca", views=["color", "sift"], dim=4)
    query = {"view": "color", "image": encoded[files[0]]}
    found = post(f"{_SEARCHES}/Search", parent="collections/new", queries=[query], targets=["sift"], k=3)
    assert len(found["results"][0]["hits"]) == 3
