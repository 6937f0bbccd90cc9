from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crossview.engine.catalog.item_pages import Shown
from crossview.engine.learners.frame.comparisons import Comparisons, Taxonomy
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import (
    Evaluation,
    EvaluationDifference,
    EvaluationRequest,
    EvaluationRow,
    Overlap,
)
from crossview.engine.values.explanation import (
    AgreeingPart,
    Agreement,
    Contribution,
    ExplainRequest,
    Explanation,
    Place,
)
from crossview.engine.values.index_choice import LiveFigure, SearchRecall, TargetIndex
from crossview.engine.values.info import CollectionInfo, ConstraintCounts, SpaceInfo, Trial, Tuning, ViewInfo
from crossview.engine.values.item import Capture, Failure, ImportReport, Item, NewItem
from crossview.engine.values.query import Hit, HitList, Query, SearchRequest
from crossview.engine.values.recipe import Grouping, Pair, Recipe, Tune
from crossview.engine.values.strategy import Moved, Weighted
from crossview.server.wire import convert, convert_conditions, convert_search
from crossview.server.wire.convert import to_message, to_value
from crossview.server.wire.structs import to_struct
from crossview.v1 import collections_pb2, search_pb2

VIEW = ViewInfo(name="sift", extractor="sift", params={"words": 24, "step": 0.5}, dim=24, revision=2, fitted=True)
SPACE = SpaceInfo(
    name="shared", generation=3, active=True, spec="sqrt,cca", views=("color", "sift"), targets=("color", "sift"),
    cross_view=True, dim={"color": 4, "sift": 4}, settings={"ridge": 0.1, "names": ["a"]}, seed=7, trained_items=15,
    held_out=3, created="2026-01-02T03:04:05+00:00", generations=(2, 3),
)  # fmt: skip


def test_hits_survive() -> None:
    """Keys with slashes, labels, attributes and distances come back as they were."""
    hits = (
        Hit(
            key="a/b.jpg",
            distance=0.25,
            target="sift",
            labels=("cat", "dog"),
            attributes={"year": 1999},
            text="a cat",
            source="/a/b.jpg",
        ),
        Hit(key="ü", distance=1e300, target="color"),
    )
    lists = [HitList(0, "sift", hits), HitList(1, "", ())]
    assert convert_search.to_hit_lists(convert_search.from_hit_lists("pets", lists)) == lists


