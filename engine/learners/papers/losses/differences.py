"""Differences of pairs of rows, and the two sums over pairs from which every metric is learned."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows, slices

Pairs = NDArray[np.int64]
Values = NDArray[np.float64]

_CACHE = 1 << 17  # number of entries that fit into a core's own cache, which halves the time of gathering rows
_DENSE = 8  # up to so many products of rows per pair, all products cost less than the differences of the pairs
_MANY = 1 << 17  # number of pairs above which rows are gathered as float32
_LARGE = 1 << 16  # number of entries above which rows are embedded as float32


class Differences:
    """The features of pairs of rows of X: Phi(i, j) = x_i - x_j.

    The scatter is X^T (Lap X) with the sparse Laplacian Lap of the pairs' graph, so its time grows with the rows times
    the square of their width, and with the pairs times the width. With more than 131,072 pairs both sums are float32,
    which keeps 6 digits and takes less than half the time; embeddings of rows with more than 65,536 entries are float32
    too.

    Args:
        rows: (n, d) float64.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.width: int = rows.shape[1]
        centered = rows - rows.mean(axis=0)  # without the mean, inner products keep more digits
        self._centered = centered if centered.size <= _LARGE else centered.astype(np.float32)
        self._latest: tuple[Rows, Rows] | None = None

    def distances(self, factor: Rows, pairs: Pairs) -> Values:
        """Return |L (x_i - x_j)|^2 of (n, 2) pairs, for a (r, d) factor L."""
        if 2 * len(pairs) < len(self.rows):
            return _blockwise(pairs, self.rows, lambda gaps: np.square(gaps @ factor.T).sum(axis=1))
        return squared_lengths(self.embedded(factor), pairs)

    def embedded(self, factor: Rows) -> Rows:
        """Return the (n, r) embeddings of all rows about their mean.

        It caches the latest result: a step needs it for the distances, and again for the gradient at the same metric.
        """
        if self._latest is None or self._latest[0] is not factor:
            self._latest = factor, self._centered @ factor.T.astype(self._centered.dtype)
        return self._latest[1]

    def forms(self, matrix: Rows, pairs: Pairs) -> Values:
        """Return (x_i - x_j)^T M (x_i - x_j) of (n, 2) pairs, for any symmetric (d, d) matrix M."""
        return _blockwise(pairs, self.rows, lambda gaps: np.einsum("nr,nr->n", gaps @ matrix, gaps))

    def scatter(self, pairs: Pairs, coefficients: Values) -> Rows:
        """Return the (d, d) sum of c (x_i - x_j)(x_i - x_j)^T over (n, 2) pairs with (n,) coefficients c."""
        rows, pulled = self._laplacian(pairs, coefficients)
        total: Rows = rows.T @ pulled
        return np.asarray((total + total.T) / 2)

    def scattered(self, factor: Rows, pairs: Pairs, coefficients: Values) -> Rows:
        """Return the (r, d) product of a (r, d) factor and the scatter, as E^T Lap X, without the scatter itself.

        The distances have already computed the embeddings E, so the cost is that of one more embedding of all rows.
        """
        embedded, first, second = self.embedded(factor), *pairs.T
        degrees = np.bincount(first, coefficients, len(embedded)) + np.bincount(second, coefficients, len(embedded))
        shape = len(embedded), len(embedded)
        edges = sp.csr_array((coefficients.astype(embedded.dtype), (first, second)), shape=shape)
        pulled: Rows = degrees.astype(embedded.dtype)[:, None] * embedded
        pulled -= edges @ embedded
        pulled -= edges.T @ embedded
        return np.asarray(pulled.T @ self._centered, dtype=np.float64)

    def squares(self, pairs: Pairs, coefficients: Values) -> Values:
        """Return the diagonal of the scatter, (d,), without computing the rest."""
        rows, pulled = self._laplacian(pairs, coefficients)
        return np.asarray(np.einsum("nd,nd->d", rows, pulled))

    def check(self, largest: int) -> None:
        """Check that there is a row at position ``largest``.

        Raises:
            ValueError: if there is no such row.
        """
        if largest >= len(self.rows):
            raise ValueError(f"a constraint names row {largest}, but there are {len(self.rows)} rows, counted from 0")

    def _laplacian(self, pairs: Pairs, coefficients: Values) -> tuple[Rows, Rows]:
        """Return the rows X that the pairs name, or all rows, and (D - 2 E) X, where Lap = D - E - E^T.

        X^T (D - 2 E) X and X^T Lap X have the same symmetric part, and E needs half as many entries as E + E^T.
        """
        rows, places = self.rows, pairs
        if 2 * len(pairs) < len(rows):
            items, inverse = np.unique(pairs, return_inverse=True)
            rows, places = rows[items], inverse.reshape(pairs.shape)
        rows = _gathered(rows, len(pairs))
        first, second = places.T
        degrees = np.bincount(first, coefficients, len(rows)) + np.bincount(second, coefficients, len(rows))
        edges = sp.csr_array((coefficients.astype(rows.dtype), (first, second)), shape=(len(rows),) * 2)
        pulled: Rows = degrees[:, None] * rows
        pulled -= 2 * (edges @ rows)
        return rows, pulled


def squared_lengths(rows: Rows, pairs: Pairs) -> Values:
    """Return |x_i - x_j|^2 of (n, 2) pairs of (m, r) rows; with more than 131,072 pairs, from float32 rows."""
    if len(rows) ** 2 < _DENSE * len(pairs):
        return _among_all(rows.astype(np.float64), pairs)
    return _blockwise(pairs, _gathered(rows, len(pairs)), lambda gaps: np.einsum("nr,nr->n", gaps, gaps))


def _among_all(rows: Rows, pairs: Pairs) -> Values:
    """Return the squared lengths from the inner products of all rows, for pairs that are a large part of all possible
    ones."""
    rows = rows - rows.mean(axis=0)
    products = rows @ rows.T
    squares = products.diagonal()
    first, second = pairs.T
    lengths = squares[first] + squares[second] - 2 * products.ravel()[first * len(products) + second]
    return np.asarray(np.maximum(lengths, 0.0))  # the difference of products loses digits and can become negative


def _blockwise(pairs: Pairs, rows: Rows, measure: Callable[[Rows], Values]) -> Values:
    values = np.empty(len(pairs))
    for part in slices(len(pairs), rows.shape[1], _CACHE):
        gaps = rows.take(pairs[part, 0], axis=0)
        gaps -= rows.take(pairs[part, 1], axis=0)
        values[part] = measure(gaps)
    return values


def _gathered(rows: Rows, pairs: int) -> Rows:
    """Return rows with the same differences, in single precision if there are many pairs."""
    return rows if pairs <= _MANY else (rows - rows.mean(axis=0)).astype(np.float32)
