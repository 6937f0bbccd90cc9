"""Which rows of one view are similar to which rows of another."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.supervision import neighbor_matrix
from crossview.engine.learners.view_rows import Rows, slices

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class _Compared:
    """Pairs of rows that are of the relation because of what each of them has, classes or labels."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of the two views."""
        return self.first.shape[0], self.second.shape[0]

    def transposed(self) -> Self:
        """Return the relation seen from the other view."""
        return type(self)(self.second, self.first)

    def cut(self, first: Numbers, second: Numbers) -> Self:
        """Return the relation among the given rows."""
        return type(self)(self.first[first], self.second[second])


class SameClass(_Compared):
    """Pairs of rows of equal class.

    Args:
        first: (n,) classes, integers from 0, of the rows of the first view.
        second: (m,) those of the second; None: as the first.
    """

    def __init__(self, first: Numbers, second: Numbers | None = None) -> None:
        super().__init__(first, first if second is None else second)
        classes = int(max(self.first.max(initial=-1), self.second.max(initial=-1))) + 1
        self._counts = [np.bincount(codes, minlength=classes) for codes in (self.first, self.second)]

    @property
    def size(self) -> int:
        """The number of pairs."""
        return int(self._counts[0] @ self._counts[1])

    def block(self, rows: slice) -> Mask:
        """Return which pairs of these rows belong, (rows, m)."""
        return np.asarray(self.first[rows, None] == self.second[None, :])

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Return which of the given pairs belong, elementwise."""
        return np.asarray(self.first[first] == self.second[second])

    def sums(self, rows: Rows) -> Rows:
        """Return the sum of each row's class in the second view."""
        members = sp.csr_array(
            (np.ones(len(rows)), (self.second, np.arange(len(rows)))), (len(self._counts[1]), len(rows))
        )
        return np.asarray((members @ rows)[self.first])


class Listed:
    """Pairs that are given one by one.

    Args:
        matrix: sparse (n, m) matrix, nonzero where a pair belongs.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = sp.csr_array(matrix != 0)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of the two views."""
        rows, columns = self.matrix.shape
        return rows, columns

    @property
    def size(self) -> int:
        """The number of pairs."""
        return int(self.matrix.nnz)

    def block(self, rows: slice) -> Mask:
        """Return which pairs of these rows belong, (rows, m)."""
        return np.asarray(self.matrix[rows].toarray(), dtype=bool)

    def transposed(self) -> Self:
        """Return the relation seen from the other view."""
        return type(self)(self.matrix.T)

    def cut(self, first: Numbers, second: Numbers) -> Self:
        """Return the relation among the given rows."""
        return type(self)(self.matrix[first][:, second])

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Return which of the given pairs belong, elementwise."""
        return np.asarray(self.matrix[first, second], dtype=bool).ravel()

    def sums(self, rows: Rows) -> Rows:
        """Return the sum of each row's similar rows of the second view."""
        return np.asarray(self.matrix.astype(np.float64) @ rows)


class SharedLabels(_Compared):
    """Pairs of rows that share a label.

    Args:
        first: sparse (n, L) matrix, nonzero where a row of the first view has a label.
        second: (m, L), those of the second.
    """

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__(*(sp.csr_array(labels != 0).astype(np.int64) for labels in (first, second)))

    @property
    def size(self) -> int:
        """The number of pairs."""
        return sum(int((self.first[rows] @ self.second.T).nnz) for rows in slices(*self.shape))

    def block(self, rows: slice) -> Mask:
        """Return which pairs of these rows belong, (rows, m)."""
        return np.asarray((self.first[rows] @ self.second.T).toarray() > 0)

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Return which of the given pairs belong, elementwise."""
        return np.asarray(self.first[first].multiply(self.second[second]).sum(axis=1)).ravel() > 0

    def sums(self, rows: Rows) -> Rows:
        """Return the sum of each row's similar rows of the second view, each as often as labels are shared."""
        return np.asarray(self.first @ (self.second.T @ rows))


class Others:
    """All pairs that another relation leaves out."""

    def __init__(self, relation: "Relation") -> None:
        self.relation = relation

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows of the two views."""
        return self.relation.shape

    @property
    def size(self) -> int:
        """The number of pairs."""
        return self.shape[0] * self.shape[1] - self.relation.size

    def block(self, rows: slice) -> Mask:
        """Return which pairs of these rows belong, (rows, m)."""
        return ~self.relation.block(rows)

    def transposed(self) -> Self:
        """Return the relation seen from the other view."""
        return type(self)(self.relation.transposed())

    def cut(self, first: Numbers, second: Numbers) -> Self:
        """Return the relation among the given rows."""
        return type(self)(self.relation.cut(first, second))


Similarity = SameClass | Listed | SharedLabels
"""A relation of similar rows: a set of pairs (row i of one view, row j of another), both counted from 0."""
Relation = Similarity | Others
"""Any set of such pairs."""


def shared_labels(indicator: Any) -> SharedLabels:
    """Return the pairs of items that share a label; an item with none is paired with itself.

    Args:
        indicator: (n, L) matrix, dense or sparse, nonzero where an item has a label.
    """
    labels = sp.csr_array(indicator != 0).astype(np.int64)
    alone = np.flatnonzero(labels.sum(axis=1) == 0)
    own = sp.csr_array((np.ones(len(alone)), (alone, np.arange(len(alone)))), shape=(labels.shape[0], len(alone)))
    labels = sp.hstack([labels, own], format="csr")
    return SharedLabels(labels, labels)


def similarity_of(labels: Any, neighbors: Any, count: int) -> Similarity:
    """Return the similar pairs, by ``neighbors`` where given, else by a matrix of labels or by classes, (n,)."""
    if neighbors is not None:
        return listed(neighbors, count)
    if np.ndim(labels) == 2:
        return shared_labels(labels)
    return SameClass(np.unique(labels, return_inverse=True)[1])


def listed(neighbors: Any, count: int) -> Listed:
    """Return the pairs of items and their listed neighbours.

    Args:
        neighbors: sparse (n, n) matrix, nonzero where a pair belongs; or, for each item, the numbers of its similar
            items.
        count: n.

    Raises:
        ValueError: unless there are ``count`` rows and all numbers lie in 0..count - 1.
    """
    return Listed(neighbor_matrix(neighbors, count))
