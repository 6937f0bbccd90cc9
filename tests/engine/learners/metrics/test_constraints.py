"""What may be said of distances, in all its shapes, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.learners.metrics import constraints as made
from crossview.engine.learners.metrics.constraints import Constraints
from crossview.engine.learners.metrics.sampling import TUPLE_NAMES, ClassSampler, NearestSampler
from crossview.engine.learners.metrics.tuples import constrained, unpack


def test_reductions_are_the_papers():
    """Triplets share their first row; a pair's missing side is a pair of one row with itself."""
    one = made.triplets([[3, 1, 2]], margin=2.0)
    assert (one.near.tolist(), one.far.tolist(), one.margins.tolist()) == ([[3, 1]], [[3, 2]], [2.0])
    pairs = made.pairs([[0, 1], [2, 3]], [1, -1], upper=0.5, lower=1.5)
    assert pairs.near.tolist() == [[0, 1], [2, 2]]
    assert pairs.far.tolist() == [[0, 0], [2, 3]]
    assert pairs.margins.tolist() == [-0.5, 1.5]


def test_joined_sets_keep_their_weights():
    """Pairs and quadruplets can weigh differently in one set."""
    both = made.joined([made.pairs([[0, 1]], [True], weight=3.0), made.quadruplets([[0, 1, 2, 3]], weight=0.5)])
    assert len(both) == 2
    assert both.weights.tolist() == [3.0, 0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made.quadruplets(np.empty((0, 4), int)), "no constraints"),
        (lambda: made.quadruplets([[0, 1, 2]]), r"shape \(n, 4\), not \(1, 3\)"),
        (lambda: made.quadruplets([[0, 1, 2, -3]]), "negative"),
        (lambda: made.quadruplets([[0, 1, 2, np.nan]]), "whole numbers, without NaN"),
        (lambda: made.quadruplets([[0, 1, 2, 0.5]]), "whole numbers"),
        (lambda: made.quadruplets([[0, 1, 2, 3]], margin=np.nan), "margins must be finite"),
        (lambda: made.quadruplets([[0, 1, 2, 3]], margin=np.inf), "margins must be finite"),
        (lambda: made.quadruplets([[0, 1, 2, 3]], margin=[1.0, 2.0]), r"margins have shape \(2,\)"),
        (lambda: made.quadruplets([[0, 1, 2, 3]], weight=-1.0), "weights must not be negative"),
        (lambda: made.quadruplets([[0, 1, 2, 3]], weight=0.0), "nor all zero"),
        (lambda: made.pairs([[0, 1]], [1, -1]), r"similar have shape \(2,\)"),
        (lambda: made.pairs([[0, 1]], [1], upper=2.0, lower=1.0), "upper <= lower"),
        (lambda: made.joined([]), "at least one set"),
        (lambda: Constraints(np.zeros((2, 2), int), np.zeros((1, 2), int), np.ones(2), np.ones(2)), "both must be"),
    ],
)
def test_bad_constraints_are_named(make, message):
    """Empty, contradictory, fractional, negative and NaN input is a ValueError that says which."""
    with pytest.raises(ValueError, match=message):
        make()


def test_shapes_of_tuples_agree():
    """Rows in tuples, positions with rows, and names with a function say the same."""
    rows = np.random.default_rng(0).normal(size=(6, 3))
    items = np.array([[0, 1, 2], [5, 4, 3]])
    for found, places in (
        unpack(rows[items]),
        unpack(items, rows),
        unpack(items.astype(str), lambda names: rows[names.astype(int)]),
    ):
        np.testing.assert_array_equal(found[places], rows[items])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: unpack(np.zeros((2, 3))), "give the rows as preprocessor"),
        (lambda: unpack(np.full((1, 2, 3), np.nan)), "NaN"),
        (lambda: unpack([[0, 7]], np.zeros((3, 2))), "from 0 to 2"),
        (lambda: unpack(np.zeros((0, 2), int), np.zeros((3, 2))), "not empty"),
        (lambda: unpack([["a", "b"]], lambda names: np.zeros((1, 2))), "1 rows of 2 names"),
        (lambda: constrained(np.zeros((1, 2), int), None, 1.0, 0.5, 1.5), "pairs need y"),
        (lambda: constrained(np.zeros((1, 5), int), None, 1.0, 0.5, 1.5), "not of 5 rows"),
    ],
)
def test_bad_tuples_are_named(make, message):
    """Tuples of a wrong shape or of unknown rows are ValueErrors."""
    with pytest.raises(ValueError, match=message):
        make()


