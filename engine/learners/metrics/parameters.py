"""How a metric is parameterised: what the solver moves, and where it may be."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from engine.learners.base import Rows
from engine.learners.metrics.features import Differences, Pairs, Values
from engine.learners.metrics.spectrum import Spectrum


@dataclass(frozen=True)
class Metric:
    """A metric at one point of its parameters.

    Attributes:
        theta: the parameters.
        matrix: (d, d), M.
        factor: (r, d) L with M = L^T L; None where M is not positive semidefinite.
    """

    theta: Rows
    matrix: Rows
    factor: Rows | None

    @cached_property
    def spectrum(self) -> Spectrum:
        """M by its eigenvalues."""
        return Spectrum.of(self.matrix)

    def distances(self, features: Differences, pairs: Pairs) -> Values:
        """Returns the (n,) squared distances of (n, 2) pairs."""
        if self.factor is None:
            return features.forms(self.matrix, pairs)
        return features.distances(self.factor, pairs)


class Parameters(Protocol):
    """A set of metrics and its parameters."""

    def place(self, theta: Rows) -> Metric:
        """Returns the metric of the allowed parameters nearest to these."""

    def slope(self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows) -> Rows:
        """Returns the gradient, of the parameters' shape, of sum c D(pair) + <added, M>."""

    def start(self, factor: Rows) -> Rows:
        """Returns the parameters nearest to the metric L^T L of a (r, d) factor L."""


class Full:
    """All positive semidefinite matrices: theta is M, (d, d)."""

    def place(self, theta: Rows) -> Metric:
        """Returns the nearest positive semidefinite matrix in the Frobenius norm."""
        spectrum = Spectrum.of(theta).positive()
        matrix = spectrum.matrix()
        metric = Metric(matrix, matrix, spectrum.factor())
        metric.__dict__["spectrum"] = spectrum  # known already, and the costliest part of an iteration
        return metric

    def slope(self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows) -> Rows:
        """Returns the (d, d) gradient, equation (12) of the paper."""
        return features.scatter(pairs, coefficients) + added

    def start(self, factor: Rows) -> Rows:
        """Returns L^T L."""
        return np.asarray(factor.T @ factor)


class Symmetric(Full):
    """All symmetric matrices, positive semidefinite or not: theta is M, (d, d)."""

    def place(self, theta: Rows) -> Metric:
        """Returns the matrix itself."""
        matrix = (theta + theta.T) / 2
        return Metric(matrix, matrix, None)


class Diagonal:
    """All diagonal matrices without negative entries: theta is the diagonal, (d,)."""

    def place(self, theta: Rows) -> Metric:
        """Returns the metric of the entries, those below zero set to zero."""
        entries = np.maximum(theta, 0.0)
        positive = entries > 0
        return Metric(entries, np.diag(entries), np.diag(np.sqrt(entries))[positive])

    def slope(self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows) -> Rows:
        """Returns the (d,) gradient."""
        return features.squares(pairs, coefficients) + np.diag(added)

    def start(self, factor: Rows) -> Rows:
        """Returns the diagonal of L^T L."""
        return np.asarray(np.square(factor).sum(axis=0))


class LowRank:
    """Matrices L^T L of a rank that is fixed by the start: theta is L, (e, d); the objective is not convex in it."""

    def place(self, theta: Rows) -> Metric:
        """Returns the metric of the factor."""
        return Metric(theta, theta.T @ theta, theta)

    def slope(self, metric: Metric, features: Differences, pairs: Pairs, coefficients: Values, added: Rows) -> Rows:
        """Returns the (e, d) gradient 2 L G, with G the gradient with respect to M."""
        return np.asarray(2 * metric.theta @ (features.scatter(pairs, coefficients) + added))

    def start(self, factor: Rows) -> Rows:
        """Returns L."""
        return factor
