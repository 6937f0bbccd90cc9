"""Constraints on distances, in all their shapes, and the refused ones."""

import numpy as np
import pytest

from crossview.engine.learners.papers.losses import constraints as made
from crossview.engine.learners.papers.losses.constraints import Constraints, constrained
from crossview.engine.learners.papers.metrics.learner import unpack


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
    """Rows in tuples, positions with rows, and names with a function mean the same."""
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
