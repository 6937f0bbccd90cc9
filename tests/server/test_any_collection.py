"""One suite for a collection here, on a server, and on a server from an event loop: the answers are the same."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.items import Items
from crossview.engine.collections.maps import Maps
from crossview.engine.collections.spaces import Spaces
from crossview.engine.collections.storage import Storage
from crossview.engine.collections.views import Views
from crossview.engine.findings.duplicates.judging import DuplicateJudgements
from crossview.engine.findings.questions.asking import Questions
from crossview.engine.findings.questions.feedback import Feedback
from crossview.engine.values.any_collection import (
    AnyCollection,
    AnyDuplicateJudgements,
    AnyFeedback,
    AnyItems,
    AnyMaps,
    AnyQuestions,
    AnySpaces,
    AnyStorage,
    AnyViews,
)
from crossview.engine.values.audit import AuditRequest
from crossview.engine.values.changes import ChangesRequest
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.duplicate import DuplicatesRequest
from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.explanation import ExplainRequest
from crossview.engine.values.item import FileChanges, FileMove, IndexOptions, ItemUpdate, NewItem
from crossview.engine.values.map import MapRequest
from crossview.engine.values.query import CalibrationRequest, Query, SameRequest, SearchRequest, SuggestRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.client import AsyncClient, Client
from crossview.server.client.detached import DetachedCollection
from crossview.server.client.remote_collection import AsyncCollection, RemoteCollection
from crossview.server.client.remote_items import RemoteItems, RemoteViews
from crossview.server.client.remote_judgements import RemoteDuplicateJudgements, RemoteFeedback, RemoteQuestions
from crossview.server.client.remote_spaces import RemoteMaps, RemoteSpaces, RemoteStorage
from crossview.server.client.script import Scripts
from crossview.server.edge.listen import RunningServer

KEY, OTHER = "pictures/dots/dots-00.jpg", "pictures/waves/waves-01.jpg"
QUERY = Query("color", key=KEY)
MAP = MapRequest(view="color", target="sift", method="pca", filter=Filter("label = dots"))
CCA = Recipe(spec="cca", views=("color", "sift"), dim=2, holdout=0.2)
VOLATILE = {"seconds", "created", "version", "fit_seconds", "sequence", "name", "updated"}
Steps = dict[str, Callable[[Any], Any]]

READS: Steps = {
    "name": lambda c: c.name,
    "info": lambda c: c.info(),
    "storage.findings": lambda c: c.storage.findings(),
    "views": lambda c: c.views(),
    "spaces": lambda c: c.spaces(),
    "spaces.get": lambda c: c.spaces.get("cca"),
    "items": lambda c: c.items(Filter(labels=("dots",)), after=KEY, limit=3),
    "items.get": lambda c: c.items.get(KEY),
    "count": lambda c: c.count(Filter(labels=("dots",))),
    "items.count": lambda c: c.items.count(Filter(labels=("dots",))),
    "items.keys": lambda c: c.items.keys(),
    "items.attribute_names": lambda c: c.items.attribute_names(),
    "items.counts": lambda c: c.items.counts("label", "not label = dots"),
    "items.facets": lambda c: c.items.facets(["label", "key"], "not label = dots", below="a/b"),
    "items.deleted": lambda c: c.items.deleted(),
    "items.thumbnail": lambda c: c.items.thumbnail(KEY, "large"),
    "items.thumbnails": lambda c: c.items.thumbnails([KEY, "no-such", OTHER, KEY] * 150),
    "maps": lambda c: c.maps(),
    "maps.get": lambda c: c.maps.get(1),
    "maps.points": lambda c: c.maps.points(1),
    "short search": lambda c: c.search(view="color", key=KEY, k=4),
    "search": lambda c: c.search(SearchRequest([QUERY], k=4)),
    "search_pages": lambda c: list(c.search_pages(SearchRequest([QUERY]), 7)),
    "explain": lambda c: c.explain(ExplainRequest(SearchRequest([QUERY], k=4))),
    "explain by every view": lambda c: c.explain(ExplainRequest(SearchRequest([Query(key=KEY)], k=4, space="raw"))),
    "suggest": lambda c: c.suggest(SuggestRequest([QUERY], space="raw")),
    "same": lambda c: c.same(SameRequest([(QUERY, Query("color", key=OTHER))])),
    "changes": lambda c: c.changes(ChangesRequest()),
    "duplicates": lambda c: c.duplicates(DuplicatesRequest()),
    "duplicate_judgements": lambda c: c.duplicate_judgements.list(),
    "embed": lambda c: c.embed([QUERY], targets=["sift"]),
    "items.embed": lambda c: c.items.embed("color", limit=3),
    "audit": lambda c: c.audit(AuditRequest(files=False)),
    "items.neighbors": lambda c: c.items.neighbors("color", target="sift", k=2, limit=3),
    "evaluate": lambda c: c.evaluate(EvaluationRequest(view="color", k=(2, 3))),
    "questions": lambda c: c.questions.answers(),
}
"""Steps that change nothing; a refusal counts as an answer."""

NOUNS: dict[str, tuple[type, type, type]] = {
    "": (AnyCollection, Collection, RemoteCollection),
    "items": (AnyItems, Items, RemoteItems),
    "views": (AnyViews, Views, RemoteViews),
    "spaces": (AnySpaces, Spaces, RemoteSpaces),
    "maps": (AnyMaps, Maps, RemoteMaps),
    "storage": (AnyStorage, Storage, RemoteStorage),
    "questions": (AnyQuestions, Questions, RemoteQuestions),
    "feedback": (AnyFeedback, Feedback, RemoteFeedback),
    "duplicate_judgements": (AnyDuplicateJudgements, DuplicateJudgements, RemoteDuplicateJudgements),
}
"""The methods that both have of each noun of a collection, those of a collection here, and those of a server."""
STORIES = {"questions", "feedback", "duplicate_judgements"}
"""The nouns that one step of the suite tells as a whole."""


def fed_back(c: Any) -> list[Any]:
    """Run a story of feedback: judgements of two people, a search that continues with them, and remembered answers."""
    others = [item.key for item in c.items("label = waves", limit=2)]
    return [
        c.feedback.judge("dots", [KEY], {OTHER: 0.5}, person="ann"),
        c.feedback.judge("dots", {"pictures/dots/dots-01.jpg": 2}, others, person="ann"),
        c.feedback.judge("dots", OTHER, person="bob"),
        c.feedback.get("dots"),
        c.search(feedback="dots", space="raw", k=3),
        c.search(SearchRequest([Query("color")], combine="mean", feedback="dots", space="raw", k=3)),
        c.feedback.remember("dots", "kind"),
        c.feedback.undo("dots", "bob"),
        c.feedback.delete("dots", others),
        c.feedback.list(),
        c.feedback.forget("dots", person="ann"),
        c.questions.answers(),
        c.feedback.delete("dots"),
    ]


def writes(pictures: Path, folder: Path) -> Steps:
    """Return the steps that change a collection, in the order of a story."""
    (folder / "labels.csv").write_text(f"file,mood\n{KEY.rpartition('/')[2]},calm\n")
    np.save(folder / "rows.npy", np.eye(2, dtype=np.float32))
    (folder / "keys.txt").write_text("a\nb\n")
    rows = {"v": np.ones(2, np.float32)}
    return {
        "index": lambda c: c.index([pictures], IndexOptions(labels="folder", workers=1)),
        "views.add": lambda c: c.views.add("v=vectors:dim=2"),
        "items.put": lambda c: c.items.put([NewItem("a", rows=rows), NewItem("", rows=rows)]),
        "items.index_vectors": lambda c: c.items.index_vectors("v", folder / "rows.npy", folder / "keys.txt"),
        "items.put_vectors": lambda c: c.items.put_vectors("v", ["a", "c"], np.ones((2, 2), np.float32)),
        "items.update": lambda c: c.items.update([ItemUpdate("a", attributes={"n": 1}), ItemUpdate("no-such")]),
        "items.annotate": lambda c: c.items.annotate(folder / "labels.csv", new_attributes=True),
        "items.follow_files": lambda c: c.items.follow_files(
            FileChanges((FileMove("a", "moved", "/a.png"),), ("b", "no-such"))
        ),
        "items.delete": lambda c: c.items.delete(["moved", "no-such"]),
        "views.fit": lambda c: c.views.fit([], views=["sift"]),
        "train": lambda c: c.train(
            Recipe(spec="cca", views=("color", "sift"), dim=2, holdout=0.2), request_id=folder.name
        ),
        "maps.make": lambda c: [c.maps.make(MAP), c.maps.points(1, field="label", after=2, limit=3), c.maps.get(1)],
        "maps.delete": lambda c: (c.maps.make(MapRequest(method="pca", view="color")), c.maps.delete(2), c.maps()),
        "spaces.extend": lambda c: c.spaces.extend("cca", ["color"]),
        "spaces.assign": lambda c: c.spaces.assign("cca", "dots"),
        "spaces.reindex": lambda c: c.spaces.reindex("raw", index="ivf", recall=0.9, targets=["color"]),
        "spaces.activate": lambda c: c.spaces.activate("raw"),
        "spaces.calibrate": lambda c: c.spaces.calibrate(CalibrationRequest(view="color", target="color", space="raw")),
        "spaces.delete": lambda c: c.spaces.delete("cca"),
        "views.delete": lambda c: c.views.delete("v"),
        "questions": lambda c: c.questions.undo("color", "nobody"),
        "feedback": fed_back,
        "close": lambda c: c.close(),
    }


class Awaiting:
    """An asynchronous object as a blocking one: each method waits for the event loop of another thread."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop

    def __call__(self, *args: Any, **named: Any) -> Any:
        result = self._inner(*args, **named)
        running = _all(result) if isinstance(result, AsyncIterator) else result
        return asyncio.run_coroutine_threadsafe(running, self._loop).result(300)

    def __getattr__(self, name: str) -> Any:
        if name == "close":
            return lambda: None  # it belongs to the client
        value = getattr(self._inner, name)
        return Awaiting(value, self._loop) if callable(value) or isinstance(value, Scripts) else value


