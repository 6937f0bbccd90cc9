"""Semantic correlation maximisation, as the hashing benchmark has it."""

import numpy as np
import pytest
import scipy.linalg

from benchmarks.hashing.scm import SemanticCorrelation


def views(generator, count=90):
    """Return three classes in two views."""
    labels = np.arange(count) % 3
    return [
        generator.normal(size=(3, width))[labels] + 0.1 * generator.normal(size=(count, width)) for width in (5, 4)
    ], labels


def test_the_first_bit_solves_the_generalised_eigenproblem():
    """Its directions are those of C_xy C_yy^-1 C_xy^T w = l C_xx w with C_xy = X^T S Y."""
    rows, labels = views(np.random.default_rng(0))
    learner = SemanticCorrelation(1, shrinkage=0.0).fit(rows, labels)
    first, second = (x - x.mean(axis=0) for x in rows)
    across = first.T @ np.where(labels[:, None] == labels, 1.0, -1.0) @ second
    _, vectors = scipy.linalg.eigh(across @ np.linalg.solve(second.T @ second, across.T), first.T @ first)
    expected, found = vectors[:, -1], learner.weights_[0][0]
    assert abs(expected @ found) / np.linalg.norm(expected) / np.linalg.norm(found) == pytest.approx(1)
    other = np.linalg.solve(second.T @ second, across.T @ found)
    assert other @ learner.weights_[1][0] / np.linalg.norm(other) / np.linalg.norm(
        learner.weights_[1][0]
    ) == pytest.approx(1)


def test_items_of_a_class_have_the_same_codes_across_views():
    """The nearest item across the views is of the query's class, and classes differ in half of the bits or more."""
    rows, labels = views(np.random.default_rng(1))
    learner = SemanticCorrelation(32).fit(rows, labels)
    codes, others = (learner.transform(x, view=v) for v, x in enumerate(rows))
    differing = (codes[:, None] != others[None]).mean(axis=2)
    same = labels[:, None] == labels
    assert differing[same].mean() < 0.1
    assert differing[~same].mean() > 0.4
    assert (labels[differing.argmin(axis=1)] == labels).mean() > 0.95
