"""The share of wrong labels follows from the ranks of the labels."""

import numpy as np
import pytest

from crossview.engine.learners.subspace.class_instance import wrong_share

ITEMS, CLASSES = 2000, 20


def drawn(wrong: float, classes: int = CLASSES, missing: float = 0.0, seed: int = 0):
    """Return probabilities of two views that often confuse a class with the next one, and labels, some random."""
    random = np.random.default_rng(seed)
    true = random.integers(classes, size=ITEMS)
    labels = np.where(random.random(ITEMS) < wrong, random.integers(classes, size=ITEMS), true)
    mask = random.random((ITEMS, 2)) >= missing
    rows = []
    for present in mask.T:
        shown = (true + (random.random(ITEMS) < 0.3)) % classes
        apart = np.abs(np.arange(classes)[None, :] - shown[:, None])
        near = -np.minimum(apart, classes - apart) + random.normal(size=(ITEMS, classes))
        rows.append((np.exp(near) / np.exp(near).sum(axis=1, keepdims=True))[present])
    return rows, mask, labels


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("wrong", [0.1, 0.3, 0.5])
def test_the_share_of_drawn_labels_is_found(wrong: float, missing: float) -> None:
    assert wrong_share(*drawn(wrong, missing=missing)) == pytest.approx(wrong, abs=0.05)


def test_confusions_are_no_wrong_labels() -> None:
    assert wrong_share(*drawn(0.0)) < 0.01


def test_too_few_classes_labels_or_items_tell_nothing() -> None:
    assert wrong_share(*drawn(0.5, classes=4)) == 0.0
    rows, mask, labels = drawn(0.5)
    assert wrong_share(rows, mask, np.full_like(labels, -1)) == 0.0
    seldom = np.where(np.arange(ITEMS) < 3, labels, -1)
    assert wrong_share(rows, mask, seldom) == 0.0
