"""Kinds of information: what is drawn is what the kind says, and every method is told the same."""

import numpy as np
import pytest

from benchmarks.information import benchmark as information
from benchmarks.information.kinds import KINDS, known
from benchmarks.sets.split import Split


@pytest.fixture
def split() -> Split:
    random = np.random.default_rng(0)
    labels = np.repeat(np.array(["a", "b", "c", "d"]), 30)
    rows = {"first": random.normal(size=(120, 4)), "second": random.normal(size=(120, 3))}
    views = {name: view.astype(np.float32) for name, view in rows.items()}
    order = random.permutation(120)
    return Split(rows=views, labels=labels, train=np.sort(order[:100]), held_out=np.sort(order[100:]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_draws_the_same(split, kind):
    one, two = (known(kind, split, split.train, 3) for _ in range(2))
    np.testing.assert_array_equal(one.classes, two.classes)
    np.testing.assert_array_equal(one.mask, two.mask)
    assert one.mask.any(axis=1).all()


@pytest.mark.parametrize(("kind", "count"), [("1 label a class", 4), ("5 labels a class", 20), ("views alone", 0)])
def test_so_many_labels_are_known(split, kind, count):
    given = known(kind, split, split.train, 0)
    assert given.supervision().labelled.sum() == count
    right = np.unique(split.labels, return_inverse=True)[1][split.train]
    named = given.classes >= 0
    np.testing.assert_array_equal(given.classes[named], right[named])


def test_a_share_of_the_labels_is_wrong(split):
    right = np.unique(split.labels, return_inverse=True)[1][split.train]
    given = known("40 % of the labels wrong", split, split.train, 0)
    assert 0.2 < (given.classes != right).mean() < 0.6


def test_pairs_join_items_of_one_class_and_become_classes_and_pairs(split):
    given = known("1 pair an item", split, split.train, 0)
    right = split.labels[split.train]
    first, second = given.pairs.nonzero()
    assert (right[first] == right[second]).all()
    classes = given.by_classes().classes
    assert (classes[first] == classes[second]).all()
    assert given.by_pairs().neighbors.nnz == given.pairs.nnz + len(right)


def test_labels_and_pairs_are_told_together(split):
    given = known("2 labels a class, 1 pair for 2 items", split, split.train, 0)
    links = given.by_pairs().neighbors
    named = [np.flatnonzero(given.classes == one) for one in range(4)]
    assert all(links[one[0], one[1]] for one in named)
    classes = given.by_classes().classes
    assert all(len(np.unique(classes[one])) == 1 for one in named)


def test_who_leads_is_told_beyond_the_standard_error():
    values = {"co-em": np.array([0.5, 0.6, 0.55]), "posteriors": np.array([0.4, 0.5, 0.46]), "few": np.array([0.9])}
    best, gain, error = information.lead(values, 3, 0.25)
    assert best == "posteriors"
    assert gain == pytest.approx(0.0967, abs=1e-3)
    assert 0 < error < gain


def test_figures_beside_map_are_shown_by_kind(split):
    """Across views, for every method that learns from the kind."""
    given = known("all labels", split, split.train, 0)
    figures = [
        ["all labels", method, *figure]
        for method in ("co-em", "kernel cca")
        for figure in information._measured(method, given, split, split.train)
    ]
    trial = {"data": "drawn", "sizes": (100, 20), "figures": figures}
    text = information.markdown({"trials": [trial], "settings": {"most_items": 1000}})
    assert "### own in first 10" in text
    tables = text.partition("## Own items, coverage and hubness")[2].partition("## drawn")[0]
    lines = [line.split(" | ")[1:] for line in tables.splitlines() if line.startswith("| all labels")]
    assert len(lines) == 5
    for line in lines:
        cells = dict(zip(information.METHODS, line, strict=True))
        assert [name for name, cell in cells.items() if cell.strip(" |")] == ["co-em", "kernel cca"]
