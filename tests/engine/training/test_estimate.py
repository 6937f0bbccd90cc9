"""Means of measures, their standard errors, and paired differences."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.training.estimate import Estimate, Median, Sample, area_under_curve, in_order, over_splits


def estimate(values, weights=None) -> Estimate:
    return Estimate([Sample(np.array(values, float), None if weights is None else np.array(weights, float))])


def test_the_standard_error_of_a_mean_is_that_of_independent_values():
    """Values that could not be measured are left out; a single value has no known error."""
    values = np.random.default_rng(0).normal(size=40)
    found = estimate([*values, np.nan])
    assert found.value == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    assert (estimate([0.5]).value, estimate([0.5]).standard_error) == (0.5, None)
    assert np.isnan(estimate([np.nan]).value)


def test_equal_weights_are_none_and_a_weight_of_nothing_leaves_out():
    values = [1.0, 0.0, 0.5, 0.25]
    for weights, same in (([3] * 4, values), ([2, 2, 0, 2], [1.0, 0.0, 0.25])):
        assert estimate(values, weights).value == pytest.approx(estimate(same).value)
        assert estimate(values, weights).standard_error == pytest.approx(estimate(same).standard_error)


def test_paired_differences_are_surer_than_the_figures():
    """The common part of all queries cancels; a difference to itself is 0."""
    random = np.random.default_rng(1)
    hard = random.normal(size=200)
    one, other = estimate(hard + 0.3 + 0.1 * random.normal(size=200)), estimate(hard)
    paired = one.less(other)
    assert paired.value == pytest.approx(one.value - other.value)
    assert paired.standard_error < one.standard_error / 5
    assert (one.less(one).value, one.less(one).standard_error) == (0, 0)


def test_the_share_in_order_counts_equal_distances_half():
    near, far = np.array([1.0, 2.0, 3.0, 3.0]), np.array([2.0, 2.0, 1.0, 4.0])
    assert in_order(near, far).value == 2.5 / 4
    assert in_order(near, far, np.array([1.0, 0.0, 1.0, 2.0])).value == 3 / 4


def test_tuning_measures_the_same_share():
    """Equal distances count half there too: a metric that maps all items to one point has half of them in order."""
    items = np.random.default_rng(5).integers(0, 9, (40, 3))
    for rows in (np.zeros((9, 2)), np.arange(9.0)[:, None] // 3):
        near, far = (np.linalg.norm(rows[items[:, 0]] - rows[items[:, place]], axis=1) for place in (1, 2))
        assert Comparisons(items).agreement(rows) == pytest.approx(in_order(near, far).value)


def test_the_area_under_the_curve_is_scikit_learn_s():
    """Distances have many ties, with weights and without."""
    random = np.random.default_rng(2)
    similar, weights = random.random(300) < 0.4, random.uniform(0, 2, 300)
    distances = np.round(random.normal(size=300) - similar)
    for chosen in (None, weights):
        expected = roc_auc_score(similar, -distances, sample_weight=chosen)
        found = area_under_curve(distances, similar, chosen)
        assert found.value == pytest.approx(expected)
        assert found.samples[1].moments()[0] == pytest.approx(expected)


def test_the_standard_error_of_an_area_is_its_spread_over_draws():
    """Many draws of pairs show it, and also that of the difference of two areas of the same pairs."""
    random = np.random.default_rng(3)
    similar = np.arange(200) < 80
    areas, differences, told = [], [], []
    for _ in range(400):
        hard = random.normal(size=200) - similar
        one, other = (area_under_curve(hard + 0.5 * random.normal(size=200), similar) for _ in range(2))
        areas.append(one.value)
        differences.append(one.less(other).value)
        told.append((one.standard_error, one.less(other).standard_error))
    assert np.mean(told, axis=0) == pytest.approx([np.std(areas), np.std(differences)], rel=0.15)


def test_means_over_splits_have_the_corrected_error():
    """The variance of the values is multiplied by 1/N + n_test / n_train; the estimates of one split stay."""
    key = "unseen", "color", "map", None
    values = np.random.default_rng(6).random(10)
    found = over_splits([{key: estimate([value, value])} for value in values], overlap=0.25)[key]
    assert found.value == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(np.sqrt(values.var(ddof=1) * (1 / 10 + 0.25)))
    other = over_splits([{key: estimate([value**2])} for value in values], overlap=0.25)[key]
    paired = (values - values**2).var(ddof=1) * (1 / 10 + 0.25)
    assert found.less(other).standard_error == pytest.approx(np.sqrt(paired))
    single = {key: estimate([0.5, 1.0])}
    assert over_splits([single], overlap=0.25) is single


def test_a_median_has_a_bootstrap_error_and_a_paired_difference():
    """The error is about its spread over draws; the common part of two measures cancels in their difference."""
    random = np.random.default_rng(7)
    ranks = random.geometric(0.05, 300).astype(float)
    found = Median(ranks)
    spread = np.std([np.median(random.geometric(0.05, 300)) for _ in range(400)])
    assert found.value == np.median(ranks)
    assert found.standard_error == pytest.approx(spread, rel=0.5)
    assert Median(ranks[:1]).standard_error is None
    paired = Median(ranks + 2).less(found)
    assert (paired.value, paired.standard_error) == (2, 0)
