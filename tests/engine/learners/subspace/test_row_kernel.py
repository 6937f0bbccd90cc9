"""Kernels compare rows."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

from crossview.engine.learners.subspace.row_kernel import FittedKernel, LandmarkDistances, RowKernel, usual_scaling


def test_unit_rows_compare_texts_without_regard_to_their_length() -> None:
    counts = np.random.default_rng(0).poisson(0.5, (30, 80)).astype(float)
    fitted = FittedKernel.of(RowKernel("gaussian", "unit"), counts, np.arange(30))
    np.testing.assert_allclose(fitted.features(9 * counts), fitted.features(counts), atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "scaling"),
    [
        (np.eye(20), "unit"),
        (np.eye(20) - 0.01, "both"),
        (-np.eye(20), "both"),
        (np.eye(5), "both"),
        (np.ones((3, 2)), "both"),
    ],
)
def test_the_usual_scaling_is_unit_for_counts_of_which_nearly_all_are_0(rows: np.ndarray, scaling: str) -> None:
    assert usual_scaling(rows) == scaling


@pytest.mark.parametrize(("count", "landmarks"), [(1, 3), (200, 2_500), (130, 40)])
def test_distances_to_landmarks_are_those_of_scikit_learn(count: int, landmarks: int) -> None:
    """Blocks cover all rows, one after another."""
    random = np.random.default_rng(0)
    rows, others = random.normal(size=(count, 9)), random.normal(size=(landmarks, 9))
    distances = LandmarkDistances(others)
    blocks = list(distances.blocks(count))
    assert [place for block in blocks for place in range(count)[block]] == list(range(count))
    found = np.concatenate([distances.squared(rows[block]) for block in blocks])
    np.testing.assert_allclose(found, euclidean_distances(rows, others, squared=True), atol=1e-12)
