"""Quadruplets of a tree of classes: same class, siblings and cousins."""

import numpy as np
import pytest

from crossview.engine.learners.frame.comparisons import MAX_NODES, Taxonomy
from crossview.engine.learners.papers.samplers.relatives import Relatives

TREE = Taxonomy({"ab": "", "a": "ab", "b": "ab", "cd": "", "c": "cd", "d": "cd", "alone": "", "x": "alone"})
LABELS = np.repeat(["a", "b", "c", "d", "x", "?"], [6, 5, 4, 1, 3, 2])
ROWS = np.random.default_rng(3).normal(size=(len(LABELS), 4))
COUNT = 3_000
SIBLING = {"a": "b", "b": "a", "c": "d", "d": "c"}


def classes(items):
    return LABELS[items]


def test_the_tree_knows_siblings_and_heights():
    """Leaves of one parent are siblings, except those of the first level."""
    deep = Taxonomy({"r": "", "p": "r", "q": "p", "a": "q", "b": "q", "c": "p", "d": "r", "e": ""})
    assert deep.leaves == ("a", "b", "c", "d", "e")
    assert deep.heights[0].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(deep.heights, deep.heights.T)
    assert np.argwhere(deep.siblings).tolist() == [[0, 1], [1, 0]]
    assert not Taxonomy({"a": "", "b": ""}).siblings.any()


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": "b", "b": "a", "c": "", "d": ""}, "below itself"),
        ({"a": "b", "c": ""}, "which is not in the taxonomy"),
        ({"a": ""}, "at least 2 leaves"),
        ({"": "a", "a": ""}, "has no name"),
        ({str(node): "" for node in range(MAX_NODES + 1)}, "at most 10,000 nodes, not 10,001"),
    ],
)
def test_what_is_no_tree_is_refused(parents, message):
    with pytest.raises(ValueError, match=message):
        Taxonomy(parents)


class Counted(dict):
    """A dictionary that counts how often it is read."""

    asked = 0

    def __getitem__(self, name):
        self.asked += 1
        return super().__getitem__(name)


@pytest.mark.parametrize("nodes", [1_000, 2_000, 4_000])
def test_a_deep_tree_is_checked_in_one_pass(nodes):
    """It is a chain with a leaf at each of its nodes, or a circle of the same length."""
    chain = {f"n{number}": f"n{number - 1}" if number else "" for number in range(nodes)}
    parents = Counted(chain | {f"l{number}": f"n{number}" for number in range(nodes)})
    tree = Taxonomy(parents)
    assert parents.asked <= 2 * len(parents)
    assert tree.heights[tree.leaves.index("l0"), tree.leaves.index(f"l{nodes - 1}")] == nodes
    parents["n0"] = f"n{nodes - 1}"
    parents.asked = 0
    with pytest.raises(ValueError, match="below itself") as refused:
        Taxonomy(parents)
    assert parents.asked <= 2 * len(parents)
    assert len(str(refused.value)) < 500


def test_rows_of_a_class_are_to_be_nearer_than_siblings():
    items = Relatives(ROWS, LABELS, TREE, 2).same_and_siblings(COUNT, np.random.default_rng(0))
    first, second, third, fourth = classes(items).T
    assert set(first) == {"a", "b", "c"}  # the only row of d has no companion, x no sibling
    assert (first == second).all()
    assert (first == third).all()
    assert (items[:, 0] != items[:, 1]).all()
    assert all(SIBLING[one] == other for one, other in zip(third, fourth, strict=True))


def test_siblings_are_to_be_nearer_than_cousins():
    """Rows of a class without siblings are to be nearer themselves."""
    items = Relatives(ROWS, LABELS, TREE, 2).siblings_and_cousins(COUNT, np.random.default_rng(0))
    first, second, third, fourth = classes(items).T
    assert set(first) == {"a", "b", "c", "d", "x"}
    assert (first == third).all()
    assert all(SIBLING.get(one, one) == other for one, other in zip(first, second, strict=True))
    assert all(other not in (one, SIBLING.get(one)) for one, other in zip(third, fourth, strict=True))
    assert {*fourth[first == "x"]} == {"a", "b", "c", "d"}
    assert (items[:, 0] != items[:, 1]).all()


def test_the_near_row_is_one_of_the_nearest():
    items = Relatives(ROWS, LABELS, TREE, 2).same_and_siblings(COUNT, np.random.default_rng(1))
    for first, second in np.unique(items[:, :2], axis=0):
        others = np.flatnonzero((LABELS[first] == LABELS) & (np.arange(len(LABELS)) != first))
        gaps = np.linalg.norm(ROWS[others] - ROWS[first], axis=1)
        assert second in others[np.argsort(gaps)[:2]]


def test_without_siblings_all_others_are_cousins():
    """A tree without information leaves quadruplets of classes alone."""
    flat = Relatives(ROWS, LABELS, Taxonomy(dict.fromkeys("abcdx", "")), 3)
    assert flat.same_and_siblings(COUNT, np.random.default_rng(0)).shape == (0, 4)
    first, second, third, fourth = classes(flat.siblings_and_cousins(COUNT, np.random.default_rng(0))).T
    assert (first == second).all()
    assert (third != fourth).all()


def test_rows_of_too_few_leaves_are_refused():
    with pytest.raises(ValueError, match="1 leaves of the taxonomy"):
        Relatives(ROWS[:6], LABELS[:6], TREE, 2)
