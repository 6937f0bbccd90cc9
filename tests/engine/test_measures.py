"""The measures are the field's, and agree with scikit-learn's where that has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

from engine.measures import average_precision, knn_correct, members, precision_at_k, ranking, relevance


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
