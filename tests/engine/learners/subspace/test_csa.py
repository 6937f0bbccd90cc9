"""Canonical similarity: a cosine of canonical variates that weights each by its correlation."""

import numpy as np
import pytest

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.registry import parse_chain
from crossview.engine.learners.subspace.cca import CanonicalCorrelation
from crossview.engine.learners.subspace.csa import SHRINKAGES, CanonicalSimilarity


def pairs(count: int, seed: int = 0, noise: float = 0.3):
    """Return rows of two views of 12 and 9 columns, which share five numbers of each item."""
    random = np.random.default_rng(seed)
    ways = [np.random.default_rng(9).normal(size=(5, width)) for width in (12, 9)]
    shared = random.normal(size=(count, 5))
    return [shared @ way + noise * random.normal(size=(count, way.shape[1])) for way in ways]


def test_the_product_is_the_weighted_cosine_of_the_paper():
    """Canonical correlation analysis with power 0 gives the canonical variates of unit variance."""
    views = pairs(80)
    learner = CanonicalSimilarity(n_components=4, shrinkage=0.1).fit(views)
    plain = CanonicalCorrelation(n_components=4, shrinkage=0.1, power=0).fit(views)
    a, b = (plain.transform(views[view], view=view) for view in (0, 1))
    lengths = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    expected = (a * plain.correlations_) @ b.T / lengths
    found = learner.transform(views[0], view=0) @ learner.transform(views[1], view=1).T
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(learner.correlations_, plain.correlations_)


def test_a_pipeline_ranks_by_it():
    """After ``dot``, the nearest item is the most similar one."""
    views, new = pairs(80), pairs(20, seed=1)
    learner = CanonicalSimilarity(shrinkage=0.1).fit(views)
    chain = parse_chain("csa,dot", {"shrinkage": 0.1}).fit(views)
    similar = learner.transform(new[0], view=0) @ learner.transform(new[1], view=1).T
    queries, items = chain.transform_queries(new[0], view=0), chain.transform(new[1], view=1)
    distances = ((queries[:, None] - items[None]) ** 2).sum(axis=2)
    assert np.array_equal(distances.argsort(axis=1), (-similar).argsort(axis=1))


def test_unseen_items_find_themselves():
    new = pairs(50, seed=1)
    learner = CanonicalSimilarity().fit(pairs(100))
    similar = learner.transform(new[0], view=0) @ learner.transform(new[1], view=1).T
    assert (similar.argmax(axis=1) == np.arange(50)).mean() > 0.8


@pytest.mark.parametrize(("count", "noise"), [(14, 1.0), (300, 0.05)])
def test_held_out_items_choose_the_shrinkage(count, noise):
    """Few noisy pairs need more shrinkage than many clear ones."""
    chosen = CanonicalSimilarity().fit(pairs(count, noise=noise)).shrinkage_
    assert chosen in SHRINKAGES
    assert (chosen >= SHRINKAGES[2]) == (count < 100)


def test_items_without_a_view_are_left_out():
    views = pairs(60)
    mask = np.ones((60, 2), bool)
    mask[40:, 1] = False
    found = CanonicalSimilarity(shrinkage=0.3).fit(views, Supervision(mask=mask))
    expected = CanonicalSimilarity(shrinkage=0.3).fit([rows[:40] for rows in views])
    np.testing.assert_allclose(found.transform(views[0], view=0), expected.transform(views[0], view=0))
