"""Comparisons given by position: the part that a set of rows learns from, and learners that take them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.losses.constraints import constraints_of
from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.registry import LEARNERS, parse_chain

QUICK = {"max_iter": 100, "n_components": 1}


def seen(seed=0, count=60):
    """Return rows of two views, whose first column alone decides nearness under noise in the others; and triplets."""
    generator = np.random.default_rng(seed)
    told = generator.uniform(0, 1, count)
    views = [np.column_stack([told, generator.normal(size=(count, width))]) for width in (3, 4)]
    items = generator.integers(0, count, (400, 3))
    items = items[(items[:, 0] != items[:, 1]) & (items[:, 0] != items[:, 2]) & (items[:, 1] != items[:, 2])]
    near, far = (np.abs(told[items[:, 0]] - told[items[:, place]]) for place in (1, 2))
    items[near > far] = items[near > far][:, [0, 2, 1]]
    return views, Comparisons(items)


def share(learner, view):
    """Return how much of a view's metric lies on its first column."""
    matrix = learner.get_mahalanobis_matrix(view)
    return matrix[0, 0] / np.trace(matrix)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.data())
def test_among_some_rows_the_same_is_said_of_them(size, data):
    """Exactly the comparisons whose rows are all there stay, in order, and name the same rows as before."""
    items = np.array(data.draw(st.lists(st.lists(st.integers(0, 7), min_size=size, max_size=size), min_size=1)))
    rows = np.array(data.draw(st.lists(st.integers(0, 7), unique=True)), np.int64)
    weights = np.arange(len(items), dtype=float)
    found = Comparisons(items, weights > 1 if size == 2 else None, weights).among(rows, 8)
    expected = np.isin(items, rows).all(axis=1)
    assert_array_equal(found.weights, weights[expected])
    if len(found):
        assert_array_equal(rows[found.items], items[expected])
    if size == 2:
        assert_array_equal(found.similar, (weights > 1)[expected])


def test_margins_and_weights_reach_the_constraints():
    """They are each comparison's own, or the learner's margin and 1."""
    items = np.array([[0, 1, 2], [2, 1, 0]])
    own = constraints_of(Comparisons(items, None, np.array([1.0, 3.0]), np.array([0.5, 2.0])), 1.0, 0.5, 1.5)
    assert (own.margins.tolist(), own.weights.tolist()) == ([0.5, 2.0], [1.0, 3.0])
    usual = constraints_of(Comparisons(items), 0.25, 0.5, 1.5)
    assert (usual.margins.tolist(), usual.weights.tolist()) == ([0.25, 0.25], [1.0, 1.0])
    pairs = constraints_of(Comparisons(items[:, :2], np.array([True, False])), 9.0, 0.5, 1.5)
    assert pairs.margins.tolist() == [-0.5, 1.5]


def test_agreement_is_the_share_in_order():
    """It is weighted; for pairs it counts how often a similar one is nearer than a dissimilar one; one kind is NaN."""
    line = np.array([[0.0], [1.0], [3.0], [10.0]])
    assert Comparisons(np.array([[0, 1, 2], [0, 3, 1], [2, 1, 3]])).agreement(line) == pytest.approx(2 / 3)
    assert Comparisons(np.array([[0, 1, 2, 3], [0, 3, 1, 2]]), None, np.array([1.0, 3.0])).agreement(line) == 0.25
    pairs = np.array([[0, 1], [2, 3], [1, 2], [0, 3]])
    assert Comparisons(pairs, np.array([True, True, False, False])).agreement(line) == 0.75
    assert np.isnan(Comparisons(pairs, np.ones(4, bool)).agreement(line))


