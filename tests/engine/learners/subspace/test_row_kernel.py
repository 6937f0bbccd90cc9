"""Tests of the comparison of rows by kernels."""

import numpy as np
import pytest

from crossview.engine.learners.subspace.row_kernel import FittedKernel, RowKernel, usual_scaling


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
