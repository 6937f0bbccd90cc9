"""Samplers draw tuples of the right kind, among the right rows, and refuse rows that have none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.learners.papers.samplers.likeness import (
    TUPLE_NAMES,
    draw_tuples,
    likeness_by_class,
    likeness_by_nearness,
)


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
    items, alike = draw_tuples(likeness_by_class(classes, rows, neighbors), kind, 20, np.random.default_rng(seed))
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
    items, _ = draw_tuples(likeness_by_class(classes, rows, 2), "triplets", 300, np.random.default_rng(0))
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
    """Their ranks among the distances of each row show it; in enough draws every other row comes up."""
    neighbors = min(neighbors, count - 2)
    rows = np.random.default_rng(seed).normal(size=(count, 2))
    ranks = np.argsort(np.argsort(np.linalg.norm(rows[:, None] - rows[None, :], axis=2), axis=1), axis=1)
    items, alike = draw_tuples(likeness_by_nearness(rows, neighbors), kind, 2_000, np.random.default_rng(seed))
    near, far = (
        (items[alike], items[~alike])
        if kind == "pairs"
        else (items[:, :2], items[:, [0, 2] if kind == "triplets" else [2, 3]])
    )
    assert set(ranks[near[:, 0], near[:, 1]]) == set(range(1, neighbors + 1))
    assert set(ranks[far[:, 0], far[:, 1]]) == set(range(neighbors + 1, count))


@pytest.mark.parametrize("neighbors", [0, 3])
def test_neighbours_must_leave_somebody_out(neighbors):
    """Each of four rows has at most two near ones, so that one is not near."""
    with pytest.raises(ValueError, match=f"neighbors={neighbors} must be at least 1, and below 3"):
        likeness_by_nearness(np.eye(4), neighbors)


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
        draw_tuples(likeness_by_class(np.array(labels)), kind, count, np.random.default_rng(0))