async def _all(iterated: AsyncIterator[Any]) -> list[Any]:
    return [part async for part in iterated]


Open = Callable[[str], AnyCollection]


@pytest.fixture(params=["local", "remote", "asynchronous"])
def opened(request: pytest.FixtureRequest, server: RunningServer, nothing_stays: None) -> Iterator[Open]:
    """Return a function that opens collections of one home in one of three ways."""
    if request.param == "local":
        yield server.collections.home.open
        return
    if request.param == "remote":
        with Client(server.address, timeout=300) as client:
            yield client.open
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def connect() -> AsyncClient:
        return AsyncClient(server.address, timeout=300)

    connected = asyncio.run_coroutine_threadsafe(connect(), loop).result(300)
    yield lambda name: cast(AnyCollection, Awaiting(connected.collection(name), loop))
    asyncio.run_coroutine_threadsafe(connected.close(), loop).result(300)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.parametrize("name", READS)
def test_what_is_read_is_the_same(opened: Open, server: RunningServer, name: str) -> None:
    """Errors are, too, not only answers."""
    with server.collections.home.open("drawn") as local:
        assert outcome(READS[name], opened("drawn")) == outcome(READS[name], local)


def test_what_is_written_is_the_same(opened: Open, server: RunningServer, pictures: Path, tmp_path: Path) -> None:
    """A story makes every change, on a collection here and on one of each side."""
    home, steps = server.collections.home, writes(pictures, tmp_path)
    for name in ("here", "there"):
        home.create(name, views=("color", "sift:words=8")).close()
    with home.open("here") as local:
        here = {name: outcome(step, local) for name, step in steps.items()}
        there = {name: outcome(step, opened("there")) for name, step in steps.items()}
    assert there == here


