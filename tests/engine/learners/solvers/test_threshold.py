"""Thresholds for verification are exact beside brute force, kept in the state, and refused with a reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.learners.papers.losses import constraints
from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.papers.solvers.threshold import STRATEGIES, between, calibrate

QUICK = {"max_iter": 20, "n_constraints": 100}


def worth(threshold, distances, alike, strategy, beta, min_rate):
    """Return the value of one threshold by the definition of a strategy."""
    taken = distances <= threshold
    tpr, tnr = taken[alike].mean(), (~taken[~alike]).mean()
    if strategy == "accuracy":
        return (taken == alike).mean()
    if strategy == "balanced_accuracy":
        return (tpr + tnr) / 2
    if strategy == "f_beta":
        precision = alike[taken].mean() if taken.any() else 0.0
        both = beta**2 * precision + tpr
        return (1 + beta**2) * precision * tpr / both if both else 0.0
    rate, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
    return rate if other >= min_rate else -1.0


@settings(max_examples=150, deadline=None)
@given(
    found=st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0, 3.0]), st.booleans()), min_size=2, max_size=12),
    strategy=st.sampled_from(STRATEGIES),
    beta=st.sampled_from([0.5, 1.0, 2.0]),
    min_rate=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
)
def test_no_threshold_is_better(found, strategy, beta, min_rate):
    """No threshold is worth more than the calibrated one, with ties and any number of pairs of each kind."""
    distances, alike = (np.array(column) for column in zip(*found, strict=True))
    if alike.all() or not alike.any():
        with pytest.raises(ValueError, match="one kind only"):
            calibrate(distances, alike)
        return
    threshold = calibrate(distances, alike, strategy, beta, min_rate)
    every = [worth(t, distances, alike, strategy, beta, min_rate) for t in (-1.0, *distances, *(distances + 0.01))]
    assert worth(threshold, distances, alike, strategy, beta, min_rate) == pytest.approx(max(every))


def test_lies_halfway_and_at_the_smallest():
    """The cut is halfway between neighbours; of equally good cuts it is the one at the smallest distance."""
    assert calibrate([1.0, 2.0, 4.0, 5.0], [1, 1, -1, -1]) == 3.0
    assert calibrate([1.0, 2.0, 3.0, 4.0], [1, -1, 1, -1]) == 1.5
    assert calibrate([2.0, 2.0, 2.0, 3.0], [1, 1, -1, -1]) == 2.5
    assert calibrate([1.0, 1.0], [1, -1]) < 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], [1, -1]), "NaN"),
        (([1.0, 2.0], [1, 1]), "one kind only"),
        (([1.0, 2.0], [1, -1, 1]), "inconsistent"),
        (([1.0, 2.0], [1, -1], "luck"), "accuracy, balanced_accuracy, f_beta, max_tpr, max_tnr"),
        (([1.0, 2.0], [1, -1], "f_beta", 0.0), "beta=0.0"),
        (([1.0, 2.0], [1, -1], "max_tpr", 1.0, 1.5), "min_rate=1.5"),
    ],
)
def test_bad_calibrations_are_named(arguments, message):
    """Pairs that allow no calibration are a ValueError with the reason."""
    with pytest.raises(ValueError, match=message):
        calibrate(*arguments)


def test_halfway_between_bounds():
    """Pairs with bounds u and l give sqrt((u + l) / 2); one kind of pair, or comparisons, give none."""
    items = [[0, 1], [2, 3]]
    assert between(constraints.pairs(items, [1, -1], 0.5, 1.5)) == 1.0
    assert between(constraints.pairs(items, [1, -1], 2.0, 6.0)) == 2.0
    assert between(constraints.pairs([*items, [4, 4]], [1, -1, 1])) == 1.0
    assert between(constraints.pairs(items, [1, 1])) is None
    assert between(constraints.triplets([[0, 1, 2]])) is None
    mixed = constraints.joined([constraints.triplets([[0, 1, 2]], 3.0), constraints.pairs(items, [1, -1], 2.0, 6.0)])
    assert between(mixed) == 2.0


def drawn():
    """Return rows of two classes, pairs of them, and which are alike."""
    generator = np.random.default_rng(0)
    labels = np.arange(40) % 2
    rows = generator.normal(size=(40, 4)) + 2 * labels[:, None]
    items = generator.integers(40, size=(200, 2))
    items = items[items[:, 0] != items[:, 1]]
    return rows, labels, items, np.where(labels[items[:, 0]] == labels[items[:, 1]], 1, -1)


def test_learner_verifies():
    """A metric learned from pairs verifies at the middle of its bounds, and after calibration never worse on those."""
    rows, labels, items, y = drawn()
    learner = Fantope(2).set_params(max_iter=20).fit_tuples(items, y, preprocessor=rows)
    assert learner.threshold_ == [1.0]
    before = np.mean(learner.predict_pairs(items, rows) == y)
    np.testing.assert_array_equal(
        learner.predict_pairs(rows[items]), np.where(learner.pair_distance(rows[items]) <= 1.0, 1, -1)
    )
    learner.calibrate_threshold(items, y, preprocessor=rows)
    assert np.mean(learner.predict_pairs(items, rows) == y) >= before > 0.6
    assert Fantope().set_params(constraints="pairs", upper=2.0, lower=6.0, **QUICK).fit(rows, labels).threshold_ == [
        2.0
    ]


def test_threshold_is_state():
    """A calibrated threshold, and the lack of one, come back from the state; so does a threshold for each view."""
    rows, labels, items, y = drawn()
    plain = Fantope().set_params(**QUICK).fit([rows, rows[:, :2]], labels)
    plain.calibrate_threshold(items, y, preprocessor=rows[:, :2], view=1)
    again = Fantope.from_state(plain.to_state())
    assert again.threshold_ == plain.threshold_
    assert again.threshold_[0] is None
    np.testing.assert_array_equal(
        again.predict_pairs(items, rows[:, :2], view=1), plain.predict_pairs(items, rows[:, :2], view=1)
    )
    with pytest.raises(ValueError, match="call calibrate_threshold or set_threshold"):
        again.predict_pairs(items, rows)


def test_bad_thresholds_are_named():
    """A threshold that is not a number, or names no view, is a ValueError."""
    rows, labels, _, _ = drawn()
    learner = Fantope().set_params(**QUICK).fit(rows, labels)
    with pytest.raises(ValueError, match="threshold=nan"):
        learner.set_threshold(np.nan)
    with pytest.raises(ValueError, match="view=1 is unknown"):
        learner.set_threshold(1.0, view=1)
