"""A space with approximate indexes keeps its promise of recall for queries of each view, and knows when it does not."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.spaces import generations, index_recall
from crossview.engine.values import plan
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.index_choice import Curve, IndexChoice, MeasuredRecall, Point
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe
from crossview.index.binary_lists import BinaryListsSearcher
from crossview.index.faiss_base import ApproximateSearcher

COUNT, DIM = 1200, 8


@pytest.fixture(autouse=True)
def small_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApproximateSearcher, "least_rows", 200)
    monkeypatch.setattr(BinaryListsSearcher, "_is_large", lambda self, rows: rows >= 200)
    for kind in ApproximateSearcher.__subclasses__():
        monkeypatch.setattr(kind, "few", 20)


def rows(count: int, seed: int) -> dict[str, np.ndarray]:
    """Return two views of the same hidden clusters."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(size=(20, DIM))
    hidden = centers[rng.integers(20, size=count)] + 0.4 * rng.normal(size=(count, DIM))
    other = hidden @ np.random.default_rng(1).normal(size=(DIM, DIM)) + 0.2 * rng.normal(size=(count, DIM))
    return {"a": hidden.astype(np.float32), "b": other.astype(np.float32)}


@pytest.fixture
def many(home: Home) -> Collection:
    made, views = home.create("many", [f"a=vectors:dim={DIM}", f"b=vectors:dim={DIM}"]), rows(COUNT, seed=2)
    made.items.put(
        [
            NewItem(
                f"{n:04}",
                rows={view: values[n] for view, values in views.items()},
                attributes={"n": n % 100},
                labels=(f"l{n % 3}",),
            )
            for n in range(COUNT)
        ]
    )
    return made


def hits(collection: Collection, view: str, count: int = 40, **options) -> list[list[float]]:
    queries = [Query(view, vector=one) for one in rows(count, seed=3)[view]]
    return [[hit.distance for hit in one.hits] for one in collection.search(SearchRequest(queries, **options))]


def recall(found: list[list[float]], truth: list[list[float]]) -> float:
    assert [len(one) for one in found] == [len(one) for one in truth]
    return float(np.mean([np.array(one) <= other[-1] * 1.00001 for one, other in zip(found, truth, strict=True)]))


@pytest.mark.parametrize("kind", ["ivf", "scan", "hnsw"])
@pytest.mark.parametrize("options", [{}, {"k": 100}, {"filter": "n < 30"}, {"filter": "n < 5"}], ids=str)
def test_searches_within_and_across_views_find_what_the_index_promises(many, kind, options):
    many.train(Recipe(spec="cca:6", holdout=0.5))
    info = many.spaces.reindex("cca", index=kind, recall=0.95)
    assert [(one.target, one.kind) for one in info.indexes] == [("a", kind), ("b", kind)]
    assert {one.view for index in info.indexes for one in index.searches} == {"a", "b"}
    assert all(one.effort > 0 and one.recall > 0.9 for index in info.indexes for one in index.searches)
    for view in ("a", "b"):
        for target in ("a", "b"):
            truth = hits(many, view, targets=target, exact=True, **options)
            assert recall(hits(many, view, targets=target, **options), truth) >= 0.9


def test_a_reopened_collection_has_the_index_and_its_recall(many, home, monkeypatch):
    many.spaces.reindex("raw", index="ivf")
    effort = many.spaces.get("raw").indexes[0].searches[0].effort
    many.close()
    monkeypatch.setattr(ApproximateSearcher.__subclasses__()[0], "_new_base", None)
    with home.open("many") as again:
        assert recall(hits(again, "a", space="raw"), hits(again, "a", space="raw", exact=True)) >= 0.95
        assert again.spaces.get("raw").indexes[0].searches[0].effort == effort > 0


def test_another_process_takes_over_the_index(many, home):
    """A second open collection stands for the other process: it shares nothing but the catalog."""
    with Home(home.path).open("many") as other:
        before = hits(other, "a", space="raw")
        many.spaces.reindex("raw", index="ivf", vectors="float16")
        after = hits(other, "a", space="raw", exact=True)
        assert after != before  # half floats are rounded
        assert np.allclose(after, before, rtol=1e-2)
        many.spaces.reindex("raw", index="flat")
        assert hits(other, "a", space="raw") == before


def test_retraining_keeps_the_kind_that_was_asked_for(many):
    many.train(Recipe(spec="cca:6"))
    many.spaces.reindex("cca", index="hnsw", recall=0.9, targets="b")
    many.train(Recipe(spec="cca:6"))
    (kept,) = many.spaces.get("cca").indexes
    assert (kept.target, kept.kind, kept.recall, len(kept.searches)) == ("b", "hnsw", 0.9, 2)


def test_a_training_of_many_items_chooses_lists(many, monkeypatch):
    monkeypatch.setattr(plan, "MANY", COUNT)
    info = many.train(Recipe(spec="cca:6"))
    assert [(one.kind, one.asked) for one in info.indexes] == [("ivf", "auto")] * 2
    monkeypatch.setattr(generations, "available_memory", lambda: COUNT * DIM)
    assert [one.kind for one in many.spaces.reindex("raw").indexes] == ["scan", "scan"]


