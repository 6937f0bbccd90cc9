"""The graph of neighbours chooses the neighbours and the scaling of columns, and spreads labels."""

import numpy as np
import scipy.sparse as sp

from crossview.engine.learners.subspace.seeding import NeighborGraph, best_scalings


def groups(seed: int = 0, count: int = 30):
    """Return rows of two views of items of two groups that are far apart."""
    random = np.random.default_rng(seed)
    codes = np.repeat([0, 1], count)
    return [random.normal(0, 1, (2 * count, width)) + 10 * codes[:, None] for width in (5, 3)], codes


def graph_of(views, mask=None):
    mask = np.ones((len(views[0]), len(views)), bool) if mask is None else mask
    return NeighborGraph.of(views, mask, best_scalings(views, mask, np.random.RandomState(0)))


def test_weights_are_symmetric_and_join_near_items():
    views, codes = groups()
    weights = graph_of(views).weights.toarray()
    np.testing.assert_allclose(weights, weights.T)
    assert weights[codes[:, None] != codes].sum() == 0
    assert (weights.sum(axis=1) > 0).all()


def test_one_label_a_group_spreads_to_the_whole_group():
    views, codes = groups()
    few = np.full(len(codes), -1)
    few[[3, 40]] = codes[[3, 40]]
    shares = graph_of(views).spread(few, 2)
    np.testing.assert_array_equal(shares.argmax(axis=1), codes)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_spread_solves_the_equation_of_label_spreading():
    """F = (I - a S)^-1 Y up to the scale of rows (Zhou et al., NIPS 2003)."""
    views, codes = groups(count=15)
    graph = graph_of(views)
    few = np.where(np.arange(len(codes)) % 5 == 0, codes, -1)
    labels = np.zeros((len(codes), 2))
    labels[few >= 0, few[few >= 0]] = 1 / 3
    exact = np.linalg.solve(np.eye(len(codes)) - 0.9 * graph.normalized.toarray(), labels) + 1e-12
    np.testing.assert_allclose(graph.spread(few, 2), exact / exact.sum(axis=1, keepdims=True), atol=1e-4)


def test_the_scaling_is_that_on_which_views_agree():
    """A column of large noise hides the groups of the first view, unless columns have unit variance."""
    views, codes = groups()
    views[0] = views[0] - 10 * codes[:, None] + 2 * codes[:, None]
    views[0] = np.hstack([views[0], np.random.default_rng(1).normal(0, 1e4, (len(codes), 1))])
    weights = graph_of(views).weights.toarray()
    same = codes[:, None] == codes
    assert weights[same].sum() > 3 * weights[~same].sum()


def test_items_without_a_view_have_neighbours_in_the_others_alone():
    views, _ = groups()
    mask = np.ones((60, 2), bool)
    mask[:10, 0] = False
    mask[0] = False
    weights = graph_of(views, mask).weights.toarray()
    assert weights[0].sum() == 0
    assert (weights[1:].sum(axis=1) > 0).all()


def test_pairs_join_what_the_views_do_not():
    views, _codes = groups()
    pair = sp.coo_array(([1.0, 1.0], ([0, 59], [59, 0])), shape=(60, 60))
    graph = graph_of(views)
    assert graph.weights[0, 59] == 0
    assert graph.with_pairs(sp.csr_array(pair)).weights[0, 59] == 2
    assert graph.with_pairs(None) is graph


def test_leading_coordinates_tell_the_groups():
    views, codes = groups(count=400)  # more items than all eigenvectors are computed for
    rows = graph_of(views).coordinates(2)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    alike = rows @ rows.T
    assert alike[codes[:, None] == codes].min() > alike[codes[:, None] != codes].max()
