"""Measures of notions equal the plainest form of each."""

import numpy as np
from numpy.testing import assert_allclose

from benchmarks.joint.notion_measures import consistency, neighbor_error, triplet_error


def test_triplet_errors_count_what_is_out_of_order():
    """Equal distances count half, and weights count."""
    rows = np.array([[0.0], [1.0], [3.0], [-1.0]])
    asked = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3]])
    assert_allclose(triplet_error(rows, asked).value, (0 + 1 + 0.5) / 3)
    assert_allclose(triplet_error(rows, asked, np.array([2.0, 1.0, 1.0])).value, 1.5 / 4)
    assert_allclose(triplet_error(rows, np.repeat(asked[:2], 50, axis=0)).standard_error, 0.5 / np.sqrt(99), rtol=1e-6)


def test_neighbours_are_others():
    """Every row is left out of its own vote, and unlabelled rows out of all."""
    rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [0.15]])
    labels = ["a", "a", "a", "b", "b", "b", ""]
    assert neighbor_error(rows, labels, neighbors=1).value == 0
    assert_allclose(neighbor_error(rows, ["a", "a", "b", "b", "b", "b", ""], neighbors=1).value, 1 / 6)


def test_consistency_is_how_often_two_embeddings_agree():
    """An embedding always agrees with itself, and never with its opposite order."""
    rows = np.array([[0.0], [1.0], [3.0]])
    asked = np.array([[0, 1, 2], [2, 1, 0]])
    assert consistency(rows, rows, asked).value == 1
    other = np.array([[0.0], [3.0], [1.0]])
    assert consistency(rows, other, asked[:1]).value == 0
