"""The spectrum of a symmetric matrix, and the projections that need it."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows

RANK_TOLERANCE = 1e-6
"""Share of the largest eigenvalue above which an eigenvalue counts towards the rank."""


@dataclass(frozen=True)
class Spectrum:
    """A symmetric matrix V diag(values) V^T.

    Attributes:
        values: (d,) eigenvalues, not increasing.
        vectors: (d, d), an orthonormal eigenvector per column.
    """

    values: NDArray[np.float64]
    vectors: Rows

    @classmethod
    def of(cls, matrix: Rows) -> Self:
        """Return the spectrum of the symmetric part of a matrix: rounding makes the triangles of a product differ."""
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return cls(values[::-1], vectors[:, ::-1])

    def positive(self) -> Self:
        """Return the nearest positive semidefinite matrix in the Frobenius norm."""
        return type(self)(np.maximum(self.values, 0.0), self.vectors)

    def largest(self, rank: int) -> Self:
        """Return the nearest matrix of at most the given rank, for a positive semidefinite matrix."""
        return type(self)(np.where(np.arange(len(self.values)) < rank, self.values, 0.0), self.vectors)

    def matrix(self) -> Rows:
        """Return the (d, d) matrix."""
        taken = self.values != 0  # a metric of low rank needs only a product of few columns
        vectors = self.vectors[:, taken]
        product: Rows = (vectors * self.values[taken]) @ vectors.T
        return (product + product.T) / 2

    def factor(self) -> Rows:
        """Return L, (r, d), with L^T L the positive semidefinite matrix of the r positive eigenvalues."""
        positive = self.values > 0
        return np.asarray(np.sqrt(self.values[positive])[:, None] * self.vectors[:, positive].T)

    def rank(self, tolerance: float = RANK_TOLERANCE) -> int:
        """Return the number of eigenvalues above a share of the largest; 0 if none is positive."""
        return int((self.values > tolerance * max(self.values[0], 0.0)).sum()) if self.values[0] > 0 else 0

    def smallest(self, count: int) -> float:
        """Return the sum of the ``count`` smallest eigenvalues: R(M) of the paper, equation (3)."""
        return float(self.values[len(self.values) - count :].sum())

    def projector(self, count: int) -> Rows:
        """Return W of the paper, equation (7): the projection on the eigenvectors of the smallest eigenvalues."""
        first, last = np.split(self.vectors, [len(self.values) - count], axis=1)
        if first.shape[1] < last.shape[1]:  # the product of the narrower half is cheaper
            return np.asarray(np.eye(len(first)) - first @ first.T)
        return np.asarray(last @ last.T)
