"""Spaces measured by pairs: figures as defined, on items that nothing was learned from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.collections.home import Home
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.training.by_pairs import equal_error_rate, true_accept_rate
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Recipe

DISTANCES = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0, 3.0]), min_size=1, max_size=12).map(np.array)


@given(DISTANCES, DISTANCES, st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
def test_true_accept_rate(similar, others, rate):
    """It is the best of all thresholds that accept at most a share of the others."""
    cuts = [-1.0, *similar, *others, 9.0]
    allowed = [np.mean(similar <= cut) for cut in cuts if np.mean(others <= cut) <= rate]
    assert true_accept_rate(similar, others, rate) == max(allowed)


@given(DISTANCES, DISTANCES)
def test_equal_error_rate(similar, others):
    """It lies between the rates of two neighbouring thresholds, and is the same for distances times any number."""
    found = equal_error_rate(similar, others)
    cuts = np.unique(np.concatenate([[-1.0], similar, others]))
    accepted = np.array([np.mean(others <= cut) for cut in cuts])
    rejected = np.array([np.mean(similar > cut) for cut in cuts])
    assert max(np.minimum(accepted, rejected)) - 1e-12 <= found <= min(np.maximum(accepted, rejected)) + 1e-12
    assert equal_error_rate(similar * 7, others * 7) == pytest.approx(found)


def test_equal_error_rates_that_are_known():
    """Perfect, worst, by chance."""
    assert equal_error_rate(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 0
    assert equal_error_rate(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 1
    assert equal_error_rate(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == pytest.approx(0.5)
    assert equal_error_rate(np.array([1.0, 2.0, 3.0]), np.array([2.5, 4.0, 5.0])) == pytest.approx(1 / 3)


@pytest.fixture
def made(home: Home):
    """Four classes of ten."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(4, 6))
    with home.create("pairs", ["a=vectors:dim=6"]) as opened:
        opened.items.put(
            [
                NewItem(f"{kind}/{n}", labels=(str(kind),), rows={"a": centres[kind] + generator.normal(size=6) * 0.6})
                for kind in range(4)
                for n in range(10)
            ]
        )
        yield opened


def every_pair() -> ItemComparisons:
    keys = tuple(f"{kind}/{n}" for kind in range(4) for n in range(10))
    items = np.array([[i, j] for i in range(40) for j in range(i)])
    return ItemComparisons(keys, Comparisons(items, np.array([keys[i][0] == keys[j][0] for i, j in items])))


def test_only_items_that_were_not_trained_on_count(made):
    """For several spaces these are items that none was trained on; figures of the second are paired with the first."""
    made.train(Recipe(spec="fantope", views=("a",), holdout=0.5, seed=1), space="m")
    found = made.evaluate(EvaluationRequest(view="a", spaces=("raw", "m"), pairs=every_pair()))
    assert found.comparisons == 20 * 19 // 2
    assert "590 pairs with trained items are left out" in found.protocol
    assert [one.trained_items for one in found.overlaps] == [0, 0]
    names = ["auc", "equal_error_rate", "true_accept_rate_0.1", "true_accept_rate_0.01"]
    assert [row.metric for row in found.rows] == names * 2
    values = {(row.space, row.metric): row.value for row in found.rows}
    assert all(row.standard_error >= 0 for row in found.rows)
    for one in found.differences:
        assert one.value == pytest.approx(values["m", one.metric] - values["raw", one.metric])


def test_accuracy_is_that_of_pairs_that_did_not_set_the_threshold(made):
    """If all pairs have set it, there is no accuracy."""
    given = every_pair()
    made.spaces.calibrate(CalibrationRequest(view="a", pairs=given))
    found = made.evaluate(EvaluationRequest(view="a", pairs=given))
    assert "every pair helped to set its threshold" in found.protocol
    assert "accuracy" not in {row.metric for row in found.rows}
    half = ItemComparisons(given.keys, given.comparisons.take(np.arange(len(given)) % 2 == 0))
    made.spaces.calibrate(CalibrationRequest(view="a", pairs=half))
    found = made.evaluate(EvaluationRequest(view="a", pairs=given))
    assert f"without the {len(half)} pairs that set it" in found.protocol
    assert 0.6 < next(row.value for row in found.rows if row.metric == "accuracy") < 1


def test_pairs_of_one_kind_that_nobody_learned_from_are_joined_by_the_others(made):
    """The protocol says it."""
    made.train(Recipe(spec="fantope", views=("a",)), space="m")
    found = made.evaluate(EvaluationRequest(view="a", spaces=("m",), pairs=every_pair()))
    assert "pairs with trained items are included" in found.protocol
    assert found.overlaps[0].trained_items == found.comparisons == 780


def test_options_that_make_no_sense_with_pairs_are_refused():
    for options in ({"refit": True}, {"by": "labels"}, {"targets": ("a", "b")}, {"constraints": every_pair()}):
        with pytest.raises(InvalidInputError, match="leave out"):
            EvaluationRequest(view="a", pairs=every_pair(), **options)
