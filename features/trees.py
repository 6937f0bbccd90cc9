"""Extremely randomised trees whose every node is a word (Moosmann, Triggs & Jurie, NIPS 2006; Geurts et al., 2006)."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TRIES = 20
"""Random tests with random thresholds that a split is the best of."""

Integers = NDArray[np.int32]
Respond = Callable[[NDArray[np.intp], Integers], Integers]
"""What patches, given by number, show the tests of the same number of nodes."""


class Trees(NamedTuple):
    """Binary trees, their nodes numbered level by level: the roots first, the two children of a node side by side."""

    children: Integers
    """(nodes,) each node's first child, the second being the next; 0 for a leaf."""
    tests: Integers
    """(nodes,) the test that an inner node makes; 0 for a leaf."""
    thresholds: Integers
    """(nodes,) a response above it goes to the second child; 0 for a leaf."""

    def sound(self, roots: int, tests: int) -> bool:
        """Whether this is what ``join_trees`` makes of so many trees on so many tests, so that every walk ends."""
        (inner,) = np.nonzero(self.children)
        children = roots + 2 * np.arange(len(inner))
        numbered = len(self.children) == roots + 2 * len(inner) and (self.children[inner] == children).all()
        return bool(numbered and (children > inner).all() and (self.tests >= 0).all() and (self.tests < tests).all())

    def visits(self, roots: int, patches: int, respond: Respond) -> NDArray[np.intp]:
        """How many patches pass each node, (nodes,), when each starts at each root."""
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
    """A tree of scikit-learn's (its ``tree_``) with so many splits, or fewer where nothing is left to separate.

    ``responses`` is (patches, tests) of whole numbers, ``classes`` (patches,). The next node to be split is the one
    where that lowers the entropy of the classes most; its test is the best of 20, each with a random threshold.
    """
    from sklearn.tree import ExtraTreeClassifier  # half a second that only fitting should cost

    tree = ExtraTreeClassifier(
        criterion="entropy", max_features=min(TRIES, responses.shape[1]), max_leaf_nodes=splits + 1, random_state=random
    )
    return tree.fit(responses, classes).tree_


def join_trees(grown: Iterable[tuple[Any, int]]) -> Trees:
    """Number the nodes of scikit-learn's trees, each given with the number of its first test."""
    nodes = [(tree, first, 0) for tree, first in grown]
    found = []
    for tree, first, node in nodes:  # which grows meanwhile
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            found.append((0, 0, 0))
            continue
        # Responses are whole numbers, so the threshold may be one too.
        found.append((len(nodes), first + tree.feature[node], np.floor(tree.threshold[node])))
        nodes += [(tree, first, left), (tree, first, right)]
    return Trees(*np.array(found, np.int32).reshape(-1, 3).T.copy())
