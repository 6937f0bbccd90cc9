"""The measures are the field's, and agree with scikit-learn's if it has them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

from crossview.engine.training.measures import (
    average_precision,
    knn_correct,
    members,
    nearness_of_own,
    precision_at_k,
    ranking,
    relevance,
    relevant,
    reranked,
)


def one_hot(classes: np.ndarray, count: int) -> csr_array:
    return csr_array(np.eye(count, dtype=bool)[classes])


@given(st.integers(0, 2**32 - 1))
def test_average_precision_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    distances, ranked = rng.random((4, 12)), rng.random((4, 12)) < 0.4
    order = ranking(distances)
    found = average_precision(np.take_along_axis(ranked, order, 1))
    for row in range(4):
        if ranked[row].any():
            assert found[row] == pytest.approx(average_precision_score(ranked[row], -distances[row]))
        else:
            assert np.isnan(found[row])


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 5]))
def test_knn_votes_as_scikit_learn_where_there_is_no_tie(seed, k):
    rng = np.random.default_rng(seed)
    database, queries = rng.normal(size=(30, 3)), rng.normal(size=(10, 3))
    classes, wanted = rng.integers(0, 2, 30), rng.integers(0, 2, 10)
    theirs = KNeighborsClassifier(k).fit(database, classes).predict(queries) == wanted
    order = ranking(np.linalg.norm(queries[:, None] - database[None], axis=2))
    assert (knn_correct(order, one_hot(wanted, 2), one_hot(classes, 2), k) == theirs).all()


def test_a_tied_vote_goes_to_the_class_that_is_met_first():
    order = np.array([[0, 1, 2, 3]])
    database = one_hot(np.array([1, 0, 0, 1]), 2)
    assert knn_correct(order, one_hot(np.array([1]), 2), database, 4).all()
    assert not knn_correct(order, one_hot(np.array([0]), 2), database, 4).any()


def test_items_with_several_labels_are_relevant_when_one_is_shared():
    queries = members([("a", "b"), ("c",)], ["a", "b", "c"])
    database = members([("b", "c"), ("a",), ()], ["a", "b", "c"])
    ranked = relevance(np.array([[0, 1, 2], [0, 1, 2]]), queries, database)
    assert ranked.tolist() == [[True, True, False], [True, False, False]]
    assert precision_at_k(ranked, 2).tolist() == [1.0, 0.5]
    assert precision_at_k(ranked, 50).tolist() == pytest.approx([2 / 3, 1 / 3])


def test_equal_distances_rank_in_database_order():
    assert ranking([[1.0, 0.0, 1.0, 0.0]]).tolist() == [[1, 3, 0, 2]]


def test_ties_in_an_order_drawn_by_chance_are_all_orders_in_expectation():
    """Over many orders of the database the average precision is the mean over every order of the ties."""
    distances, relevant = (
        np.array([[0.0, 1.0, 1.0, 1.0, 1.0, 2.0]]),
        np.array([[False, True, True, False, False, True]]),
    )
    orders = [[0, *tied, 5] for tied in itertools.permutations([1, 2, 3, 4])]
    expected = average_precision(relevant[0][np.array(orders)]).mean()
    random = np.random.default_rng(0)
    databases = [random.permutation(6) for _ in range(4000)]
    drawn = [average_precision(relevant[:, order[ranking(distances[:, order])[0]]])[0] for order in databases]
    assert np.mean(drawn) == pytest.approx(expected, abs=4 * np.std(drawn) / np.sqrt(4000))
    assert average_precision(relevant)[0] > expected + 0.05  # the answer by the order of the database


@given(st.integers(0, 2**32 - 1), st.integers(1, 70))
def test_a_ranking_sorts_distances_and_keeps_the_order_of_equal_ones(seed, count):
    """It is a stable sort, for numbers of every size, infinite ones last; zeros of either sign are equal."""
    random = np.random.default_rng(seed)
    table = random.choice([-0.0, 0.0, 1e-300, 1e-9, 0.1, 1.0, np.nextafter(1.0, 2) + 1e-7, 3e38, np.inf], (3, count))
    assert (ranking(table) == np.argsort(table, axis=1, kind="stable")).all()
    distinct = random.permuted(np.tile(np.arange(count) ** 1.5, (3, 1)), axis=1)
    assert (ranking(distinct) == np.argsort(distinct, axis=1)).all()


def test_a_million_distances_are_told_apart():
    """They differ by a millionth."""
    table = np.random.default_rng(0).permutation(2**20)[None] + 2.0**20
    assert (ranking(table) == np.argsort(table, axis=1)).all()


@given(st.integers(0, 2**32 - 1))
def test_votes_of_items_with_several_labels(seed):
    """Each neighbour votes for all its labels, the most votes win, then the label that comes first."""
    random = np.random.default_rng(seed)
    own, database = (random.random((count, 5)) < 0.4 for count in (4, 12))
    order = random.permuted(np.tile(np.arange(12), (4, 1)), axis=1)
    for k in (1, 4, 20):
        expected = []
        for query, nearest in zip(own, order[:, :k], strict=True):
            votes = database[nearest]
            best = np.flatnonzero(votes.sum(axis=0) == votes.sum(axis=0).max())
            winner = min(best, key=lambda label: (votes[:, label].argmax(), label))
            expected.append(votes.any() and query[winner])
        assert knn_correct(order, csr_array(own), csr_array(database), k).tolist() == expected


def test_members_are_sparse():
    """A million classes do not take a million columns of memory; unknown classes are left out."""
    found = members([("7", "no"), (), ("9", "7"), ("9",)], [str(number) for number in range(1_000_000)])
    assert (found.shape, found.nnz) == ((4, 1_000_000), 4)
    assert relevant(found[:1], found).tolist() == [[True, False, True, False]]


def test_only_the_first_are_reranked():
    """They are ordered by the other distances, equal ones in their former order."""
    order = np.array([[3, 0, 2, 1]])
    assert reranked(order, [[2.0, 1.0, 1.0]]).tolist() == [[0, 2, 3, 1]]
    assert reranked(order, [[2.0, 1.0, 1.0, 0.0]]).tolist() == [[1, 0, 2, 3]]
    assert reranked(order, [[2.0]]).tolist() == order.tolist()


def test_nearness_of_the_own_item():
    """It is 1 if the item is first, 0 if it is last, and missing for a query without one."""
    ranked = np.zeros((4, 100), bool)
    ranked[0, 0] = ranked[1, 24] = ranked[2, 99] = True
    np.testing.assert_allclose(nearness_of_own(ranked), [1, 5 / 9, 0, np.nan], atol=1e-12)