def test_encoded_items_stay_within_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache begins again when it is full, and answers are the same."""
    cache = convert_search._EncodedItems()
    monkeypatch.setattr(convert_search, "_encoded_items", cache)
    monkeypatch.setattr(convert_search, "_CACHE_BYTES", 10 * (convert_search._ENTRY_BYTES + 60))
    shown = [Shown(f"{number:030}", (), "{}", "", "") for number in range(100)]
    hits = tuple(one.hit(0.5, "sift") for one in shown)
    for _ in range(2):
        found = convert_search.to_hit_lists(convert_search.from_hit_lists("pets", [HitList(0, "sift", hits)]))
        assert [one.key for one in found[0].hits] == [one.key for one in hits]
        assert 1 <= len(cache) <= 10


def test_items_survive() -> None:
    """An item arrives whole, with a picture or without."""
    whole = Item(
        "a/b",
        labels=("x",),
        attributes={"n": 1},
        source="/src/a/b",
        content_hash="00ff",
        width=30,
        height=20,
        views=("color",),
        text="ünï",
        notion_labels={"hue": ("red", "rose"), "size": ("big",)},
        stamp="1 2 basic",
        file={"camera": "x", "keywords": ["a", "b"], "width": 3},
    )
    for item in (whole, Item("bare")):
        assert to_value(Item, convert.from_item("pets", item)) == item


def test_new_items_survive() -> None:
    """Rows arrive as float32, absent pictures as absent."""
    given = NewItem("k", rows={"color": [0.1, 2.0]}, labels=("x",), attributes={"a": None})
    back = convert.to_new_item(convert.from_new_item(given))
    assert (back.key, back.image, back.labels, back.attributes) == ("k", None, ("x",), {"a": None})
    np.testing.assert_array_equal(back.rows["color"], np.array([0.1, 2.0], np.float32))
    assert convert.to_new_item(convert.from_new_item(NewItem("k", image=b"jpeg"))).image == b"jpeg"
    for changed in (NewItem("k", notion_labels={"hue": ("red",), "size": ()}), NewItem("k")):
        assert convert.to_new_item(convert.from_new_item(changed)).notion_labels == changed.notion_labels
    for capture in (None, Capture(stamp="s", taken=-5, file={"rating": 5})):
        changed = NewItem("k", capture=capture, metadata="all")
        assert convert.to_new_item(convert.from_new_item(changed)) == changed
    for text in (None, "", "words"):
        assert convert.to_new_item(convert.from_new_item(NewItem("k", text=text))).text == text


def test_filters_and_reports_survive() -> None:
    """Conditions and counts come back as they were."""
    condition = Filter(
        labels=("a",), without_labels=("b",), keys=("k",), key_prefix="p/", attributes={"year": 1999, "ok": True}
    )
    assert convert_conditions.to_filter(convert_conditions.from_filter(condition)) == condition
    assert convert_conditions.to_filter(convert_conditions.from_filter(Filter())).is_empty
    report = ImportReport(added=1, updated=2, unchanged=3, failures=(Failure("k", "why"),), seconds=0.5)
    assert to_value(ImportReport, to_message(collections_pb2.ImportItemsResponse, report)) == report


@pytest.mark.parametrize("given", [{"image": b""}, {"key": ""}, {"vector": []}, {"text": ""}])
def test_empty_inputs_stay_given(given: dict[str, Any]) -> None:
    """An empty input is an input, and the engine states its fault."""
    assert convert_search.to_query(convert_search.from_query(Query("v", **given))).inputs() == tuple(given)


@pytest.mark.parametrize("query", [Query("v"), Query("v", key="a", image=b"b"), Query("v", vector=np.zeros((1, 2)))])
def test_queries_without_one_input_are_refused(query: Query) -> None:
    """The client says so before anything is sent."""
    with pytest.raises(InvalidInputError):
        convert_search.from_query(query)


def test_infos_survive() -> None:
    """The description of a collection crosses the wire unchanged."""
    info = CollectionInfo(
        name="pets",
        items=18,
        views=(VIEW,),
        spaces=(SPACE,),
        active_space="shared",
        labels={"cat": 9},
        sequence=12,
        bytes_on_disk=4096,
        created="2026-01-02T03:04:05.678901+00:00",
        description="mine",
        notion_labels={"hue": 5},
    )
    assert convert.to_collection(convert.from_collection(info)) == info


def test_what_was_tuned_survives() -> None:
    """They have settings of every kind, and a candidate that could not be used."""
    tried = (Trial({"kernel": "chi2", "nearest": None}, 0.5), Trial({"kernel": "none", "nearest": 3}, None, "why"))
    counts = ConstraintCounts("triplets", 9, 2, {"color": 7, "sift": 5})
    chosen = {"kernel": "chi2"}
    tuned = Tuning(measure="map", folds=3, items=80, score=0.5, chosen=chosen, tried=tried, database="unseen")
    given = replace(
        SPACE,
        binary=True,
        rerank=4,
        added=("sift",),
        pairs=9,
        constraints=counts,
        tuning=tuned,
    )
    assert convert.to_space(convert.from_space("pets", given)) == given


def test_indexes_survive() -> None:
    """They have the recall of each query view, and the live recall if one exists."""
    searches = (
        SearchRecall(view="color", effort=23, recall=0.995, queries=300, live=LiveFigure(40, 0.98, 0.01)),
        SearchRecall(view="sift", effort=0, recall=1.0, queries=300),
    )
    made = TargetIndex(target="color", kind="ivf", asked="auto", vectors="float16", recall=0.99, searches=searches)
    exact = TargetIndex(target="sift", kind="flat", asked="flat", vectors="float32", recall=0.99)
    given = replace(SPACE, indexes=(made, exact))
    assert convert.to_space(convert.from_space("pets", given)) == given


def test_comparisons_survive() -> None:
    """Every kind survives, with columns beside the items and without; columns that disagree are refused."""
    items, numbers = np.arange(8), np.array([0.5, 2.0])
    for size, columns in ((2, {"similar": np.array([True, False])}), (4, {"weights": numbers, "margins": numbers})):
        comparisons = Comparisons(items[: 2 * size].reshape(2, size), **columns)
        for lines, notions in ((None, None), (np.array([2, 9]), np.array(["wing", "head"]))):
            comparisons = replace(comparisons, notions=notions)
            given = ItemComparisons(tuple("abcdefgh"), comparisons, lines)
            back = convert.to_comparisons(convert.from_comparisons(given))
            assert back.keys == given.keys
            np.testing.assert_equal(
                vars(back.comparisons) | {"lines": back.lines}, vars(comparisons) | {"lines": lines}
            )
    unnamed = {"size": 3, "items": range(3), "notion_names": ["head"], "notions": [1]}
    for message in (
        *({"size": 3, "items": [0, 0]}, {"size": 5, "items": range(5)}, {"size": 2, "items": [0, 0]}, {}, unnamed),
    ):
        with pytest.raises(InvalidInputError):
            convert.to_comparisons(collections_pb2.Comparisons(keys=["a"], **message))


def test_what_is_asked_of_a_training_survives() -> None:
    """Every field survives, and values to try; measure and folds have their defaults if a message leaves them out."""
    recipe = Recipe(
        spec="sqrt,cca",
        views=("color", "sift"),
        dim=4,
        settings={"ridge": 0.5},
        holdout=0.25,
        seed=7,
        pairs=(Pair("a/b", "c", 3), Pair("d", "e")),
        tune=Tune({"eta": (1e-6, 0.1), "nearest": (20, None)}, "accuracy", 5),
        rerank=3,
        sample=500,
        group_by=Grouping("speakers.csv", {"a/b": "1"}),
        answers=True,
        taxonomy=Taxonomy({"a": "", "b": "", "c": "b", "d": "b"}),
        ignore_labels=("100CANON", "a, b"),
        held_out=Filter(keys=("a/b",), key_prefix="a/", attributes={"split": "test"}),
        where=Filter("year >= 2021"),
    )
    left = {name for name in set(vars(recipe)) - {"constraints"} if getattr(recipe, name) in (None, "", 0, ())}
    assert not left
    assert to_value(Recipe, to_message(collections_pb2.TrainRequest, recipe)) == recipe
    assert to_value(Recipe, collections_pb2.TrainRequest(views=["v"])) == Recipe(views=("v",))
    assert convert.to_tune(collections_pb2.Tune()) == Tune()
    single = collections_pb2.Tune(values=to_struct({"eta": 0.5}))
    assert convert.to_tune(single) == Tune({"eta": (0.5,)})


def test_evaluations_survive() -> None:
    """A metric without k has none on the wire, and one with k keeps it."""
    views = {"query_view": "color", "database_view": "sift"}
    rows = tuple(
        EvaluationRow(**views, metric=metric, k=k, value=0.5, database=database)
        for metric, k, database in (("map", None, "trained"), ("accuracy", 5, "unseen"))
    )
    found = {"databases": {"trained": 14, "unseen": 4}, "protocol": "Held out.", "codebook": "All.", "seconds": 0.25}
    evaluation = Evaluation(rows=rows, queries=4, **found)
    assert to_value(Evaluation, to_message(collections_pb2.Evaluation, evaluation)) == evaluation


def test_evaluations_of_several_spaces_survive() -> None:
    """They have their standard errors, differences, and the counts of known comparisons."""
    views = {"query_view": "color", "database_view": "color"}
    rows = tuple(
        EvaluationRow(**views, metric="auc", k=None, value=0.5, space=space, standard_error=0.25)
        for space in ("cca", "raw")
    )
    differences = tuple(
        EvaluationDifference(
            space="raw", baseline="cca", **views, metric="map", k=k, value=-0.5, standard_error=error, database="mixed"
        )
        for k, error in ((None, 0.25), (5, None))
    )
    overlaps = (Overlap("cca", 3, 2), Overlap("raw", 0, 0))
    evaluation = Evaluation(
        rows=rows,
        queries=0,
        protocol="How.",
        codebook="",
        seconds=0.5,
        differences=differences,
        overlaps=overlaps,
        comparisons=9,
    )
    assert to_value(Evaluation, to_message(collections_pb2.Evaluation, evaluation)) == evaluation


def test_requests_survive() -> None:
    """Every field of a search and of an evaluation survives; absent fields of a message have the request's defaults."""
    search = SearchRequest(
        [Query("color", key="a")], targets=("sift",), k=3, space="s", filter=Filter(labels=("x",)), merge=False
    )
    moves = Moved(more={"busy": 2.0}, less={"light": 1.0}, hold=("all",), sort_by="-light")
    moved, weighted = (
        SearchRequest(search.queries, one) for one in (moves, Weighted(weights={"head": 2.0, "wing": 0.5}))
    )
    listed = SearchRequest([Query("color")], sort_by="busy", targets=("sift",), at_least={"busy": 0.5})
    likely = SearchRequest([Query("color", key="a")], min_match=0.5, max_distance=0.0)
    probable = SearchRequest([Query("color", key="a")], probabilities=True, base_rate=0.25, at_most={"busy": 1.0})
    examples = [Query("color", key="a", weight=2.0), Query("", text="red", weight=-0.5), Query("color", key="b")]
    combined = SearchRequest(examples, combine="context", with_examples=True, targets=("sift",), fuse="learn")
    fused = SearchRequest([Query(key="a")], fuse="rank", targets=("sift",))
    exact = SearchRequest([Query("color", key="a")], exact=True)
    for one in (search, moved, weighted, listed, likely, probable, combined, fused, exact, replace(exact, recall=0.5)):
        assert convert_search.to_search_request(convert_search.from_search_request(one)) == one
    query = search_pb2.Query(view="color", key="a")
    assert convert_search.to_search_request(search_pb2.SearchRequest(queries=[query])) == SearchRequest(search.queries)
    to_request = convert.to_evaluation_request
    for given in (
        EvaluationRequest(view="color", spaces=("a",), targets=("sift",), k=(2,), refit=True, test_size=0.5, seed=3),
        EvaluationRequest(view="color", spaces=("a", "raw"), seed=3, where=Filter("taken < 2021-05 or not label = x")),
        EvaluationRequest(view="color", databases=("mixed", "unseen"), by="items", per_query=True, hits=9),
        EvaluationRequest(view="color", taxonomy=Taxonomy({"a": "", "b": "", "c": "b"})),
        EvaluationRequest(view="color", refit=True, splits=5, group_by=Grouping("speaker"), max_queries=10**12),
        EvaluationRequest(view="color"),
    ):
        assert to_request(to_message(collections_pb2.EvaluateRequest, given)) == given
    assert to_request(collections_pb2.EvaluateRequest(view="color")) == EvaluationRequest(view="color")
    assert to_request(collections_pb2.EvaluateRequest(view="color", space="a")).spaces == ("a",)
    with pytest.raises(InvalidInputError, match="max_queries must be at least 1, not 0"):
        to_request(collections_pb2.EvaluateRequest(view="color", max_queries=0))
    with pytest.raises(InvalidInputError, match="invalid taxonomy: 'a' is below itself"):
        to_request(collections_pb2.EvaluateRequest(view="color", taxonomy=collections_pb2.Taxonomy(parents={"a": "a"})))
    with pytest.raises(InvalidInputError, match=r"either space \(a\) or spaces \(b\), not both"):
        to_request(collections_pb2.EvaluateRequest(view="color", space="a", spaces=["b"]))


