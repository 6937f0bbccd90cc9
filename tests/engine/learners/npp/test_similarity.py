"""Relations of every form stand for the same pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview.engine.learners.papers.npp.neighborhoods import nearest_items
from crossview.engine.learners.papers.npp.similarity import (
    Complement,
    Listed,
    SameClass,
    SharedLabels,
    listed,
    shared_labels,
)


def relations(seed):
    """Return relations of 7 rows with 9, and each as a dense matrix."""
    generator = np.random.default_rng(seed)
    first, second = generator.integers(3, size=7), generator.integers(4, size=9)
    labels = [sp.csr_array(generator.integers(2, size=(n, 4))) for n in (7, 9)]
    matrix = generator.integers(2, size=(7, 9)).astype(bool)
    return [
        (SameClass(first, second), first[:, None] == second),
        (SharedLabels(*labels), (labels[0] @ labels[1].T).toarray() > 0),
        (Listed(sp.csr_array(matrix)), matrix),
    ]


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_every_form_says_the_same(seed):
    """Blocks, single pairs, subsets, the transposed relation and the complement agree with the dense matrix."""
    generator = np.random.default_rng(seed)
    rows, columns = generator.integers(7, size=5), generator.integers(9, size=6)
    for relation, dense in relations(seed):
        assert relation.shape == dense.shape
        assert relation.size == dense.sum()
        np.testing.assert_array_equal(relation.block(slice(2, 6)), dense[2:6])
        np.testing.assert_array_equal(relation.transposed().block(slice(0, 9)), dense.T)
        np.testing.assert_array_equal(relation.holds(rows, columns[:5]), dense[rows, columns[:5]])
        np.testing.assert_array_equal(relation.cut(rows, columns).block(slice(0, 5)), dense[np.ix_(rows, columns)])
        others = Complement(relation)
        np.testing.assert_array_equal(others.block(slice(0, 7)), ~dense)
        assert others.size == (~dense).sum()


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_sums_of_similar_rows(seed):
    """Each row gets the sum of its similar rows; those that share several labels count as often as they do."""
    rows = np.random.default_rng(seed).normal(size=(9, 2))
    for relation, dense in relations(seed):
        counted = (relation.first @ relation.second.T).toarray() if isinstance(relation, SharedLabels) else dense
        np.testing.assert_allclose(relation.sums(rows), counted @ rows, atol=1e-12)


def test_items_without_labels_are_alone():
    """Items that share a label are similar; an item without labels is similar only to itself."""
    relation = shared_labels(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]]))
    expected = [[0, 1], [0, 1, 3], [2], [1, 3], [4]]
    assert [np.flatnonzero(row).tolist() for row in relation.block(slice(0, 5))] == expected


def test_nearest_items():
    """An item's neighbours are its nearest among those that have the view; an item without the view has only itself."""
    rows = np.array([[0.0], [1.0], [5.0], [1.1], [5.2]])
    relation = nearest_items(rows, np.array([True, True, True, False, True]), 1)
    expected = [[0, 1], [0, 1], [2, 4], [3], [2, 4]]
    assert [np.flatnonzero(row).tolist() for row in relation.block(slice(0, 5))] == expected


def test_lists_are_checked():
    """Lists of the wrong length and numbers out of range are named."""
    with pytest.raises(ValueError, match="neighbors has 1 rows, X has 2"):
        listed([[0]], 2)
    with pytest.raises(ValueError, match=r"row numbers in 0\.\.1"):
        listed([[0], [2]], 2)
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        listed(sp.csr_array(np.eye(2, 3)), 2)
