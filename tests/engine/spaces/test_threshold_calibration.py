"""Thresholds and probabilities of distances agree with each other, and pairs that did not set them judge them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.spaces.thresholds import error_rate, fitted_cut, wrong_by_others
from crossview.engine.values.info import Threshold

PAIRS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0, 3.0]), st.booleans()), min_size=2, max_size=30
).filter(lambda found: 0 < sum(alike for _, alike in found) < len(found))


def threshold_of(distances, similar):
    """Return the stored form of a cut."""
    cut = fitted_cut(np.array(distances), np.array(similar))
    return Threshold(
        view="v",
        target="v",
        distance=cut.distance,
        distances=tuple(cut.distances.tolist()),
        probabilities=tuple(cut.probabilities.tolist()),
        error_rate=None,
        standard_error=None,
        similar=1,
        dissimilar=1,
        protocol="",
        created="",
    )


@given(PAIRS)
def test_probabilities_agree_with_the_threshold(found):
    """They never grow with the distance, are never certain, and are at least one half only up to the threshold."""
    distances, similar = zip(*found, strict=True)
    known = threshold_of(distances, similar)
    asked = np.sort([*np.linspace(-1, 4, 101), *distances, known.distance])
    probabilities = np.array([known.probability(one) for one in asked.tolist()])
    assert (np.diff(probabilities) <= 0).all()
    assert probabilities.min() > 0
    assert probabilities.max() < 1
    assert (probabilities[asked <= known.distance] >= 0.5).all()
    assert (probabilities[asked > known.distance] <= 0.5).all()


def test_either_kind_counts_as_one_half():
    """The numbers of pairs may differ: the same ones twice change nothing."""
    generator = np.random.default_rng(0)
    distances = np.concatenate([generator.normal(1, 0.4, 60), generator.normal(2, 0.4, 60)])
    similar = np.arange(120) < 60
    even = fitted_cut(distances, similar)
    uneven = fitted_cut(np.concatenate([distances, distances[60:]]), np.concatenate([similar, similar[60:]]))
    assert uneven.distance == even.distance


def test_probabilities_are_as_often_right_as_they_say():
    """They are checked in five bins, on pairs that they were not learned from."""
    generator = np.random.default_rng(0)
    similar = generator.random(8_000) < 0.5
    distances = np.where(similar, generator.gamma(4, 0.3, 8_000), generator.gamma(7, 0.3, 8_000))
    known = threshold_of(distances[:4_000], similar[:4_000])
    said = np.array([known.probability(one) for one in distances[4_000:].tolist()])
    for low in np.arange(0, 1, 0.2):
        chosen = (said >= low) & (said < low + 0.2)
        assert abs(said[chosen].mean() - similar[4_000:][chosen].mean()) < 0.06


@pytest.mark.parametrize("apart", [True, False])
def test_the_error_rate_is_that_of_items_that_set_nothing(apart):
    """Pairs share items, or share none: if distances carry no information, it is one half."""
    generator = np.random.default_rng(0)
    items = np.arange(800).reshape(400, 2) if apart else np.array(list(combinations(range(30), 2)))
    distances, similar = generator.random(len(items)), generator.random(len(items)) < 0.3
    wrong = wrong_by_others(distances, similar, items)
    assert not np.isnan(wrong).any()
    rate, error = error_rate(wrong, similar)
    assert abs(rate - 0.5) < 4 * error
    assert error < 0.1


def test_an_item_that_gives_itself_away_gives_nothing_away():
    """Each item has a distance of its own: a threshold that had seen the item would be right, others are not."""
    items = np.repeat(np.arange(20)[:, None], 2, axis=1) * 2 + [0, 1]
    similar = np.arange(20) % 2 == 0
    wrong = wrong_by_others(np.arange(20.0), similar, items)
    assert error_rate(wrong, similar)[0] > 0.2


def test_too_few_pairs_have_no_error_rate():
    """One of each kind sets a threshold, and no pair is left to try it."""
    wrong = wrong_by_others(np.array([1.0, 2.0]), np.array([True, False]), np.array([[0, 1], [1, 2]]))
    assert error_rate(wrong, np.array([True, False])) == (None, None)
