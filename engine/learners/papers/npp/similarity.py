"""Relations of rows of two views: similar rows, and the other rows."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.frame.supervision import neighbor_matrix
from crossview.engine.learners.frame.view_rows import Rows, slices

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class _AttributeRelation:
    """Base class of relations that compare an attribute of each row: its class or its labels."""

    first: Any
    second: Any

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows of each of the two views."""
        return self.first.shape[0], self.second.shape[0]

    def transposed(self) -> Self:
        """Return the relation seen from the other view."""
        return type(self)(self.second, self.first)

    def cut(self, first: Numbers, second: Numbers) -> Self:
        """Return the relation among the given rows."""
        return type(self)(self.first[first], self.second[second])


class SameClass(_AttributeRelation):
    """Pairs of rows of equal class.

    Args:
        first: (n,) classes, integers from 0, of the rows of the first view.
        second: (m,) classes of the rows of the second view; None: those of the first.
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
        """Return whether each pair of these rows with all rows of the second view belongs, (rows, m)."""
        return np.asarray(self.first[rows, None] == self.second[None, :])

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Return whether each of the given pairs belongs, elementwise."""
        return np.asarray(self.first[first] == self.second[second])

    def sums(self, rows: Rows) -> Rows:
        """Return, for each row of the first view, the sum of the rows of the same class in the second view."""
        members = sp.csr_array(
            (np.ones(len(rows)), (self.second, np.arange(len(rows)))), (len(self._counts[1]), len(rows))
        )
        return np.asarray((members @ rows)[self.first])


class Listed:
    """Pairs listed one by one.

    Args:
        matrix: sparse (n, m) matrix, nonzero for a pair that belongs.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix: sp.csr_array = sp.csr_array(matrix != 0)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows of each of the two views."""
        rows, columns = self.matrix.shape
        return rows, columns

    @property
    def size(self) -> int:
        """The number of pairs."""
        return int(self.matrix.nnz)

    def block(self, rows: slice) -> Mask:
        """Return whether each pair of these rows with all rows of the second view belongs, (rows, m)."""
        return np.asarray(self.matrix[rows].toarray(), dtype=bool)

    def transposed(self) -> Self:
        """Return the relation seen from the other view."""
        return type(self)(self.matrix.T)

    def cut(self, first: Numbers, second: Numbers) -> Self:
        """Return the relation among the given rows."""
        return type(self)(self.matrix[first][:, second])

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Return whether each of the given pairs belongs, elementwise."""
        return np.asarray(self.matrix[first, second], dtype=bool).ravel()

    def sums(self, rows: Rows) -> Rows:
        """Return, for each row of the first view, the sum of the similar rows of the second view."""
        return np.asarray(self.matrix.astype(np.float64) @ rows)


class SharedLabels(_AttributeRelation):
    """Pairs of rows that share a label.

    Args:
        first: sparse (n, L) matrix, nonzero if a row of the first view has a label.
        second: (m, L) matrix of the second view.
    """

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__(*(sp.csr_array(labels != 0).astype(np.int64) for labels in (first, second)))

    @property
    def size(self) -> int:
        """The number of pairs."""
        return sum(int((self.first[rows] @ self.second.T).nnz) for rows in slices(*self.shape))

    def block(self, rows: slice) -> Mask:
        """Return whether each pair of these rows with all rows of the second view belongs, (rows, m)."""
        return np.asarray((self.first[rows] @ self.second.T).toarray() > 0)

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Return whether each of the given pairs belongs, elementwise."""
        return np.asarray(self.first[first].multiply(self.second[second]).sum(axis=1)).ravel() > 0

    def sums(self, rows: Rows) -> Rows:
        """Return, for each row of the first view, the sum of the similar rows of the second view, each once per shared
        label."""
        return np.asarray(self.first @ (self.second.T @ rows))


class Complement:
    """All pairs that another relation does not contain."""

    def __init__(self, relation: "Relation") -> None:
        self.relation = relation

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows of each of the two views."""
        return self.relation.shape

    @property
    def size(self) -> int:
        """The number of pairs."""
        return self.shape[0] * self.shape[1] - self.relation.size

    def block(self, rows: slice) -> Mask:
        """Return whether each pair of these rows with all rows of the second view belongs, (rows, m)."""
        return ~self.relation.block(rows)

    def transposed(self) -> Self:
        """Return the relation seen from the other view."""
        return type(self)(self.relation.transposed())

    def cut(self, first: Numbers, second: Numbers) -> Self:
        """Return the relation among the given rows."""
        return type(self)(self.relation.cut(first, second))


Similarity = SameClass | Listed | SharedLabels
"""A relation of similar rows: a set of pairs (row i of one view, row j of another), both counted from 0."""
Relation = Similarity | Complement
"""A relation of similar or dissimilar rows."""


def shared_labels(indicator: Any) -> SharedLabels:
    """Return the pairs of items that share a label; an item without labels is paired with itself.

    Args:
        indicator: (n, L) matrix, dense or sparse, nonzero if an item has a label.
    """
    labels = sp.csr_array(indicator != 0).astype(np.int64)
    alone = np.flatnonzero(labels.sum(axis=1) == 0)
    own = sp.csr_array((np.ones(len(alone)), (alone, np.arange(len(alone)))), shape=(labels.shape[0], len(alone)))
    labels = sp.hstack([labels, own], format="csr")
    return SharedLabels(labels, labels)


def similarity_of(labels: Any, neighbors: Any, count: int) -> Similarity:
    """Return the similar pairs: from ``neighbors`` if given, otherwise from a matrix of labels or from (n,) classes."""
    if neighbors is not None:
        return listed(neighbors, count)
    if np.ndim(labels) == 2:
        return shared_labels(labels)
    return SameClass(np.unique(labels, return_inverse=True)[1])


def listed(neighbors: Any, count: int) -> Listed:
    """Return the pairs of items with their listed neighbours.

    Args:
        neighbors: sparse (n, n) matrix, nonzero for a pair that belongs; or, for each item, the numbers of its similar
            items.
        count: n.

    Raises:
        ValueError: unless there are ``count`` rows and all numbers are in 0..count - 1.
    """
    return Listed(neighbor_matrix(neighbors, count))
