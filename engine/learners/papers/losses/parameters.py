"""Parameters of metrics: the sets of metrics in which a descent moves."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.differences import Differences, Pairs, Values

RANK_TOLERANCE = 1e-6
"""Share of the largest eigenvalue above which an eigenvalue counts towards the rank."""
Form = Literal["full", "diagonal", "factor", "low-rank"]
"""The names of the sets of metrics in which a descent can move; FORMS contains their parameters."""


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
        nonzero = self.values != 0  # a metric of low rank needs only a product of few columns
        vectors = self.vectors[:, nonzero]
        product: Rows = (vectors * self.values[nonzero]) @ vectors.T
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


@dataclass(frozen=True)
class Metric:
    """A metric at one point of its parameters.

    Attributes:
        theta: the parameters.
        factor: (r, d) L with M = L^T L; None if M is not positive semidefinite.
        known: (d, d), M if it is already computed; otherwise the factor gives M when a caller first needs it.
    """

    theta: Rows
    factor: Rows | None
    known: Rows | None = None

    @cached_property
    def matrix(self) -> Rows:
        """M, (d, d)."""
        if self.known is not None:
            return self.known
        if self.factor is None:
            raise ValueError("a metric needs its matrix or a factor")
        return np.asarray(self.factor.T @ self.factor)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The eigenvalues and eigenvectors of M."""
        return Spectrum.of(self.matrix)

    def distances(self, features: Differences, pairs: Pairs) -> Values:
        """Return the (n,) squared distances of (n, 2) pairs."""
        if self.factor is None:
            return features.forms(self.matrix, pairs)
        return features.distances(self.factor, pairs)


class Parameters(Protocol):
    """A set of metrics and its parameters."""

    def place(self, theta: Rows) -> Metric:
        """Return the metric of the allowed parameters that are nearest to theta."""

    def slope(
        self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows | None
    ) -> Rows:
        """Return the gradient, of the parameters' shape, of sum c D(pair) + <added, M>; None: nothing is added."""

    def start(self, factor: Rows) -> Rows:
        """Return the parameters nearest to the metric L^T L of a (r, d) factor L."""


class Full:
    """The set of all positive semidefinite matrices: theta is M, (d, d)."""

    def place(self, theta: Rows) -> Metric:
        """Return the nearest positive semidefinite matrix in the Frobenius norm."""
        spectrum = Spectrum.of(theta).positive()
        matrix = spectrum.matrix()
        metric = Metric(matrix, spectrum.factor(), matrix)
        metric.__dict__["spectrum"] = spectrum  # already computed, and the costliest part of an iteration
        return metric

    def slope(
        self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows | None
    ) -> Rows:
        """Return the (d, d) gradient, equation (12) of the paper."""
        scatter = features.scatter(pairs, coefficients)
        return scatter if added is None else scatter + added

    def start(self, factor: Rows) -> Rows:
        """Return L^T L."""
        return np.asarray(factor.T @ factor)


class Symmetric(Full):
    """The set of all symmetric matrices, positive semidefinite or not: theta is M, (d, d)."""

    def place(self, theta: Rows) -> Metric:
        """Return the matrix itself."""
        matrix = (theta + theta.T) / 2
        return Metric(matrix, None, matrix)


class Diagonal:
    """The set of all diagonal matrices without negative entries: theta is the diagonal, (d,)."""

    def place(self, theta: Rows) -> Metric:
        """Return the metric of the entries, with negative entries set to zero."""
        entries = np.maximum(theta, 0.0)
        positive = entries > 0
        return Metric(entries, np.diag(np.sqrt(entries))[positive], np.diag(entries))

    def slope(
        self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows | None
    ) -> Rows:
        """Return the (d,) gradient."""
        squares = features.squares(pairs, coefficients)
        return squares if added is None else squares + np.diag(added)

    def start(self, factor: Rows) -> Rows:
        """Return the diagonal of L^T L."""
        return np.asarray(np.square(factor).sum(axis=0))


class LowRank:
    """The set of matrices L^T L of a rank that the start fixes: theta is L, (e, d); the objective is not convex in
    L."""

    def place(self, theta: Rows) -> Metric:
        """Return the metric of the factor."""
        return Metric(theta, theta)

    def slope(
        self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows | None
    ) -> Rows:
        """Return the (e, d) gradient 2 L G, with G the gradient with respect to M."""
        slope = features.scattered(metric.theta, pairs, coefficients)
        if added is not None:
            slope += metric.theta @ added
        return 2 * slope

    def start(self, factor: Rows) -> Rows:
        """Return L."""
        return factor


FORMS: Mapping[Form, type[Parameters]] = {"full": Full, "diagonal": Diagonal, "factor": LowRank, "low-rank": LowRank}
"""The parameters of each form. "factor", as wide as the rows, and "low-rank" differ only in their starts."""
