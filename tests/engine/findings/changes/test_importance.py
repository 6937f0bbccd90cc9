"""Regions matter as they are learned from simulated distances whose cause is known."""

import numpy as np
import pytest

from crossview.engine.findings.changes.importance import Labels, learn
from crossview.engine.findings.changes.monotony import Monotony, monotony
from crossview.engine.values.changes import FORMS, Form

NEWS, ADVERT, STILL, NOISE = range(4)


def simulated(count: int = 60, seed: int = 0) -> tuple[np.ndarray, Monotony]:
    """Return region distances of four regions: news that drifts, a redrawn advert, a still advert, and noise."""
    generator = np.random.default_rng(seed)
    news = np.cumsum(generator.random((count, 6)) * (generator.random((count, 1)) < 0.3), axis=0)
    values = [news, 3 * generator.random((count, 6)), np.ones((count, 6)), 0.1 * generator.random((count, 6))]
    known = monotony(np.arange(float(count)))
    gaps = [np.square(one[known.pairs[:, 0]] - one[known.pairs[:, 1]]).sum(axis=1) for one in values]
    return np.column_stack(gaps), known


@pytest.mark.parametrize("form", FORMS)
def test_what_drifts_matters_and_what_is_drawn_anew_does_not(form: Form) -> None:
    weights = learn(*simulated(), form).weights()
    assert weights[NEWS] > 0.5
    assert weights[ADVERT] < 0.1
    assert weights[STILL] < 0.1
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("form", FORMS)
def test_a_metric_is_positive_semidefinite_and_puts_unseen_time_in_order(form: Form) -> None:
    found = learn(*simulated(seed=1), form)
    assert np.linalg.eigvalsh(found.matrix).min() > -1e-9 * np.abs(found.matrix).max()
    regions, known = simulated(seed=2)
    distances = found.distances(regions)
    strict = known.margins > 0

    def order(values: np.ndarray) -> float:
        return float(np.mean(values[known.far[strict]] > values[known.near[strict]]))

    assert order(distances) > order(regions.sum(axis=1))


@pytest.mark.parametrize("form", FORMS)
def test_the_unit_of_the_features_does_not_matter(form: Form) -> None:
    regions, known = simulated()
    one, other = learn(regions, known, form, weights=[100.0]), learn(1e4 * regions, known, form, weights=[100.0])
    np.testing.assert_allclose(one.distances(regions), other.distances(1e4 * regions), rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_shares_of_regions_sum_up_to_the_distance(form: Form) -> None:
    regions, known = simulated()
    found = learn(regions, known, form)
    np.testing.assert_allclose(found.shares(regions).sum(axis=1), found.distances(regions), atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_labels_tell_what_time_does_not(form: Form) -> None:
    """The labels are those of a person who cares about the advert."""
    regions, known = simulated()
    important = regions[:, ADVERT] > np.median(regions[:, ADVERT])
    chosen = np.random.default_rng(0).choice(len(regions), 40, replace=False)
    without = learn(regions, known, form).weights()[ADVERT]
    assert learn(regions, known, form, Labels(regions[chosen], important[chosen])).weights()[ADVERT] > without


def test_labels_of_one_kind_say_nothing_of_distances() -> None:
    regions, known = simulated()
    labels = Labels(regions[:3], np.ones(3, np.bool_))
    assert not labels.of_both_kinds
    np.testing.assert_array_equal(learn(regions, known, labels=labels).matrix, learn(regions, known).matrix)


def test_too_few_versions_to_hold_any_out_take_the_largest_norm() -> None:
    regions, known = simulated(5)
    found = learn(regions, known, weights=[1.0, 1e6])
    assert found.weight == 1.0
    assert found.order is None


def test_what_cannot_be_learned_is_refused() -> None:
    regions, known = simulated(10)
    with pytest.raises(ValueError, match="no two versions differ"):
        learn(np.zeros_like(regions), known)
    with pytest.raises(ValueError, match="too few versions"):
        learn(regions, known.take(np.empty(0, np.int64)))
