"""Beliefs are surest about items that people compared."""

import numpy as np
import pytest

from crossview.engine.findings.questions import Metric, Places

BELIEFS = [Places, Metric]


def items(n=30, width=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def triplets(rows, count=300, items=20, seed=1):
    """Return answers about the first items alone, all right."""
    generator = np.random.default_rng(seed)
    drawn = np.array([generator.choice(items, 3, replace=False) for _ in range(count)])
    near, far = (np.square(rows[drawn[:, 0]] - rows[drawn[:, place]]).sum(axis=1) for place in (1, 2))
    drawn[near > far] = drawn[near > far][:, [0, 2, 1]]
    return drawn


@pytest.mark.parametrize("kind", BELIEFS)
def test_distances_have_means_and_proper_covariances(kind):
    """Covariances of each anchor's candidates are symmetric and positive semidefinite."""
    rows = items()
    belief = kind.of(rows, triplets(rows))
    anchors, candidates = np.array([0, 25]), np.array([[1, 2, 3, 26], [4, 5, 27, 28]])
    means, covariances = belief.distances(anchors, candidates)
    assert means.shape == (2, 4)
    assert covariances.shape == (2, 4, 4)
    np.testing.assert_allclose(covariances, covariances.transpose(0, 2, 1), atol=1e-9)
    assert np.linalg.eigvalsh(covariances).min() > -1e-9


@pytest.mark.parametrize("kind", BELIEFS)
def test_a_question_that_was_asked_makes_it_surer(kind):
    """The variance of the question's margin falls, for any answer."""
    rows = items()
    belief = kind.of(rows, triplets(rows))

    def variance():
        covariance = belief.distances(np.array([3]), np.array([[7, 9]]))[1][0]
        return covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]

    before = variance()
    belief.learn(np.array([[3, 7, 9]]))
    assert variance() < before


def test_items_that_were_never_compared_are_the_least_sure():
    """Their places are as uncertain as those of all items together."""
    rows = items()
    belief = Places.of(rows, triplets(rows))
    volumes = np.linalg.slogdet(belief.information)[1]
    assert volumes[20:].max() < volumes[:20].min()


def test_a_metric_learns_which_columns_matter():
    """With answers by one column, distances along it count most, also between items that no answer named."""
    rows = items(n=60)
    by_one = rows * [1.0, 0.0, 0.0, 0.0]
    belief = Metric.of(rows, triplets(by_one))
    means, _ = belief.distances(np.arange(20, 60), np.tile(np.arange(20), (40, 1)))
    wanted = np.square(by_one[20:, None, 0] - by_one[None, :20, 0])
    assert np.corrcoef(means.ravel(), wanted.ravel())[0, 1] > 0.8
    assert np.corrcoef(np.square(rows[20:, None] - rows[None, :20]).sum(axis=2).ravel(), wanted.ravel())[0, 1] < 0.8


@pytest.mark.parametrize("kind", BELIEFS)
def test_many_columns_and_no_answers_are_no_obstacle(kind):
    """Rows of many columns are taken by their leading directions, and a first question needs no answer."""
    belief = kind.of(items(n=50, width=100), [])
    means, _ = belief.distances(np.array([0]), np.array([[1, 2]]))
    assert np.isfinite(means).all()
    assert len(set(belief.nearest(np.array([0]), 5)[0].tolist()) - {0}) == 5


@pytest.mark.parametrize("kind", BELIEFS)
def test_wrong_answers_are_named(kind):
    """Answers of another shape, or about an item that does not exist, are refused."""
    with pytest.raises(ValueError, match="answers must be triplets"):
        kind.of(items(), [[1, 2]])
    with pytest.raises(ValueError, match="from 0 to 29, not 30"):
        kind.of(items(), [[1, 2, 30]])
