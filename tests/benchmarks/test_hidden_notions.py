"""Notions without names are found among triplets."""

import numpy as np
import pytest

from benchmarks.joint.hidden_notions import learn_hidden, matched
from crossview.engine.learners.papers.joint.joint_fit import JointSettings
from crossview.engine.learners.papers.joint.objectives import Features
from crossview.engine.learners.papers.losses.constraints import triplets

AXES = np.eye(4)[:2]


def compared(rows, count, seed):
    """Return so many triplets by the first column, and as many by the second."""
    generator, found = np.random.default_rng(seed), []
    for axis in range(2):
        items = np.array([generator.choice(len(rows), 3, replace=False) for _ in range(count)])
        near, far = (np.abs(rows[items[:, 0], axis] - rows[items[:, at], axis]) for at in (1, 2))
        found.append(np.where((near > far)[:, None], items[:, [0, 2, 1]], items))
    return found


@pytest.fixture(scope="module")
def learned():
    rows = np.random.default_rng(0).normal(size=(80, 4))
    inputs, by_axis = Features(rows), compared(rows, 700, 1)
    how = JointSettings(n_components=2, alpha=1e-3, tol=1e-5, max_iter=200)
    return rows, inputs, learn_hidden(inputs, triplets(np.concatenate(by_axis)), 2, how, starts=3)


def test_the_notions_are_found_without_their_names(learned):
    """Each hidden notion orders unseen triplets of one axis, after the best matching."""
    rows, _, hidden = learned
    errors = np.empty((2, 2))
    for axis, items in enumerate(compared(rows, 500, 2)):
        for notion, factor in enumerate(hidden.learned.factors):
            placed = rows @ factor
            near, far = (np.square(placed[items[:, 0]] - placed[items[:, at]]).sum(axis=1) for at in (1, 2))
            errors[axis, notion] = np.mean(near >= far)
    order = matched(errors)
    assert sorted(order) == [0, 1]
    assert errors[[0, 1], order].max() < 0.1


def test_memberships_are_probabilities_of_the_notions(learned):
    """They add up to 1, and favour the notion of a triplet if the two notions disagree about it."""
    rows, inputs, hidden = learned
    by_axis = compared(rows, 500, 3)
    belonging = hidden.memberships(inputs, triplets(np.concatenate(by_axis)))
    np.testing.assert_allclose(belonging.sum(axis=0), 1)
    first = belonging[0, :500].mean() - belonging[0, 500:].mean()
    assert abs(first) > 0.3
    np.testing.assert_allclose(hidden.shares, 0.5, atol=0.15)


def test_held_out_likelihood_prefers_the_right_number_of_notions(learned):
    """Two explain other triplets better than one does."""
    rows, inputs, hidden = learned
    known = triplets(np.concatenate(compared(rows, 700, 1)))
    other = triplets(np.concatenate(compared(rows, 500, 4)))
    one = learn_hidden(inputs, known, 1, JointSettings(n_components=2, alpha=1e-3, tol=1e-5, max_iter=200), starts=1)
    assert hidden.held_out(inputs, other) > one.held_out(inputs, other) + 0.05