def test_writes_are_found_at_once_and_deleted_items_never(many):
    many.spaces.reindex("raw", index="ivf")
    query = Query("a", vector=rows(1, seed=9)["a"][0])
    many.items.put([NewItem("new", rows={"a": query.vector}), NewItem("0001", rows={"a": query.vector})])
    many.items.delete(["0002"])
    (found,) = many.search(SearchRequest([query], space="raw", k=100))
    assert {hit.key for hit in found.hits[:2]} == {"new", "0001"}
    assert "0002" not in {hit.key for hit in found.hits}


def test_a_deleted_view_forgets_its_choice(many):
    many.spaces.reindex("raw", index="ivf")
    many.views.delete("b")
    assert [one.target for one in many.spaces.get("raw").indexes] == ["a"]


def test_live_recall_finds_a_broken_index_within_a_thousand_queries(many, monkeypatch, caplog):
    """The effort is spoiled on purpose: searches compare hardly any candidates, and the promise stays."""
    monkeypatch.setattr(index_recall.random, "random", np.random.default_rng(0).random)
    many.spaces.reindex("raw", index="scan")
    asked = [Query("a", vector=one) for one in rows(1000, seed=4)["a"]]
    versions = many._opened.versions()

    def ask() -> index_recall.LiveFigure:
        versions.live._checked.clear()
        for query in asked:
            many.search(SearchRequest([query], space="raw"))
        versions.live.wait()
        ((place, figure),) = versions.live.figures().items()
        assert place[:1] + place[2:] == ("raw", "a", "a")
        return figure

    with caplog.at_level(logging.WARNING):
        good = ask()
        assert good.queries >= 4
        assert not caplog.records
        monkeypatch.setattr(IndexChoice, "effort", lambda *_: 1)
        broken = ask()
    assert broken.recall + 3 * broken.error < 0.99 <= good.recall + 3 * good.error
    assert "`collection.spaces.reindex('raw')`" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index": "tree"}, "an index is auto, flat, scan, ivf or hnsw, not 'tree'"),
        ({"recall": 0}, "above 0 and at most 1, not 0"),
        ({"vectors": "int8"}, "float32 or float16, not as 'int8'"),
        ({"targets": "c"}, "has no target 'c'; there are: a, b"),
    ],
)
def test_wrong_choices_are_refused(many, options, message):
    with pytest.raises(InvalidInputError, match=message):
        many.spaces.reindex("raw", **options)


def test_codes_have_no_choice_of_index(many):
    many.train(Recipe(spec="npp-hash:16"))
    with pytest.raises(InvalidInputError, match="contains codes, whose index suits every size"):
        many.spaces.reindex("npp-hash")


def test_a_search_states_its_recall_once(many):
    with pytest.raises(InvalidInputError, match="an exact search has recall 1"):
        SearchRequest([], exact=True, recall=0.9)
    with pytest.raises(InvalidInputError, match="above 0 and at most 1, not 2"):
        hits(many, "a", recall=2.0)


def test_efforts_grow_with_k_and_with_narrower_filters():
    points = tuple(Point(effort, 1 - 1 / effort, 0.0) for effort in (2, 10, 100))
    harder = tuple(replace_effort(point, 3) for point in points)
    measured = MeasuredRecall(
        view="a",
        queries=1,
        curves=(
            Curve(k=10, points=points),
            Curve(k=100, points=harder),
            Curve(k=10, share=0.1, points=harder),
            Curve(k=10, share=0.1, points=tuple(replace_effort(point, 7) for point in points), correlated=True),
        ),
    )
    choice = IndexChoice(kind="ivf", recall=0.9, measured=(measured,))
    assert choice.effort("a", 10, 1.0) == 10
    assert choice.effort("a", 11, 1.0) == choice.effort("a", 100, 1.0) == 30
    assert choice.effort("a", 1000, 1.0) == 300
    assert choice.effort("a", 10, 0.5) == choice.effort("a", 10, 0.1) == 30
    assert choice.effort("a", 10, 0.01) == 300
    assert choice.effort("a", 10, 0.1, correlated=True) == 70
    assert choice.effort("a", 10, 1.0, 0.99) == 100
    assert choice.effort("a", 10, 1.0, 0.999) == choice.effort("a", 10, 1.0, 1.0) == choice.effort("b", 10, 1.0) == 0
    assert IndexChoice.from_json(choice.to_json()) == choice
    assert replace(choice, recall=0.99).effort("a", 10, 1.0) == 100
    fewer = replace(choice, items=1000)
    assert fewer.effort("a", 10, 1.0, items=990) == fewer.effort("a", 10, 1.0, items=2000) == 10
    assert fewer.effort("a", 10, 1.0, items=800) == choice.effort("a", 12, 1.0) == 30
    assert fewer.effort("a", 100, 1.0, items=500) == choice.effort("a", 200, 1.0) == 60


def replace_effort(point: Point, times: int) -> Point:
    return point._replace(effort=times * point.effort)
