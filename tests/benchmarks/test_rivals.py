"""Each rival of the defaults learns planted classes, the same each time, and CSA is the published similarity."""

import numpy as np
import pytest

from benchmarks.rivals import canonical
from benchmarks.rivals.known import UNKNOWN, Known
from benchmarks.rivals.named import OF_CLASSES, OF_VIEWS
from benchmarks.sets.split import Split
from benchmarks.unseen.trial import retrieved
from crossview.engine.learners.subspace.cca import CanonicalCorrelation


@pytest.fixture(scope="module")
def split() -> Split:
    """Return three classes, and a part of each item that both views share."""
    draw = np.random.default_rng(0)
    labels = np.arange(120) % 3
    hidden = np.hstack([3 * np.eye(3)[labels], draw.normal(size=(120, 2))])
    rows = {name: hidden @ draw.normal(size=(5, width)) for name, width in (("one", 9), ("two", 7))}
    views = {name: (view + 0.3 * draw.normal(size=view.shape)).astype(np.float32) for name, view in rows.items()}
    return Split(rows=views, labels=labels, train=np.arange(80), held_out=np.arange(80, 120))


def given(split: Split, few: bool = False) -> Known:
    classes = split.labels[split.train].astype(np.int64)
    if few:
        classes = np.where(np.arange(len(classes)) < 6, classes, UNKNOWN)
    return Known(classes=classes, mask=np.ones((len(classes), 2), bool), groups=None)


def found(chain, split: Split, metric: str) -> float:
    figures = [one for one in retrieved(chain, split) if one[0] == "unseen" and one[1] != one[2] and one[3] == metric]
    return float(np.mean([value for *_, value in figures]))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_what_learns_from_classes_finds_them(name, split):
    """Random orders would have a mAP of a third."""
    views = [rows[split.train] for rows in split.rows.values()]
    assert found(OF_CLASSES[name](views, given(split)), split, "map") > 0.8


@pytest.mark.parametrize("name", ["kernel logistic", "tuned ridge"])
def test_two_items_of_each_class_are_too_few_to_choose_by_and_enough_to_learn_from(name, split):
    """A second fit gives the same embeddings."""
    views = [rows[split.train] for rows in split.rows.values()]
    chain, again = (OF_CLASSES[name](views, given(split, few=True)) for _ in range(2))
    assert found(chain, split, "map") > 0.45
    np.testing.assert_array_equal(chain.transform(views[1], view=1), again.transform(views[1], view=1))


@pytest.mark.parametrize("name", OF_VIEWS)
def test_what_learns_from_views_finds_an_items_other_view(name, split):
    """A random order has a quarter of them in its first ten."""
    views = [rows[split.train] for rows in split.rows.values()]
    nothing = Known(classes=np.full(80, UNKNOWN), mask=np.ones((80, 2), bool), groups=None)
    assert found(OF_VIEWS[name](views, nothing), split, "recall@10") > 0.6


def test_csa_is_the_cosine_weighted_by_the_correlations(split):
    """The variates have unit variance; with correlations of 1 it is the cosine itself."""
    views = [rows.astype(float) for rows in split.rows.values()]
    csa = canonical.CanonicalSimilarity(n_components=4).fit(views)
    cca = CanonicalCorrelation(4, power=0.0).fit(views)
    one, two = ((rows / np.linalg.norm(rows, axis=1, keepdims=True)) for rows in cca.transform(views))
    first, second = csa.transform(views)
    np.testing.assert_allclose(first @ second.T, (one * cca.correlations_) @ two.T, atol=1e-9)
    csa.cca_.correlations_ = np.ones(4)
    first, second = csa.transform(views)
    np.testing.assert_allclose(first @ second.T, one @ two.T, atol=1e-9)


def test_pairs_become_classes_of_the_items_that_they_join():
    """An item without a pair has no class, and learners of pairs get the pairs."""
    links = np.zeros((4, 4))
    links[0, 2] = links[2, 0] = 1
    known = Known(classes=np.full(4, UNKNOWN), pairs=links, mask=np.ones((4, 2), bool), groups=None)
    assert known.grouped().tolist() == [0, UNKNOWN, 0, UNKNOWN]
    rows = [np.zeros((4, 3)), np.zeros((4, 2))]
    assert known.examples(rows).labels == (("0",), (), ("0",), ())
    assert known.examples(rows, pairs=True).similar.nnz == 2 + 4
