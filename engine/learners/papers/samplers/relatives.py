"""Draws of quadruplets of rows from a tree of classes: same class, siblings and cousins."""

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint

Items = NDArray[np.int64]


class Relatives:
    """A sampler of quadruplets (i, j, k, l), in which i and j should be nearer than k and l, by a tree of classes.

    Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV
    2017), section 6.1. i and k are of one class; j is one of the rows nearest to i, of its class or of sibling classes;
    l is any row of a sibling class, or of a cousin, a class that is not a sibling. Rows of classes that are not leaves
    are in no quadruplet.

    Args:
        rows: (n, d), compared by Euclidean distance.
        labels: (n,) classes.
        taxonomy: the tree.
        neighbors: number of nearest rows among which j is drawn, at least 1.

    Raises:
        ValueError: if rows are of fewer than two of the leaves, or for fewer than one neighbour.
    """

    def __init__(self, rows: Rows, labels: NDArray[np.generic], taxonomy: Taxonomy, neighbors: int) -> None:
        if neighbors < 1:
            raise ValueError(f"neighbors={neighbors} must be at least 1")
        self._codes = taxonomy.positions(labels.astype(str).tolist())
        present = np.unique(self._codes[self._codes >= 0])
        if len(present) < 2:
            raise ValueError(f"the rows are of {len(present)} leaves of the taxonomy: at least 2 are needed")
        # Pools are lists of rows instead of tables of pairs, which would grow with the square of the rows.
        members = {code: np.flatnonzero(self._codes == code) for code in present.tolist()}
        none = np.empty(0, np.int64)
        self._siblings, self._cousins = dict.fromkeys(members, none), dict.fromkeys(members, none)
        for code in members:
            rest = np.setdiff1d(present, code)
            related = taxonomy.siblings[code, rest]
            for pools, leaves in ((self._siblings, rest[related]), (self._cousins, rest[~related])):
                pools[code] = np.concatenate([none, *(members[other] for other in leaves.tolist())])
        self._members = members
        self._near = {code: _nearest(rows, of, of, neighbors) for code, of in members.items() if len(of) > 1}
        self._near_siblings = {
            code: _nearest(rows, of, self._siblings[code], neighbors)
            for code, of in members.items()
            if len(self._siblings[code])
        }

    def same_and_siblings(self, count: int, generator: np.random.Generator) -> Items:
        """Return (count, 4) quadruplets of two rows of a class and two rows of sibling classes; (0, 4) without
        siblings."""
        classes = [code for code in self._near if len(self._siblings[code])]
        return self._drawn(count, classes, self._siblings, generator, near={code: self._near[code] for code in classes})

    def siblings_and_cousins(self, count: int, generator: np.random.Generator) -> Items:
        """Return (count, 4) quadruplets of two rows of sibling classes and two rows of cousins; (0, 4) without cousins.

        In a class without siblings, the first two rows are both of this class.
        """
        near = self._near | self._near_siblings  # siblings take precedence
        classes = [code for code in near if len(self._cousins[code])]
        return self._drawn(count, classes, self._cousins, generator, near=near)

    def _drawn(
        self,
        count: int,
        classes: list[int],
        pools: dict[int, Items],
        generator: np.random.Generator,
        *,
        near: dict[int, Items],
    ) -> Items:
        """Return quadruplets whose first rows are of the given classes, in proportion to the rows of each class."""
        if not classes:
            return np.empty((0, 4), np.int64)
        anchors = generator.choice(np.concatenate([self._members[code] for code in classes]), count)
        items = np.empty((count, 4), np.int64)
        items[:, 0] = anchors
        for code in classes:
            of_class = np.flatnonzero(self._codes[anchors] == code)
            members, size = self._members[code], len(of_class)
            places = np.searchsorted(members, anchors[of_class])
            items[of_class, 1] = near[code][places, generator.integers(0, near[code].shape[1], size)]
            items[of_class, 2] = generator.choice(members, size)
            items[of_class, 3] = generator.choice(pools[code], size)
        return items


def _nearest(rows: Rows, members: Items, pool: Items, count: int) -> Items:
    """Return, for each member row, the nearest of the other rows, (m, k), never the row itself."""
    checkpoint()
    alike = members is pool
    search = NearestNeighbors(n_neighbors=min(count, len(pool) - alike)).fit(rows[pool])
    return np.asarray(pool[search.kneighbors(None if alike else rows[members], return_distance=False)])