def methods(cls: type) -> set[str]:
    """Return the public methods of a class, and ``__call__``."""
    return {name for name, value in vars(cls).items() if callable(value) and (name[0] != "_" or name == "__call__")}


def test_every_method_is_in_the_suite(tmp_path: Path) -> None:
    """A method that is added to the protocol needs a step."""
    steps = {
        f"{noun}.{name}".strip(".").removesuffix(".__call__") for noun in NOUNS for name in methods(NOUNS[noun][0])
    }
    named_steps = {step for step in steps if step.partition(".")[0] not in STORIES} | STORIES
    assert set(READS) | set(writes(tmp_path, tmp_path)) == named_steps | {
        "name",
        "short search",
        "explain by every view",
    }


@pytest.mark.parametrize("noun", NOUNS)
def test_a_collection_here_and_on_a_server_have_the_same_methods(noun: str) -> None:
    """Both have the methods of the protocol, with the same parameters, blocking and awaited."""
    both, here, there = NOUNS[noun]
    for name in methods(both):
        parameters = parameters_of(here, name)
        assert parameters_of(there, name) == parameters
        if not noun and name != "close":  # an asynchronous collection has nothing to close
            assert parameters_of(AsyncCollection, name) == parameters


def parameters_of(cls: type, name: str) -> list[tuple[str, Any, Any]]:
    """Return names, kinds and defaults of a method's parameters."""
    return [(one.name, one.kind, one.default) for one in inspect.signature(getattr(cls, name)).parameters.values()]


@pytest.mark.parametrize("cls", [RemoteCollection, AsyncCollection, DetachedCollection])
def test_earlier_names_of_clients_warn(server: RunningServer, cls: type) -> None:
    """An earlier name stands for the method of a noun for one version."""
    with Client(server.address) as client:
        for earlier, name in cls.EARLIER.items():
            with pytest.warns(DeprecationWarning, match=f"^{earlier} is now {name}$"):
                assert callable(getattr(cls(client, "drawn"), earlier))
        with pytest.raises(AttributeError, match="no_such"):
            cls(client, "drawn").no_such  # noqa: B018


def outcome(step: Callable[[Any], Any], collection: Any) -> Any:
    """Return the result of a step, as plain values without those that differ from run to run."""
    try:
        return plain(step(collection))
    except CrossviewError as error:
        return type(error), str(error).replace(collection.name, "NAME")


def plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value) if one.name not in VOLATILE}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
