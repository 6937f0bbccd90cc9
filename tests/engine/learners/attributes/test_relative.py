"""Relative attributes: the loss over pairs, the exact minimum, and refused input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from crossview.engine.learners.papers.attributes.ordering import Ordering
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes, direction


def slow_loss(amounts, scores):
    """Return the loss, pair by pair."""
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if amounts[i] > amounts[j]:
                total += max(0.0, 1 - (scores[i] - scores[j])) ** 2
            elif amounts[i] == amounts[j] and i < j:
                total += (scores[i] - scores[j]) ** 2
    return total


def people(seed=0, count=60, width=12):
    """Return rows of four classes, and how much of two attributes the classes have; two have as much of the second."""
    generator = np.random.default_rng(seed)
    labels = np.array(["ann", "bob", "cy", "dee"])[np.arange(count) % 4]
    rows = generator.normal(size=(count, width))
    rows[:, 0] += 2.0 * (np.arange(count) % 4)
    rows[:, 1] += 2.0 * np.array([3, 1, 1, 2])[np.arange(count) % 4]
    return rows, labels, {"ann": [0, 3], "bob": [1, 1], "cy": [2, 1], "dee": [3, 2]}


@settings(max_examples=30, deadline=None)
@given(count=st.integers(2, 14), levels=st.integers(1, 4), spread=st.sampled_from([0.1, 1.0, 10.0]), seed=st.integers())
def test_loss_is_the_sum_over_pairs(count, levels, spread, seed):
    """Value, gradient and Laplacian are those of the pairs, one by one, for any scores and levels."""
    generator = np.random.default_rng(seed % 2**32)
    amounts = generator.integers(levels, size=count).astype(float)
    scores = spread * generator.normal(size=count)
    local = Ordering(amounts).around(scores)
    assert local.value == pytest.approx(slow_loss(amounts, scores), rel=1e-9, abs=1e-9)
    step = 1e-6 * np.eye(count)
    differences = [(slow_loss(amounts, scores + e) - slow_loss(amounts, scores - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(local.slope, differences, rtol=1e-5, atol=1e-4 * (1 + spread))
    along = generator.normal(size=count)
    gaps = scores[:, None] - scores
    costs = (amounts[:, None] > amounts) & (gaps < 1)
    costs = costs | costs.T | (amounts[:, None] == amounts)
    expected = (costs * (along[:, None] - along)).sum(axis=1)
    np.testing.assert_allclose(local.laplacian(along), expected, atol=1e-8)


@pytest.mark.parametrize("weight", [1.0, 300.0])
def test_direction_is_the_minimum(weight):
    """Newton's method ends where a slow general solver of the pairwise loss does."""
    rows, labels, orderings = people(count=16, width=5)
    amounts = np.array([float(orderings[name][1]) for name in labels])

    def loss(w):
        return w @ w / 2 + weight * slow_loss(amounts, rows @ w) / (16 * 15 / 2)

    slow = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-7})
    found = direction(rows, amounts, weight, tol=1e-8)
    np.testing.assert_allclose(found, slow.x, atol=1e-4)
    assert loss(found) <= slow.fun + 1e-9


def test_scores_order_the_classes():
    """On fresh rows the mean scores of the classes are in the order that was given, attribute by attribute."""
    rows, labels, orderings = people(count=200)
    learner = RelativeAttributes(orderings=orderings).fit(rows, labels)
    fresh, known, _ = people(seed=1, count=200)
    scores = learner.transform(fresh)
    assert scores.shape == (200, 2)
    means = {name: scores[known == name].mean(axis=0) for name in orderings}
    assert means["ann"][0] < means["bob"][0] < means["cy"][0] < means["dee"][0]
    assert max(means["bob"][1], means["cy"][1]) < means["dee"][1] < means["ann"][1]
    assert abs(means["bob"][1] - means["cy"][1]) < 0.3 * (means["dee"][1] - means["cy"][1])


def test_only_the_order_matters():
    """Other numbers in the same order give the same scores; an absent class changes nothing."""
    rows, labels, orderings = people()
    other = {name: np.exp(values) for name, values in orderings.items()} | {"eve": [9, 9]}
    plain, grown = (RelativeAttributes(orderings=given_).fit(rows, labels) for given_ in (orderings, other))
    np.testing.assert_array_equal(plain.weights_[0], grown.weights_[0])


def test_each_class_is_an_attribute_by_default():
    """Without orderings there is a score per class, on which its rows are highest on the mean."""
    rows, labels, _ = people(count=100)
    learner = RelativeAttributes().fit(rows, labels)
    scores = learner.transform(rows)
    means = np.array([scores[labels == name].mean(axis=0) for name in learner.classes_])
    np.testing.assert_array_equal(means.argmax(axis=0), range(4))


def test_two_views_are_comparable():
    """A row of one view is nearest, among the classes of another, to its own more often than not."""
    rows, labels, orderings = people(count=200)
    other = rows @ np.random.default_rng(2).normal(size=(12, 9)) + 0.1
    learner = RelativeAttributes(orderings=orderings).fit([rows, other], labels)
    scores, others = learner.transform([rows, other])
    means = np.array([others[labels == name].mean(axis=0) for name in learner.classes_])
    found = np.square(scores[:, None] - means).sum(axis=2).argmin(axis=1)
    assert np.mean(learner.classes_[found] == labels) > 0.6


def test_units_do_not_matter():
    """Rows in other units, moved, get the same scores."""
    rows, labels, orderings = people()
    plain = RelativeAttributes(orderings=orderings).fit(rows, labels).transform(rows)
    moved = RelativeAttributes(orderings=orderings).fit(1024 * rows + 3, labels).transform(1024 * rows + 3)
    np.testing.assert_allclose(plain, moved, atol=1e-6)


def test_classes_without_an_ordering_are_left_out():
    """The learner learns from the other classes alone; rows of those left out have scores like any row."""
    rows, labels, orderings = people()
    some = {name: numbers for name, numbers in orderings.items() if name != "dee"}
    learned = RelativeAttributes(orderings=some).fit(rows, labels)
    others = labels != "dee"
    expected = RelativeAttributes(orderings=some).fit(rows[others], labels[others])
    assert learned.classes_.tolist() == ["ann", "bob", "cy"]
    np.testing.assert_array_equal(learned.transform(rows), expected.transform(rows))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0.0}, "C must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"orderings": {"ann": [1], "eve": [2]}}, "numbers for 1 of the 4 classes.*at least 2 are needed.*ann, bob"),
        ({"orderings": {"ann": [1], "bob": [2], "cy": [3], "dee": [1, 2]}}, "equally many numbers"),
        ({"orderings": {"ann": [1], "bob": [2], "cy": [3], "dee": [np.nan]}}, "orderings must be"),
        ({"orderings": {"ann": [1, 0], "bob": [1, 0], "cy": [1, 1], "dee": [1, 2]}}, r"attributes \[0\]"),
    ],
)
def test_bad_settings_are_named(change, message):
    """Parameters and orderings that allow no learning are ValueErrors with the reason."""
    rows, labels, _ = people()
    with pytest.raises(ValueError, match=message):
        RelativeAttributes(**change).fit(rows, labels)
