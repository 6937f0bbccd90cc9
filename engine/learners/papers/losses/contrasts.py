"""Contrasts: the sums over constraints from which a vector w is learned, with dissimilarities w . Psi(i, j).

Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV 2017),
equation (13). A constraint on w . z >= margin has the contrast z = Psi(k, l) - Psi(i, j).
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.differences import Differences, Pairs, Values, squared_lengths


class Contrasts(Protocol):
    """The protocol of contrasts z, (n, d), of n constraints, which are never all in memory."""

    @property
    def width(self) -> int:
        """d."""

    def along(self, w: Values) -> Values:
        """Return the (n,) products w . z."""

    def total(self, coefficients: Values) -> Values:
        """Return the (d,) sum of c z, with (n,) coefficients c."""

    def take(self, which: NDArray[np.intp]) -> Self:
        """Return the contrasts of some of the constraints."""


@dataclass(frozen=True, eq=False)
class SignedContrasts:
    """Contrasts of Psi(i, j) = x_i - x_j, the vector form of one attribute: w may have either sign.

    Both sums run over the rows: a constraint only adds four numbers to a sparse matrix.

    Args:
        rows: (m, d) float64.
        near: (n, 2) pairs (i, j).
        far: (n, 2) pairs (k, l).
    """

    rows: Rows
    near: Pairs
    far: Pairs

    @property
    def width(self) -> int:
        """The number of columns of the rows."""
        return int(self.rows.shape[1])

    def along(self, w: Values) -> Values:
        """Return the (n,) products."""
        scores = self.rows @ w
        first, second = scores[self.far].T
        third, fourth = scores[self.near].T
        return np.asarray(first - second - third + fourth)

    def total(self, coefficients: Values) -> Values:
        """Return the (d,) sum."""
        return np.asarray((self._members.T @ coefficients) @ self.rows)

    def take(self, which: NDArray[np.intp]) -> "SignedContrasts":
        """Return the contrasts of some of the constraints."""
        return SignedContrasts(self.rows, self.near[which], self.far[which])

    @property
    def _members(self) -> sp.csr_array:
        """A, (n, m), with z = A X."""
        items = np.column_stack([self.far, self.near[:, ::-1]])
        signs = np.tile([1.0, -1.0, 1.0, -1.0], len(items))
        starts = 4 * np.arange(len(items) + 1)
        return sp.csr_array((signs, items.ravel(), starts), shape=(len(items), len(self.rows)))


@dataclass(frozen=True, eq=False)
class SquaredContrasts:
    """Contrasts of Psi(i, j) = (x_i - x_j)^2, column by column: w >= 0 is the diagonal of a metric.

    Args:
        rows: (m, d) float64.
        near: (n, 2) pairs (i, j).
        far: (n, 2) pairs (k, l).
    """

    rows: Rows
    near: Pairs
    far: Pairs

    @property
    def width(self) -> int:
        """The number of columns of the rows."""
        return int(self.rows.shape[1])

    def along(self, w: Values) -> Values:
        """Return the (n,) products."""
        pairs, lengths = np.concatenate([self.far, self.near]), np.zeros(2 * len(self.near))
        for sign in (1.0, -1.0):
            columns = np.flatnonzero(sign * w > 0)
            if len(columns):
                scaled: Rows = self.rows.take(columns, axis=1)  # take keeps the rows contiguous, an index would not
                scaled *= np.sqrt(sign * w[columns])
                lengths += sign * squared_lengths(scaled, pairs)
        return np.asarray(lengths[: len(self.far)] - lengths[len(self.far) :])

    def total(self, coefficients: Values) -> Values:
        """Return the (d,) sum."""
        pairs = np.concatenate([self.far, self.near])
        return Differences(self.rows).squares(pairs, np.concatenate([coefficients, -coefficients]))

    def take(self, which: NDArray[np.intp]) -> "SquaredContrasts":
        """Return the contrasts of some of the constraints."""
        return SquaredContrasts(self.rows, self.near[which], self.far[which])
