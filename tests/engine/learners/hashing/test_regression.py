"""The regression that npp-hash starts from, against regressions that really leave a row out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from engine.learners.hashing.regression import Regression


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(6, 25), st.integers(1, 30), st.integers(1, 3))
def test_left_out_predictions_are_those_of_regressions_without_the_row(seed, count, width, targets):
    """Of every row that is asked for, with the penalty of all rows; more columns than rows are allowed."""
    generator = np.random.default_rng(seed)
    rows, wanted = generator.normal(size=(count, width)), generator.normal(size=(count, targets))
    rows -= rows.mean(axis=0)
    regression = Regression.of(rows, wanted)
    which = np.sort(generator.permutation(count)[:4])
    found = regression.left_out(rows, wanted, which)
    for place, row in enumerate(which):
        others = np.arange(count) != row
        known = Ridge(alpha=regression.penalty).fit(rows[others], wanted[others]).predict(rows[[row]]).reshape(-1)
        np.testing.assert_allclose((found[place] + regression.constants) * regression.size, known, rtol=1e-6, atol=1e-8)


def test_predictions_have_unit_mean_square():
    """Constants aside; with them and unscaled they are the ridge regression of that penalty."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(40, 5))
    wanted = rows @ generator.normal(size=(5, 2)) + 3.0
    regression = Regression.of(rows, wanted)
    predicted = rows @ regression.weights.T
    assert np.mean(predicted**2) == pytest.approx(1)
    known = Ridge(alpha=regression.penalty).fit(rows, wanted)
    np.testing.assert_allclose((predicted + regression.constants) * regression.size, known.predict(rows))