def test_explanations_survive() -> None:
    """Absent ranks, matches and bits stay absent, and empty lists of bits empty."""
    place = Place(x=0.25, y=0.5, size=0.125)
    parts = (
        AgreeingPart(name="word 3", query=0.5, item=0.25, agreement=0.25, query_places=(place,), item_places=()),
        AgreeingPart(
            name="dark blue",
            query=0.0,
            item=0.25,
            agreement=0.0,
            squared_distance=0.0,
            color="#000080",
            box=(0, 0, 1, 1),
        ),
    )
    given = Explanation(
        key="a/ü",
        target="",
        rank=None,
        measure="score",
        total=-1.5,
        contributions=(
            Contribution(view="color", target="sift", items=7, contribution=-1.5),
            Contribution(view="color", target="color", distance=0.0, rank=1, items=7, match=0.0, copy=True),
            Contribution(view="color", target="c", distance=0.0, rank=1, items=7, differing_bits=(), bits=8),
            Contribution(view="color", target="c", distance=2.0, rank=1, items=7, differing_bits=(0, 7), bits=8),
        ),
        agreements=(Agreement(view="color", agreement=0.5, parts=parts, other_squared_distance=0.0),),
    )
    others = [replace(given, measure=measure, rank=2) for measure in ("match", "distance")]
    for one in (given, *others):
        assert to_value(Explanation, to_message(search_pb2.Explanation, one)) == one


@pytest.mark.parametrize("options", [{}, {"keys": ["a", "b"], "hits": 7, "parts": 0}])
def test_requests_for_explanations_survive(options: dict[str, Any]) -> None:
    given = ExplainRequest(SearchRequest([Query("v", key="a")], k=3, merge=True), **options)
    back = to_value(ExplainRequest, to_message(search_pb2.ExplainRequest, given))
    assert back == replace(given, keys=tuple(given.keys))
