"""Quadruplets that are summed by sorting cost what they cost one by one."""

import numpy as np
import pytest

from crossview.engine.learners.papers.attributes.class_relations import Relations, class_pairs, constraints, crossings
from crossview.engine.learners.papers.attributes.quadruplets import Crossing, Crossings
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes
from crossview.engine.learners.papers.losses.contrasts import SignedContrasts
from crossview.engine.learners.papers.solvers.newton import Newton, VectorProblem, minimize

H = 0.05


def listed(parts, scores):
    """Return the loss, constraint by constraint."""
    total = 0.0
    for part in parts:
        for (high, low), weight in zip(part.far, part.weights, strict=True):
            for i, j in part.near:
                start = part.margin + H if part.margin > 0 else part.margin
                missing = start - (scores[high] - scores[low] - scores[i] + scores[j])
                total += weight * (0.0 if missing <= 0 else missing**2 / (4 * H) if missing <= 2 * H else missing - H)
    return total


def drawn(seed):
    """Return crossings of 12 rows: with margins and weights, of equal rows, and of a near pair of one row twice."""
    generator = np.random.default_rng(seed)
    pairs = [generator.integers(12, size=(count, 2)) for count in (7, 9, 5, 6)]
    same = np.array([[3, 3]])
    return [
        Crossing(near=pairs[0], far=pairs[1], weights=generator.uniform(0.1, 2, 9), margin=1.0),
        Crossing(near=pairs[2], far=pairs[2], weights=np.ones(5), margin=0.0),
        Crossing(near=same, far=pairs[3], weights=np.ones(6), margin=0.0),
    ]


@pytest.mark.parametrize("spread", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_the_sum_over_quadruplets(spread, seed):
    """Value, gradient and Hessian agree at scores that leave them in every part of the Huber loss."""
    parts = drawn(seed)
    loss, generator = Crossings(parts), np.random.default_rng(seed + 10)
    scores, along = spread * generator.normal(size=12), generator.normal(size=12)
    local = loss.around(scores)
    assert loss.count == pytest.approx(7 * parts[0].weights.sum() + 25 + 6)
    assert local.value == pytest.approx(listed(parts, scores), rel=1e-9, abs=1e-9)
    steps = 1e-7 * np.eye(12)
    slope = [(listed(parts, scores + e) - listed(parts, scores - e)) / 2e-7 for e in steps]
    np.testing.assert_allclose(local.slope, slope, atol=1e-4)
    curved = (loss.around(scores + 1e-8 * along).slope - loss.around(scores - 1e-8 * along).slope) / 2e-8
    np.testing.assert_allclose(2 * local.laplacian(along), curved, rtol=1e-4, atol=1e-3)


LEVELS = np.array([0.0, 1.0, 1.0, 2.0, 3.0])
"""Levels of five classes, two of them equal."""
CODES = np.repeat(np.arange(5), 4)
RELATIONS = [Relations("pairs", "quadruplets"), Relations("both", "quadruplets", 2), Relations("quadruplets", "none")]


def all_quadruplets(parts):
    """Return the rows of every constraint, its margin and its weight, one by one."""
    found = [
        (near, far, part.margin, weight)
        for part in parts
        for far, weight in zip(part.far, part.weights, strict=True)
        for near in part.near
    ]
    near, far, margins, weights = zip(*found, strict=True)
    return np.array(near), np.array(far), np.array(margins), np.array(weights)


@pytest.mark.parametrize("relations", RELATIONS)
def test_the_learner_ends_where_the_listed_quadruplets_have_their_minimum(relations):
    """Another solver takes every quadruplet by itself."""
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(20, 6)) + np.outer(LEVELS[CODES], [1, -1, 0.5, 0, 0, 0])
    rows -= rows.mean(axis=0)
    rows /= np.sqrt(np.square(rows).sum(axis=1).mean())
    near, far, margins, weights = all_quadruplets(
        crossings(LEVELS, CODES, class_pairs(LEVELS), relations, 16, generator)
    )
    costs = 30.0 * weights / weights.sum()
    problem = VectorProblem(SignedContrasts(rows, near, far), margins, costs, nonnegative=False)
    slow = minimize(problem, Newton(tol=1e-10))
    orderings = {str(code): [level] for code, level in enumerate(LEVELS)}
    learner = RelativeAttributes(30.0, orderings, relations=relations, tol=1e-8).fit(rows, CODES)
    np.testing.assert_allclose(learner.weights_[0][0], slow.w, atol=1e-4)


@pytest.mark.parametrize("relations", RELATIONS)
def test_the_sum_is_the_mean_of_what_is_drawn(relations):
    """Constraints with drawn rows around them cost as much, in the mean over many draws."""
    generator, codes = np.random.default_rng(4), np.repeat(np.arange(5), [4, 5, 2, 3, 4])
    scores = LEVELS[codes] + generator.normal(size=len(codes))
    parts = Crossings(crossings(LEVELS, codes, class_pairs(LEVELS), relations, 1_000, generator))

    def drawn_loss():
        given = constraints(LEVELS, codes, class_pairs(LEVELS), relations, 1_000, generator)
        gaps = scores[given.far] @ [1, -1] - scores[given.near] @ [1, -1]
        missing = np.maximum(np.where(given.margins > 0, given.margins + H, 0.0) - gaps, 0)
        return np.where(missing <= 2 * H, missing**2 / (4 * H), missing - H).sum()

    found = [drawn_loss() for _ in range(300)]
    assert np.mean(found) == pytest.approx(parts.around(scores).value, abs=5 * np.std(found) / np.sqrt(300) + 1e-9)
