from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.comparisons import ItemComparisons
from engine.errors import InvalidInputError
from engine.info import (
    CollectionInfo,
    ConstraintCounts,
    Evaluation,
    EvaluationDifference,
    EvaluationRow,
    Overlap,
    SpaceInfo,
    Trial,
    Tuning,
    ViewInfo,
)
from engine.item import Failure, ImportReport, Item, NewItem
from engine.learners.metrics.comparisons import Comparisons
from engine.query import Filter, Hit, HitList, Query
from engine.recipe import Pair, Tune
from server import convert, convert_evaluation, convert_info, convert_training
from server.pb.crossview.v1 import collections_pb2
from server.structs import to_struct

VIEW = ViewInfo("sift", "sift", {"words": 24, "step": 0.5}, 24, 2, True)
SPACE = SpaceInfo(
    name="shared", generation=3, active=True, spec="sqrt,cca", views=("color", "sift"), targets=("color", "sift"),
    cross_view=True, dim={"color": 4, "sift": 4}, settings={"ridge": 0.1, "names": ["a"]}, seed=7, trained_items=15,
    held_out=3, created="2026-01-02T03:04:05+00:00", generations=(2, 3),
)  # fmt: skip


def test_hits_survive() -> None:
    """Keys with slashes, labels, attributes and distances come back as they were."""
    hits = (Hit("a/b.jpg", 0.25, "sift", ("cat", "dog"), {"year": 1999}, "a cat", "/a/b.jpg"), Hit("ü", 1e300, "color"))
    lists = [HitList(0, "sift", hits), HitList(1, "", ())]
    assert convert.to_hit_lists(convert.from_hit_lists("pets", lists)) == lists


def test_items_survive() -> None:
    """An item is told whole, whether it has a picture or not."""
    for item in (Item("a/b", ("x",), {"n": 1}, "/src/a/b", "00ff", 30, 20, ("color",), "ünï"), Item("bare")):
        assert convert.to_item(convert.from_item("pets", item)) == item


def test_new_items_survive() -> None:
    """Rows arrive as float32, absent pictures as absent."""
    back = convert.to_new_item(convert.from_new_item(NewItem("k", None, {"color": [0.1, 2.0]}, ("x",), {"a": None})))
    assert (back.key, back.image, back.labels, back.attributes) == ("k", None, ("x",), {"a": None})
    np.testing.assert_array_equal(back.rows["color"], np.array([0.1, 2.0], np.float32))
    assert convert.to_new_item(convert.from_new_item(NewItem("k", b"jpeg"))).image == b"jpeg"
    for text in (None, "", "words"):
        assert convert.to_new_item(convert.from_new_item(NewItem("k", text=text))).text == text


def test_filters_and_reports_survive() -> None:
    """Conditions and counts come back as they were."""
    condition = Filter(("a",), ("b",), ("k",), "p/", {"year": 1999, "ok": True})
    assert convert.to_filter(convert.from_filter(condition)) == condition
    assert not convert.to_filter(convert.from_filter(Filter()))
    report = ImportReport(1, 2, 3, (Failure("k", "why"),), 0.5)
    assert convert.to_report(convert.from_report(report)) == report


@pytest.mark.parametrize("given", [{"image": b""}, {"key": ""}, {"vector": []}, {"text": ""}])
def test_empty_inputs_stay_given(given: dict[str, Any]) -> None:
    """An empty input is an input, and the engine says what is wrong with it."""
    assert convert.to_query(convert.from_query(Query("v", **given))).inputs() == tuple(given)


@pytest.mark.parametrize("query", [Query("v"), Query("v", key="a", image=b"b"), Query("v", vector=np.zeros((1, 2)))])
def test_queries_without_one_input_are_refused(query: Query) -> None:
    """The client says so before anything is sent."""
    with pytest.raises(InvalidInputError):
        convert.from_query(query)


