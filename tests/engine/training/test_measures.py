"""The measures are the field's, and agree with scikit-learn's where that has them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

from engine.training.measures import (
    average_precision,
    knn_correct,
    members,
    nearness_of_own,
    precision_at_k,
    ranking,
    relevance,
    reranked,
)


def one_hot(classes: np.ndarray, count: int) -> np.ndarray:
    return np.eye(count, dtype=bool)[classes]


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


def test_ties_drawn_by_chance_are_all_orders_in_expectation():
    """Over many draws the average precision of a tied ranking is the mean over every order of its ties."""
    distances, relevant = (
        np.array([[0.0, 1.0, 1.0, 1.0, 1.0, 2.0]]),
        np.array([[False, True, True, False, False, True]]),
    )
    orders = [[0, *tied, 5] for tied in itertools.permutations([1, 2, 3, 4])]
    expected = average_precision(relevant[0][np.array(orders)]).mean()
    random = np.random.default_rng(0)
    drawn = [average_precision(relevant[:, ranking(distances, random)[0]])[0] for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(expected, abs=4 * np.std(drawn) / np.sqrt(4000))
    assert average_precision(relevant)[0] > expected + 0.05  # what the order of the database would have said


@given(st.integers(0, 2**32 - 1))
def test_an_order_drawn_by_chance_is_one_of_the_distances(seed):
    """Distances rise along it, each item comes once, and the seed decides it."""
    table = np.random.default_rng(seed).integers(0, 4, (3, 20))
    order = ranking(table, np.random.default_rng(seed))
    assert (np.diff(np.take_along_axis(table, order, 1), axis=1) >= 0).all()
    assert (np.sort(order, axis=1) == np.arange(20)).all()
    assert (ranking(table, np.random.default_rng(seed)) == order).all()


def test_only_the_first_are_reranked():
    """By the other distances, equal ones in the order they had."""
    order = np.array([[3, 0, 2, 1]])
    assert reranked(order, [[1.0, 0.0, 1.0, 2.0]], 3).tolist() == [[0, 2, 3, 1]]
    assert reranked(order, [[1.0, 0.0, 1.0, 2.0]], 9).tolist() == [[1, 0, 2, 3]]
    assert reranked(order, [[1.0, 0.0, 1.0, 2.0]], 1).tolist() == order.tolist()


def test_nearness_of_the_own_item():
    """1 if it is first, 0 if it is last, and nothing of a query that has none."""
    ranked = np.zeros((4, 100), bool)
    ranked[0, 0] = ranked[1, 24] = ranked[2, 99] = True
    np.testing.assert_allclose(nearness_of_own(ranked), [1, 5 / 9, 0, np.nan], atol=1e-12)
