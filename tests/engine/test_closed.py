"""A collection that was closed says so, whatever is asked of it, and does nothing."""

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crossview.engine.changes.request import ChangesRequest
from crossview.engine.collection import Collection
from crossview.engine.errors import NotReadyError
from crossview.engine.evaluation import EvaluationRequest
from crossview.engine.home import Home
from crossview.engine.item import ItemUpdate, NewItem
from crossview.engine.query import CalibrationRequest, Query, SameRequest, SearchRequest, SuggestRequest
from crossview.engine.recipe import Recipe

QUERY = Query("v", key="a")
VECTOR = Query("v", vector=np.ones(2, np.float32))
ASKED: dict[str, Callable[[Collection], object]] = {
    "index": lambda one: one.index([]),
    "update_items": lambda one: one.update_items([ItemUpdate("a")]),
    "import_items": lambda one: one.import_items([NewItem("a", rows={"v": [1, 2]})]),
    "annotate": lambda one: one.annotate(Path(one._folder.path, "labels.csv")),
    "index_vectors": lambda one: one.index_vectors("v", Path(one._folder.path, "rows.npy")),
    "put_vectors": lambda one: one.put_vectors("v", ["a"], np.ones((1, 2), np.float32)),
    "add_view": lambda one: one.add_view("w=vectors:dim=2"),
    "fit_views": lambda one: one.fit_views([]),
    "delete_items": lambda one: one.delete_items(["a"]),
    "train": lambda one: one.train(Recipe(spec="pca", views=("v",))),
    "extend": lambda one: one.extend("pca", ["v"]),
    "assign": lambda one: one.assign("pca", "x"),
    "activate": lambda one: one.activate("raw"),
    "delete_space": lambda one: one.delete_space("pca"),
    "delete_view": lambda one: one.delete_view("v"),
    "compact": lambda one: one.compact(),
    "search": lambda one: one.search(SearchRequest([VECTOR])),
    "search_at_hand": lambda one: one.search_at_hand(SearchRequest([VECTOR]), 1 << 20, 100),
    "least_bytes": lambda one: one.least_bytes(),
    "suggest": lambda one: one.suggest(SuggestRequest([QUERY])),
    "embed": lambda one: one.embed([VECTOR]),
    "embed_items": lambda one: one.embed_items("v"),
    "evaluate": lambda one: one.evaluate(EvaluationRequest(view="v")),
    "questions": lambda one: one.questions,
    "calibrate": lambda one: one.calibrate(CalibrationRequest(view="v")),
    "same": lambda one: one.same(SameRequest([(QUERY, QUERY)])),
    "changes": lambda one: one.changes(ChangesRequest()),
    "info": lambda one: one.info(),
    "findings": lambda one: one.findings(),
    "deleted_pictures": lambda one: one.deleted_pictures(),
    "views": lambda one: one.views(),
    "spaces": lambda one: one.spaces(),
    "space": lambda one: one.space("raw"),
    "made_by": lambda one: one.made_by("x"),
    "items": lambda one: one.items(),
    "count": lambda one: one.count(),
    "item": lambda one: one.item("a"),
    "load": lambda one: one.load(),
    "attribute_names": lambda one: one.attribute_names(),
    "thumbnail": lambda one: one.thumbnail("a"),
}
ALWAYS = {"name", "is_alive", "close"}
"""What needs no open catalog."""


@pytest.fixture
def closed(home: Home) -> Collection:
    with home.create("shut", ["v=vectors:dim=2"]) as made:
        made.import_items([NewItem(key, rows={"v": [number, 1]}) for number, key in enumerate("abc")])
        made.search(SearchRequest([VECTOR]))
    np.save(made._folder.path / "rows.npy", np.ones((3, 2), np.float32))
    (made._folder.path / "labels.csv").write_text("key,label\na,x\n")
    return made


def test_every_public_method_says_that_the_collection_is_closed(closed: Collection):
    """And one that is new must be among them."""
    public = {name for name, _ in inspect.getmembers(Collection) if not name.startswith("_")}
    assert public == ASKED.keys() | ALWAYS
    for name, ask in ASKED.items():
        with pytest.raises(NotReadyError, match=r"collection 'shut' is closed: open it again"):
            pytest.fail(f"{name} returned {ask(closed)!r}")


def test_it_may_be_closed_again(closed: Collection, home: Home):
    closed.close()
    assert (closed.name, closed.is_alive()) == ("shut", True)
    with home.open("shut") as again:
        assert again.count() == 3


def test_questions_that_outlive_their_collection_say_so(home: Home):
    """The catalog itself refuses, also for who was in the middle of something."""
    with home.create("shut", ["v=vectors:dim=2"]) as made:
        questions = made.questions
    with pytest.raises(NotReadyError, match="is closed: open it again"):
        questions.answers()