def test_infos_survive() -> None:
    """Everything a collection tells of itself is told over the wire."""
    info = CollectionInfo(
        "pets", 18, (VIEW,), (SPACE,), "shared", {"cat": 9}, 12, 4096, "2026-01-02T03:04:05.678901+00:00", "mine"
    )
    assert convert_info.to_collection(convert_info.from_collection(info)) == info


def test_what_was_tuned_survives() -> None:
    """Settings of every kind, and a candidate that could not be used."""
    tried = (Trial({"kernel": "chi2", "nearest": None}, 0.5), Trial({"kernel": "none", "nearest": 3}, None, "why"))
    counts = ConstraintCounts("triplets", 9, 2, {"color": 7, "sift": 5})
    told = replace(
        SPACE,
        binary=True,
        rerank=4,
        added=("sift",),
        pairs=9,
        constraints=counts,
        tuning=Tuning("map", 3, 80, 0.5, {"kernel": "chi2"}, tried),
    )
    assert convert_info.to_space(convert_info.from_space("pets", told)) == told


def test_comparisons_survive() -> None:
    """Of every kind, with what is said beside the items and without; columns that disagree are refused."""
    items, numbers = np.arange(8), np.array([0.5, 2.0])
    for size, columns in ((2, {"similar": np.array([True, False])}), (4, {"weights": numbers, "margins": numbers})):
        said = Comparisons(items[: 2 * size].reshape(2, size), **columns)
        for lines in (None, np.array([2, 9])):
            given = ItemComparisons(tuple("abcdefgh"), said, lines)
            back = convert_training.to_comparisons(convert_training.from_comparisons(given))
            assert back.keys == given.keys
            np.testing.assert_equal(vars(back.said) | {"lines": back.lines}, vars(said) | {"lines": lines})
    for message in ({"size": 3, "items": [0, 0]}, {"size": 5, "items": range(5)}, {"size": 2, "items": [0, 0]}, {}):
        with pytest.raises(InvalidInputError):
            convert_training.to_comparisons(collections_pb2.Comparisons(keys=["a"], **message))


def test_what_is_asked_of_a_training_survives() -> None:
    """Pairs with their lines; values to try; measure and folds are the usual ones where a message leaves them out."""
    pairs = (Pair("a/b", "c", 3), Pair("d", "e"))
    assert convert_training.to_pairs(convert_training.from_pairs(pairs)) == pairs
    tune = Tune({"eta": (1e-6, 0.1), "nearest": (20, None)}, "accuracy", 5)
    assert convert_training.to_tune(convert_training.from_tune(tune)) == tune
    assert convert_training.to_tune(collections_pb2.Tune()) == Tune()
    single = collections_pb2.Tune(values=to_struct({"eta": 0.5}))
    assert convert_training.to_tune(single) == Tune({"eta": (0.5,)})


def test_evaluations_survive() -> None:
    """A metric without k keeps none, and k is told where there is one."""
    rows = (EvaluationRow("color", "sift", "map", None, 0.5), EvaluationRow("color", "sift", "accuracy", 5, 1.0))
    evaluation = Evaluation(rows, 4, 14, "Held out.", "All.", 0.25)
    assert convert_evaluation.to_evaluation(convert_evaluation.from_evaluation(evaluation)) == evaluation


def test_evaluations_of_several_spaces_survive() -> None:
    """With their standard errors, differences, and what is known of the comparisons."""
    rows = tuple(EvaluationRow("color", "color", "auc", None, 0.5, space, 0.25) for space in ("cca", "raw"))
    differences = tuple(
        EvaluationDifference("raw", "cca", "color", "color", "map", k, -0.5, error)
        for k, error in ((None, 0.25), (5, None))
    )
    overlaps = (Overlap("cca", 3, 2), Overlap("raw", 0, 0))
    evaluation = Evaluation(rows, 0, 0, "How.", "", 0.5, differences, overlaps, 9)
    assert convert_evaluation.to_evaluation(convert_evaluation.from_evaluation(evaluation)) == evaluation
