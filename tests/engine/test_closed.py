"""A closed collection says so to every call, and does nothing."""

import inspect
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.collections.items import Items
from crossview.engine.collections.maps import Maps
from crossview.engine.collections.memory import Memory
from crossview.engine.collections.spaces import Spaces
from crossview.engine.collections.storage import Storage
from crossview.engine.collections.views import Views
from crossview.engine.values.changes import ChangesRequest
from crossview.engine.values.conditions.filter import EVERY_ITEM
from crossview.engine.values.duplicate import DuplicatesRequest
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.explanation import ExplainRequest
from crossview.engine.values.item import FileChanges, ItemUpdate, NewItem
from crossview.engine.values.map import MapRequest
from crossview.engine.values.query import CalibrationRequest, Query, SameRequest, SearchRequest, SuggestRequest
from crossview.engine.values.recipe import Recipe

QUERY = Query("v", key="a")
VECTOR = Query("v", vector=np.ones(2, np.float32))
ASKED: dict[str, Callable[[Collection], object]] = {
    "index": lambda one: one.index([]),
    "items.update": lambda one: one.items.update([ItemUpdate("a")]),
    "items.put": lambda one: one.items.put([NewItem("a", rows={"v": [1, 2]})]),
    "items.annotate": lambda one: one.items.annotate(Path(one._opened.folder.path, "labels.csv")),
    "items.index_vectors": lambda one: one.items.index_vectors("v", Path(one._opened.folder.path, "rows.npy")),
    "items.put_vectors": lambda one: one.items.put_vectors("v", ["a"], np.ones((1, 2), np.float32)),
    "views.add": lambda one: one.views.add("w=vectors:dim=2"),
    "views.fit": lambda one: one.views.fit([]),
    "views.unusable": lambda one: one.views.unusable(),
    "items.delete": lambda one: one.items.delete(["a"]),
    "train": lambda one: one.train(Recipe(spec="pca", views=("v",))),
    "spaces.extend": lambda one: one.spaces.extend("pca", ["v"]),
    "spaces.assign": lambda one: one.spaces.assign("pca", "x"),
    "spaces.activate": lambda one: one.spaces.activate("raw"),
    "spaces.delete": lambda one: one.spaces.delete("pca"),
    "views.delete": lambda one: one.views.delete("v"),
    "storage.compact": lambda one: one.storage.compact(),
    "search": lambda one: one.search(SearchRequest([VECTOR])),
    "memory.search": lambda one: one.memory.search(SearchRequest([VECTOR]), 1 << 20, 100),
    "memory.least_bytes": lambda one: one.memory.least_bytes(),
    "explain": lambda one: one.explain(ExplainRequest(SearchRequest([VECTOR]))),
    "suggest": lambda one: one.suggest(SuggestRequest([QUERY])),
    "embed": lambda one: one.embed([VECTOR]),
    "items.embed": lambda one: one.items.embed("v"),
    "audit": lambda one: one.audit(),
    "items.neighbors": lambda one: one.items.neighbors("v"),
    "evaluate": lambda one: one.evaluate(EvaluationRequest(view="v")),
    "questions": lambda one: one.questions,
    "feedback": lambda one: one.feedback,
    "duplicates": lambda one: one.duplicates(DuplicatesRequest()),
    "duplicate_judgements": lambda one: one.duplicate_judgements,
    "spaces.calibrate": lambda one: one.spaces.calibrate(CalibrationRequest(view="v")),
    "same": lambda one: one.same(SameRequest([(QUERY, QUERY)])),
    "changes": lambda one: one.changes(ChangesRequest()),
    "info": lambda one: one.info(),
    "storage.findings": lambda one: one.storage.findings(),
    "items.deleted": lambda one: one.items.deleted(),
    "items.deleted_after": lambda one: one.items.deleted_after("", 1),
    "views": lambda one: one.views(),
    "spaces": lambda one: one.spaces(),
    "spaces.get": lambda one: one.spaces.get("raw"),
    "spaces.reindex": lambda one: one.spaces.reindex("raw"),
    "memory.recalls": lambda one: one.memory.recalls(),
    "spaces.made_by": lambda one: one.spaces.made_by("x"),
    "items": lambda one: one.items(),
    "count": lambda one: one.count(),
    "items.count": lambda one: one.items.count(),
    "items.get": lambda one: one.items.get("a"),
    "items.page": lambda one: one.items.page(EVERY_ITEM, "", 1),
    "search_pages": lambda one: next(one.search_pages(SearchRequest([VECTOR]))),
    "open_pages": lambda one: one.open_pages(SearchRequest([VECTOR])),
    "memory.figures": lambda one: one.memory.figures(),
    "memory.load": lambda one: one.memory.load(),
    "items.counts": lambda one: one.items.counts("label"),
    "items.facets": lambda one: one.items.facets(["label"]),
    "items.follow_files": lambda one: one.items.follow_files(FileChanges(missing=("a",))),
    "items.keys": lambda one: one.items.keys(),
    "items.attribute_names": lambda one: one.items.attribute_names(),
    "items.thumbnail": lambda one: one.items.thumbnail("a"),
    "items.thumbnails": lambda one: one.items.thumbnails(["a"]),
    "maps": lambda one: one.maps(),
    "maps.make": lambda one: one.maps.make(MapRequest(method="pca")),
    "maps.get": lambda one: one.maps.get(1),
    "maps.points": lambda one: one.maps.points(1),
    "maps.delete": lambda one: one.maps.delete(1),
}
ALWAYS = {"name", "opened", "storage.is_alive", "memory.runs_models_on_texts", "close"}
"""Names that need no open catalog."""
SERVICES = {"items": Items, "views": Views, "spaces": Spaces, "maps": Maps, "memory": Memory, "storage": Storage}


