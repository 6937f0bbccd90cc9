"""Which rows of one view are similar or dissimilar to which rows of another, with the weight of every pair."""

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

BLOCK = 1 << 22  # pairs held as a dense block at once: 32 MB each for similar and dissimilar weights

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Weights = NDArray[np.float64]


class Relation(Protocol):
    """A set of pairs (row i of the first view, row j of the second), both counted 0..count - 1."""

    count: int

    def block(self, rows: slice) -> Mask:
        """Returns which pairs of these rows belong, (rows, count)."""

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Returns which of the given pairs belong, elementwise."""

    def transposed(self) -> Self:
        """Returns the relation seen from the second view."""


class SameClass:
    """Pairs of rows of equal class.

    Args:
        classes: (n,) integers.
    """

    def __init__(self, classes: Numbers) -> None:
        self.classes = classes
        self.count = len(classes)

    def block(self, rows: slice) -> Mask:
        """Returns which pairs of these rows belong, (rows, n)."""
        return np.asarray(self.classes[rows, None] == self.classes[None, :])

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Returns which of the given pairs belong, elementwise."""
        return np.asarray(self.classes[first] == self.classes[second])

    def transposed(self) -> Self:
        """Returns itself: equality is symmetric."""
        return self


class Listed:
    """Pairs that are given one by one.

    Args:
        neighbors: sparse (n, n) matrix, nonzero where a pair belongs; or, for each row of the first view, the numbers
            of its rows of the second.

    Raises:
        ValueError: unless there are ``count`` rows and all numbers lie in 0..count - 1.
    """

    def __init__(self, neighbors: Any, count: int) -> None:
        self.count = count
        if not sp.issparse(neighbors):
            if len(neighbors) != count:
                raise ValueError(f"neighbors has {len(neighbors)} rows, X has {count}")
            lengths = [len(row) for row in neighbors]
            columns = np.concatenate([np.asarray(row, dtype=np.int64) for row in neighbors])
            if len(columns) and not (columns.min() >= 0 and columns.max() < count):
                raise ValueError(f"neighbors must be row numbers in 0..{count - 1}")
            rows = np.repeat(np.arange(count), lengths)
            neighbors = sp.csr_array((np.ones(len(columns)), (rows, columns)), shape=(count, count))
        if neighbors.shape != (count, count):
            raise ValueError(f"neighbors has shape {neighbors.shape}, X has {count} rows: expected {(count, count)}")
        self.matrix = sp.csr_array(neighbors != 0)

    def block(self, rows: slice) -> Mask:
        """Returns which pairs of these rows belong, (rows, n)."""
        return np.asarray(self.matrix[rows].toarray(), dtype=bool)

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Returns which of the given pairs belong, elementwise."""
        return np.asarray(self.matrix[first, second], dtype=bool).ravel()

    def transposed(self) -> Self:
        """Returns the relation seen from the second view."""
        return type(self)(sp.csr_array(self.matrix.T), self.count)


class Others:
    """All pairs that another relation leaves out."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.count = relation.count

    def block(self, rows: slice) -> Mask:
        """Returns which pairs of these rows belong, (rows, n)."""
        return ~self.relation.block(rows)

    def holds(self, first: Numbers, second: Numbers) -> Mask:
        """Returns which of the given pairs belong, elementwise."""
        return ~self.relation.holds(first, second)

    def transposed(self) -> Self:
        """Returns the relation seen from the second view."""
        return type(self)(self.relation.transposed())


class Pairs:
    """Weights of similar and dissimilar inter-view pairs, read in dense blocks of rows.

    Similar pairs weigh 1 / (their number) each and dissimilar pairs likewise, so both kinds count alike however many
    there are, and settings carry over from one number of items to another.

    Args:
        similar: the similar pairs.
        dissimilar: the dissimilar pairs; pairs of neither kind weigh nothing.

    Raises:
        ValueError: if either kind is empty.
    """

    def __init__(self, similar: Relation, dissimilar: Relation) -> None:
        self.similar = similar
        self.dissimilar = dissimilar
        self.count = similar.count
        self.similar_count = _size(similar)
        self.dissimilar_count = _size(dissimilar)
        if not self.similar_count or not self.dissimilar_count:
            kind = "dissimilar" if self.similar_count else "similar"
            raise ValueError(f"there are no {kind} pairs: at least two classes (or listed neighbors) are needed")
        self._kept: list[tuple[slice, Weights, Weights]] = []

    def blocks(self) -> Iterator[tuple[slice, Weights, Weights]]:
        """Yields (rows, similar weights, dissimilar weights), weights (rows, n) each; the rows cover 0..n in order."""
        if not self._kept:
            whole = self.count**2 <= BLOCK
            blocks = (self._weights(rows) for rows in slices(self.count))
            if not whole:
                yield from blocks
                return
            self._kept = list(blocks)
        yield from self._kept

    def transposed(self) -> "Pairs":
        """Returns the same pairs seen from the second view."""
        return Pairs(self.similar.transposed(), self.dissimilar.transposed())

    def sampled(self, generator: np.random.RandomState) -> "Pairs":
        """Returns pairs with as many dissimilar ones as similar, drawn without replacement (or all there are)."""
        wanted = min(self.similar_count, self.dissimilar_count)
        if wanted == self.dissimilar_count:
            return self
        chosen: Numbers = np.zeros(0, dtype=np.int64)
        while len(chosen) < wanted:
            drawn = generator.randint(self.count**2, size=2 * wanted)
            drawn = drawn[self.dissimilar.holds(drawn // self.count, drawn % self.count)]
            chosen = np.unique(np.concatenate([chosen, drawn]))
        chosen = generator.permutation(chosen)[:wanted]
        ends = (chosen // self.count, chosen % self.count)
        matrix = sp.csr_array((np.ones(wanted), ends), shape=(self.count, self.count))
        return Pairs(self.similar, Listed(matrix, self.count))

    def _weights(self, rows: slice) -> tuple[slice, Weights, Weights]:
        similar, dissimilar = self.similar.block(rows), self.dissimilar.block(rows)
        return rows, similar / self.similar_count, dissimilar / self.dissimilar_count


def nearest(relation: Relation, rows: Weights, k: int) -> Listed:
    """Returns, for each row i of the first view, the pairs (i, j) of a relation with the k nearest j.

    Args:
        relation: pairs (i, j).
        rows: (n, d) rows that measure the distance of i and j.
        k: at least 1.
    """
    near = [sp.csr_array((0, relation.count), dtype=bool)]
    squares = (rows * rows).sum(axis=1)
    for block in slices(relation.count):
        squared = squares[block, None] + squares[None, :] - 2 * rows[block] @ rows.T
        mask = relation.block(block)
        squared[~mask] = np.inf
        kept = np.argsort(squared, axis=1, kind="stable")[:, :k]
        chosen = np.zeros_like(mask)
        np.put_along_axis(chosen, kept, True, axis=1)
        near.append(sp.csr_array(chosen & mask))
    return Listed(sp.csr_array(sp.vstack(near)), relation.count)


def either(first: Listed, second: Listed) -> Listed:
    """Returns the pairs that belong to one of two relations or to both."""
    return Listed(first.matrix + second.matrix, first.count)


def slices(count: int) -> Iterator[slice]:
    """Yields slices of rows, in order, such that a block of each has at most ``BLOCK`` pairs (but at least one row)."""
    size = max(1, BLOCK // count)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _size(relation: Relation) -> int:
    return sum(int(relation.block(rows).sum()) for rows in slices(relation.count))