def test_every_view_learns_from_the_comparisons_of_its_rows():
    """The metric of each is that of ``fit_constraints`` on its own rows, and a view added later gets the same."""
    views, said = seen()
    mask = np.ones((60, 2), bool)
    mask[:20, 1] = False
    together = Fantope().set_params(**QUICK).fit(views, Supervision(mask=mask, comparisons=said))
    assert min(share(together, 0), share(together, 1)) > 0.8
    later = (
        Fantope()
        .set_params(**QUICK)
        .fit(views[:1], Supervision(comparisons=said))
        .add_view(views, Supervision(mask=mask, comparisons=said))
    )
    known = constraints_of(said.among(mask[:, 1], 60), 1.0, 0.5, 1.5)
    alone = Fantope().set_params(**QUICK).fit_constraints(views[1][20:], known)
    for learner in (together, later):
        assert_array_equal(learner.get_mahalanobis_matrix(1), alone.get_mahalanobis_matrix())


def test_a_chain_hands_them_to_the_last_that_takes_them():
    """Labels are for the other steps; the chain's rows are those that the learner has seen."""
    views, said = seen()
    chain = parse_chain("standardize,fantope:1,l2", {"max_iter": 100}).fit(views, Supervision(comparisons=said))
    scaled = parse_chain("standardize").fit(views).transform(views)
    alone = Fantope().set_params(**QUICK).fit(scaled, Supervision(comparisons=said))
    assert_array_equal(chain.steps[1].get_mahalanobis_matrix(1), alone.get_mahalanobis_matrix(1))
    labels = np.arange(60) % 3
    both = Chain([LEARNERS["lda"](), Fantope().set_params(**QUICK)])
    with pytest.raises(ValueError, match="requires y"):
        both.fit(views, Supervision(comparisons=said))
    both.fit(views, Supervision(classes=labels, comparisons=said))
    assert both.transform(views[0], view=0).shape == (60, 1)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_neighbours_in_another_view_take_the_place_of_labels(kind):
    """The metric of one view learns the neighbours in the other, from the items that have both."""
    views, _ = seen(count=150)
    views[1] = views[1][:, :1]
    mask = np.ones((150, 2), bool)
    mask[:20, 0] = mask[-20:, 1] = False
    how = QUICK | {"similar": "knn", "neighbors": 15, "constraints": kind, "mu": 0.01, "n_constraints": 3_000}
    learner = Fantope().set_params(neighbor_view=1, **how).fit(views, Supervision(mask=mask))
    assert not learner.needs_labels
    assert share(learner, 0) > 0.9
    assert (
        share(Fantope().set_params(**how).fit(views, Supervision(mask=mask)), 0) < 0.5
    )  # by its own rows, whose noise decides the neighbours
    with pytest.raises(ValueError, match="neighbor_view=2 but there are 2 views"):
        Fantope().set_params(neighbor_view=2, **how).fit(views)


def test_some_of_them_stop_the_fit():
    """With patience a share of them is held back, and the fit takes fewer steps."""
    views, said = seen()
    slow = {"max_iter": 300, "tol": 0.0, "mu": 0.0, "check_every": 5}
    few = Supervision(comparisons=said.take(np.arange(30)))
    assert Fantope().set_params(patience=1, **slow).fit(views[:1], few).n_iter_ < 300


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (
            lambda views, said: parse_chain("sqrt,pca").fit(views, Supervision(comparisons=said)),
            "learners that take them, such as fantope",
        ),
        (
            lambda views, said: Fantope().fit(views, Supervision(comparisons=Comparisons(said.items + 1))),
            "from 0 to 59",
        ),
        (lambda views, said: Fantope().fit(views, Supervision(comparisons=said.take(np.arange(0)))), "0 constraints"),
        (
            lambda views, said: (
                Fantope().set_params(patience=1).fit(views, Supervision(comparisons=said.take(np.arange(1))))
            ),
            "1 constraints",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_named(fit, words):
    """A learner without comparisons, rows that do not exist, and too few comparisons are ValueErrors."""
    views, said = seen()
    with pytest.raises(ValueError, match=words):
        fit(views, said)