@pytest.fixture
def closed(home: Home) -> Collection:
    with home.create("shut", ["v=vectors:dim=2"]) as made:
        made.items.put([NewItem(key, rows={"v": [number, 1]}) for number, key in enumerate("abc")])
        made.search(SearchRequest([VECTOR]))
    np.save(made._opened.folder.path / "rows.npy", np.ones((3, 2), np.float32))
    (made._opened.folder.path / "labels.csv").write_text("key,label\na,x\n")
    return made


def test_every_public_method_says_that_the_collection_is_closed(closed: Collection):
    """A new method must be among them."""
    public = {name for name, _ in inspect.getmembers(Collection) if not name.startswith("_")}
    public |= {name for name, kind in SERVICES.items() if callable(getattr(closed, name))}
    for service, kind in SERVICES.items():
        public |= {f"{service}.{name}" for name, _ in inspect.getmembers(kind) if not name.startswith("_")}
    assert public == ASKED.keys() | ALWAYS
    assert {name for name in vars(closed) if not name.startswith("_")} == SERVICES.keys()
    for name, ask in ASKED.items():
        with pytest.raises(NotReadyError, match=r"collection 'shut' is closed: open it again"):
            pytest.fail(f"{name} returned {ask(closed)!r}")


def test_it_may_be_closed_again(closed: Collection, home: Home):
    closed.close()
    assert (closed.name, closed.storage.is_alive()) == ("shut", True)
    with home.open("shut") as again:
        assert again.count() == 3


def test_questions_that_outlive_their_collection_say_so(home: Home):
    """The catalog itself refuses, also in the middle of a call."""
    with home.create("shut", ["v=vectors:dim=2"]) as made:
        questions = made.questions
    with pytest.raises(NotReadyError, match="is closed: open it again"):
        questions.answers()


def test_who_comes_while_a_collection_closes_opens_no_connection(home: Home) -> None:
    """A thread may have passed the check before."""
    with home.create("one", ["v=vectors:dim=2"]) as made:
        database = made._opened.catalog._database
        made.items.put_vectors("v", ["a"], np.ones((1, 2), np.float32))
        made.search(SearchRequest([QUERY]))
    for late in (lambda: database._lookup.row("SELECT 1"), lambda: database._watch.row("SELECT 1"), database._reading):
        with pytest.raises(NotReadyError, match="the collection is closed"):
            late()
    still_open = [os.path.realpath(one) for one in Path("/proc/self/fd").iterdir()]
    assert not [one for one in still_open if one.startswith(str(home.path.resolve()))]
