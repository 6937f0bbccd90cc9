"""The span of rows, which has no more dimensions than there are rows."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows

Basis = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Span:
    """Rows by their coordinates in an orthonormal basis, if the basis has fewer vectors than the rows have columns.

    A learner whose solution is rotation-invariant and is zero outside the span of its rows finds the same solution from
    the coordinates. A learner that depends on the number of columns, for example by a penalty relative to the mean
    variance of a column, must use ``width``.

    Attributes:
        rows: (n, r) coordinates; the rows themselves without a basis.
        basis: (r, d) orthonormal vectors; None: the rows have no more columns than there are rows.
    """

    rows: Rows
    basis: Basis | None = None

    @classmethod
    def of(cls, rows: Rows, also: Basis | None = None) -> Self:
        """Return the coordinates of (n, d) rows, in a basis that also spans (m, d) further vectors."""
        vectors = rows if also is None else np.vstack([rows, also])
        if len(vectors) >= rows.shape[1]:
            return cls(rows)
        basis, coordinates = np.linalg.qr(vectors.T)
        return cls(np.ascontiguousarray(coordinates.T[: len(rows)]), np.ascontiguousarray(basis.T))

    @property
    def width(self) -> int:
        """d, the number of columns of the original rows."""
        return int((self.rows if self.basis is None else self.basis).shape[1])

    def take(self, which: NDArray[np.intp]) -> Self:
        """Return the rows at some positions, in the same basis."""
        return replace(self, rows=self.rows[which])

    def coordinates(self, vectors: Basis) -> Basis:
        """Return the (m, r) coordinates of (m, d) vectors, of their components in the span."""
        return vectors if self.basis is None else vectors @ self.basis.T

    def lifted(self, weights: Basis) -> Basis:
        """Return the (D, d) projection of rows that equals the (D, r) projection of their coordinates."""
        return weights if self.basis is None else weights @ self.basis
