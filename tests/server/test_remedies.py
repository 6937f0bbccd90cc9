"""Remedies are worded for their reader: Python, command lines, or names of methods and fields."""

import base64
import pickle
from collections.abc import Iterator
from contextvars import Context
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from messages import library_remedies
from terminal import run
from web import JSON

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import Argument, Call, NotFoundError, Remedy, Text, call
from crossview.engine.values.item import Failure, ImportReport
from crossview.server.client.client import Client
from crossview.server.commands.hints import completed
from crossview.server.edge.listen import RunningServer
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.wire.fields import to_message, to_value
from crossview.server.wire.methods import METHODS
from crossview.server.wire.remedies import STEPS, for_programs
from crossview.server.wire.status import error_in, refusal
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc

_COLLECTIONS = "/crossview.v1.CollectionService"
_SEARCHES = "/crossview.v1.SearchService"


@pytest.fixture
def web(server: RunningServer, nothing_stays: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.http_port}", timeout=300) as client:
        yield client


def test_each_call_in_a_remedy_has_a_method_or_a_command() -> None:
    """The library names every call of the table but those that the server names."""
    methods = {step.method for step in STEPS.values() if step.method}
    assert methods - {"ListOperations"} <= {method.name for method in METHODS.values()}
    for step in STEPS.values():
        assert run(*step.command.split(), "--help").exit_code == 0
    named = {remedy.name for _, remedy in library_remedies() if isinstance(remedy, Call)}
    requests = {name for name in named if "." not in name}
    assert named - requests == STEPS.keys() - {"client.jobs.list", "home.names", "keys.revoke"}


REMEDIES: list[tuple[tuple[Remedy, ...], str, str]] = [
    ((Argument("holdout", 0.2),), "`holdout=0.2`", "`holdout: 0.2`"),
    (
        (Argument("refit", True), Argument("views", ["color", "ü"])),
        "`refit=True` or `views=['color', 'ü']`",
        '`refit: true` or `views: ["color", "ü"]`',
    ),
    ((Argument("pairs"),), "`pairs`", "`pairs`"),
    ((Argument("columns", {"COLUMN": "text"}),), "`columns={'COLUMN': 'text'}`", '`columns: {"COLUMN": "text"}`'),
    (
        (call("collection.views.fit", [], views=["text"]),),
        "`collection.views.fit([], views=['text'])`",
        "`FitViews`",
    ),
    (
        (call("collection.index", ["PATH"], call("IndexOptions", labels="folder")),),
        "`collection.index(['PATH'], IndexOptions(labels='folder'))`",
        "`ImportItems`",
    ),
    (
        (call("home.models.add", "NAME", "FOLDER"),),
        "`home.models.add('NAME', 'FOLDER')`",
        "`crossview model add` on the server",
    ),
]


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        (Argument("refit", True), "--refit"),
        (Argument("max_queries"), "--max-queries"),
        (Argument("views", ["color", "sift"]), "--views color,sift"),
        (Argument("values", {"n_components": [10, 50]}), "--try n_components=10,50"),
        (Argument("settings", {"max_items": 400}), "--set max_items=400"),
        (Argument("max_pixels", 1500000), "--max-megapixels 2"),
        (
            call("collection.spaces.activate", "two words", generation=3),
            "crossview space activate NAME 'two words' --generation 3",
        ),
        (call("collection.unknown"), "`collection.unknown()`"),
    ],
)
def test_remedies_become_words_of_the_command_line(remedy: Remedy, words: str) -> None:
    """A remedy that this version does not know stays Python. Other text between backticks does not change."""
    assert Context().run(completed, Text("`no remedy`: ", remedy, "!")) == f"`no remedy`: {words}!"


@pytest.mark.parametrize(("remedies", "python", "words"), REMEDIES)
def test_remedies_are_words_and_data(remedies: tuple[Remedy, ...], python: str, words: str) -> None:
    """An error is a message in Python, a status has other words and the remedies as data, and a client has both."""
    parts = [part for remedy in remedies for part in (" or ", remedy)][1:]
    error = NotFoundError("try ", *parts)
    assert (str(error), error.remedies) == (f"try {python}", remedies)
    assert for_programs(str(error)) == f"try {words}"
    status = refusal(error).status
    assert status.message == f"try {words}"
    for again in (error_in(status), pickle.loads(pickle.dumps(error))):  # noqa: S301  # our own
        assert (type(again), str(again), again.remedies) == (NotFoundError, str(error), remedies)


def test_a_status_of_an_earlier_server_has_its_message_alone() -> None:
    status = refusal(NotFoundError("try ", Argument("refit", True))).status
    del status.details[1]
    assert str(error_in(status)) == "try `refit=True`"
    del status.details[0]
    assert str(error_in(status)) == "try `refit: true`"


def test_large_remedies_stay_words() -> None:
    """The trailers of a response are limited."""
    error = NotFoundError("ignore ", Argument("ignore_labels", ["a" * 60] * 12))
    status = refusal(error).status
    assert len(status.details) == 1
    assert str(error_in(status)) == str(error)


def test_answers_keep_the_remedies_of_their_texts() -> None:
    note = Text("fit it with: ", call("collection.views.fit", [], views=["text"]))
    failure = Failure("a", Text("raise ", Argument("max_pixels", 3)))
    sent = to_message(pb.ImportItemsResponse, ImportReport(notes=("plain", note), failures=(failure,)))
    report = to_value(ImportReport, sent)
    assert [getattr(one, "remedies", ()) for one in report.notes] == [(), note.remedies]
    assert report.failures[0].reason.remedies == failure.reason.remedies


def test_people_read_places_of_the_pages() -> None:
    """A call without a page is a command."""
    parts = (
        "ask: ",
        call("collection.questions.next"),
        ", ",
        call("home.backup", "N", "F"),
        ", ",
        Argument("holdout", 0.2),
    )
    assert PageError(400, Text(*parts)).message == "ask: Teach, the command crossview backup, “Held out to measure” 0.2"


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