@settings(max_examples=40, deadline=None)
@given(
    labels=st.lists(st.integers(0, 4), min_size=4, max_size=30).filter(
        lambda found: len(set(found)) > 1 and max(map(found.count, found)) > 1
    ),
    kind=st.sampled_from(TUPLE_NAMES),
    neighbors=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 99),
)
def test_samplers_keep_their_word(labels, kind, neighbors, seed):
    """Near pairs are two rows of one class, far pairs are of two classes."""
    classes = np.array(labels)
    rows = np.random.default_rng(seed).normal(size=(len(classes), 2))
    items, alike = ClassSampler(classes, rows, neighbors).draw(kind, 20, np.random.default_rng(seed))
    first, second = items[:, 0], items[:, 1]
    assert ((classes[first] == classes[second]) == alike).all()
    assert (first != second).all()
    if kind == "pairs":
        assert alike.sum() == 10
    else:
        assert alike.all()
        other = (items[:, 0], items[:, 2]) if kind == "triplets" else (items[:, 2], items[:, 3])
        assert (classes[other[0]] != classes[other[1]]).all()


def test_neighbors_are_the_nearest():
    """With neighbours given, companions and opposites are among the nearest of their kind."""
    rows = np.arange(12.0)[:, None]
    classes = np.repeat([0, 1], 6)
    items, _ = ClassSampler(classes, rows, 2).draw("triplets", 300, np.random.default_rng(0))
    anchors, companions, opposites = items.T
    assert np.abs(companions - anchors).max() == 2
    assert set(opposites[anchors < 6]) == {6, 7}
    assert set(opposites[anchors >= 6]) == {4, 5}


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(4, 20),
    neighbors=st.integers(1, 18),
    kind=st.sampled_from(TUPLE_NAMES),
    seed=st.integers(0, 99),
)
def test_near_are_the_nearest_and_far_all_others(count, neighbors, kind, seed):
    """By their ranks among the distances of each row; in enough draws every other row comes up."""
    neighbors = min(neighbors, count - 2)
    rows = np.random.default_rng(seed).normal(size=(count, 2))
    ranks = np.argsort(np.argsort(np.linalg.norm(rows[:, None] - rows[None, :], axis=2), axis=1), axis=1)
    items, alike = NearestSampler(rows, neighbors).draw(kind, 2_000, np.random.default_rng(seed))
    near, far = (
        (items[alike], items[~alike])
        if kind == "pairs"
        else (items[:, :2], items[:, [0, 2] if kind == "triplets" else [2, 3]])
    )
    assert set(ranks[near[:, 0], near[:, 1]]) == set(range(1, neighbors + 1))
    assert set(ranks[far[:, 0], far[:, 1]]) == set(range(neighbors + 1, count))


@pytest.mark.parametrize("neighbors", [0, 3])
def test_neighbours_must_leave_somebody_out(neighbors):
    """Of four rows each has at most two that are near, so that one is not."""
    with pytest.raises(ValueError, match=f"neighbors={neighbors} must be at least 1, and below 3"):
        NearestSampler(np.eye(4), neighbors)


@pytest.mark.parametrize(
    ("labels", "kind", "count", "message"),
    [
        ([0, 0, 0], "pairs", 5, "1 classes"),
        ([0, 1, 2], "pairs", 5, "at most 1 rows"),
        ([0, 0, 1], "quintuplets", 5, "use one of: pairs, triplets, quadruplets"),
        ([0, 0, 1], "pairs", 0, "too few"),
    ],
)
def test_hopeless_draws_are_refused(labels, kind, count, message):
    """Classes that cannot be compared, unknown kinds and empty draws are ValueErrors."""
    with pytest.raises(ValueError, match=message):
        ClassSampler(np.array(labels)).draw(kind, count, np.random.default_rng(0))
