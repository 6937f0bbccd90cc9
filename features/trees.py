"""Extremely randomised trees whose every node is a word (Moosmann, Triggs & Jurie, NIPS 2006; Geurts et al., 2006)."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TRIES = 20
"""Random tests with random thresholds, of which a split is the best."""

Integers = NDArray[np.int32]
Respond = Callable[[NDArray[np.intp], Integers], Integers]
"""A function of patches and tests by number that returns the patches' responses to the tests."""


class Trees(NamedTuple):
    """Binary trees, their nodes numbered level by level: the roots first, the two children of a node side by side."""

    children: Integers
    """(nodes,) each node's first child; the second child is the next node; 0 for a leaf."""
    tests: Integers
    """(nodes,) the test of an inner node; 0 for a leaf."""
    thresholds: Integers
    """(nodes,) thresholds: a patch with a response above goes to the second child; 0 for a leaf."""

    def sound(self, roots: int, tests: int) -> bool:
        """Return whether ``join_trees`` can make this from the trees and tests, so that every walk ends."""
        (inner,) = np.nonzero(self.children)
        children = roots + 2 * np.arange(len(inner))
        numbered = len(self.children) == roots + 2 * len(inner) and (self.children[inner] == children).all()
        return bool(numbered and (children > inner).all() and (self.tests >= 0).all() and (self.tests < tests).all())

    def visits(self, roots: int, patches: int, respond: Respond) -> NDArray[np.intp]:
        """Return how many patches pass each node, (nodes,), if each starts at each root."""
        counts = np.zeros(len(self.children), np.intp)
        patch = np.repeat(np.arange(patches), roots)
        node: NDArray[np.integer[Any]] = np.tile(np.arange(roots), patches)
        while len(node):
            counts += np.bincount(node, minlength=len(counts))
            inner = self.children[node] > 0
            patch, node = patch[inner], node[inner]
            node = self.children[node] + (respond(patch, self.tests[node]) > self.thresholds[node])
        return counts


def grow_tree(
    responses: NDArray[np.float32], classes: NDArray[np.intp], splits: int, random: np.random.RandomState
) -> Any:
    """Return a ``tree_`` of scikit-learn with ``splits`` splits, or fewer if all patches are separated.

    ``responses`` is (patches, tests) of whole numbers, ``classes`` (patches,). The next split is the one that lowers
    the entropy of the classes most; its test is the best of 20, each with a random threshold.
    """
    # deferred, because the import takes half a second and only fitting needs it
    from sklearn.tree import ExtraTreeClassifier

    tree = ExtraTreeClassifier(
        criterion="entropy", max_features=min(TRIES, responses.shape[1]), max_leaf_nodes=splits + 1, random_state=random
    )
    return tree.fit(responses, classes).tree_


def join_trees(grown: Iterable[tuple[Any, int]]) -> Trees:
    """Return the nodes of scikit-learn's trees, each with the number of its first test."""
    nodes = [(tree, first, 0) for tree, first in grown]
    found = []
    for tree, first, node in nodes:  # the loop appends to the list
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            found.append((0, 0, 0))
            continue
        # Responses are whole numbers, so rounding the threshold down keeps every decision.
        found.append((len(nodes), first + tree.feature[node], np.floor(tree.threshold[node])))
        nodes += [(tree, first, left), (tree, first, right)]
    return Trees(*np.array(found, np.int32).reshape(-1, 3).T.copy())
