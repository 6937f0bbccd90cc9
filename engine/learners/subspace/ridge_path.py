"""The ridge path: ridge regression for every penalty by one eigendecomposition, with predictions that leave rows
out."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows

Groups = NDArray[np.intp] | None
_ROUNDING = 1e-12
"""Share of the largest eigenvalue below which directions are rounding and are dropped."""
_KEPT, _KEPT_NUMBERS = 4, 1 << 22
"""Inverses to keep, of at most so many numbers: a descent compares three, and other targets need the same ones."""


class Regressions(ABC):
    """Ridge regressions of the same rows and targets, one for each penalty.

    Attributes:
        targets: (n, K) centred targets.
        means: (K,) means of the targets.
    """

    targets: Rows
    means: NDArray[np.float64]

    @abstractmethod
    def left_out(self, penalty: float, groups: Groups = None) -> Rows:
        """Return, for each row, the prediction of the regression on all rows of other groups, (n, K).

        Args:
            penalty: penalty of the regressions.
            groups: (n,) numbers; None: each row is its own group.
        """

    def best_penalty(self, penalties: NDArray[np.float64], groups: Groups = None, near: float | None = None) -> float:
        """Return the penalty with the smallest mean squared error of left-out predictions; among equal errors, the
        largest.

        ``near``: descend from the penalty nearest to it, of ascending ones, to a local minimum.
        """
        targets = self.targets + self.means

        def error(number: int) -> float:
            return float(np.square(targets - self.left_out(penalties[number], groups)).mean())

        if near is not None:
            start = int(np.argmin(np.abs(np.log(penalties / near))))
            return float(penalties[downhill(error, len(penalties), start)])
        descending = range(len(penalties) - 1, -1, -1)
        return float(penalties[min(descending, key=error)])


@dataclass(frozen=True, eq=False)
class RidgePath(Regressions):
    """Ridge regressions with a constant, of (n, K) targets on n rows that are given by their inner products.

    Attributes:
        values: (r,) eigenvalues, above 0, of the inner products of the centred rows.
        vectors: (n, r) eigenvectors of the inner products.
        targets: (n, K) centred targets.
        means: (K,) means of the targets.
    """

    values: NDArray[np.float64]
    vectors: Rows
    targets: Rows
    means: NDArray[np.float64]

    @classmethod
    def of_gram(cls, gram: Rows, targets: Rows) -> Self:
        """Return the path for the (n, n) inner products of the rows."""
        means = gram.mean(axis=0)
        values, vectors = np.linalg.eigh(gram - means[None, :] - means[:, None] + means.mean())
        nonzero = values > max(_ROUNDING * values[-1], np.finfo(np.float64).tiny)
        return cls(values[nonzero], vectors[:, nonzero], targets - targets.mean(axis=0), targets.mean(axis=0))

    @classmethod
    def of_rows(cls, rows: Rows, targets: Rows) -> Self:
        """Return the path for (n, d) rows."""
        centered = rows - rows.mean(axis=0)
        if rows.shape[1] >= len(rows):
            return cls.of_gram(centered @ centered.T, targets)
        values, directions = np.linalg.eigh(centered.T @ centered)
        nonzero = values > max(_ROUNDING * values[-1], np.finfo(np.float64).tiny)
        vectors = centered @ (directions[:, nonzero] / np.sqrt(values[nonzero]))
        return cls(values[nonzero], vectors, targets - targets.mean(axis=0), targets.mean(axis=0))

    @property
    def variance(self) -> float:
        """The sum of the squared lengths of the centred rows."""
        return float(self.values.sum())

    @cached_property
    def squares(self) -> Rows:
        """(n, r) squares of the eigenvectors."""
        return np.square(self.vectors)

    @cached_property
    def coordinates(self) -> Rows:
        """(r, K) coordinates of the centred targets in the eigenvectors."""
        return np.asarray(self.vectors.T @ self.targets)

    @cached_property
    def leverages(self) -> dict[float, NDArray[np.float64]]:
        """(n,) leverages of the rows, by penalty, as far as they were needed."""
        return {}

    def with_targets(self, targets: Rows) -> Self:
        """Return the path of the same rows for other (n, K) targets."""
        path = replace(self, targets=targets - targets.mean(axis=0), means=targets.mean(axis=0))
        path.__dict__.update(squares=self.squares, leverages=self.leverages)  # they depend only on the rows
        return path

    def left_out(self, penalty: float, groups: Groups = None) -> Rows:
        """Return the left-out predictions by the eigenvectors, (n, K)."""
        shares = self.values / (self.values + penalty)
        residuals = self.targets - self.vectors @ (shares[:, None] * self.coordinates)
        count, tiny = len(self.targets), np.finfo(np.float64).eps
        if penalty not in self.leverages:
            self.leverages[penalty] = 1 / count + self.squares @ shares
        left_out = self.targets + self.means - residuals / np.maximum(1 - self.leverages[penalty], tiny)[:, None]
        for members in _several(groups):
            part = self.vectors[members]
            # Without ``tiny``, the matrix is singular for a group that alone determines a direction.
            complement = np.eye(len(members)) * (1 + tiny) - (part * shares) @ part.T - 1 / count
            missed = np.linalg.solve(complement, residuals[members])
            left_out[members] = self.targets[members] + self.means - missed
        return np.asarray(left_out)

    def coefficients(self, penalty: float) -> Rows:
        """Return the (n, K) weights of the rows: with centred rows X, the linear weights are X^T times these
        weights."""
        return np.asarray(self.vectors @ (self.coordinates / (self.values + penalty)[:, None]))


@dataclass(frozen=True, eq=False)
class RidgeGram(Regressions):
    """The regressions of a ``RidgePath`` for few penalties, each by the inverse of the inner products, which takes an
    eighth of the time of their eigenvectors. The last inverses serve other targets, too.

    Attributes:
        gram: (n, n) inner products of the rows.
        targets: (n, K) centred targets.
        means: (K,) means of the targets.
    """

    gram: Rows
    targets: Rows
    means: NDArray[np.float64]
    _inverses: dict[float, Rows] = field(default_factory=dict)
    _changing: threading.Lock = field(default_factory=threading.Lock)
    """Held to change the inverses, which regressions on other targets have, too, also those of other threads."""
    _solved: dict[float, tuple[Groups, Rows, Rows]] = field(default_factory=dict)

    @classmethod
    def of(cls, gram: Rows, targets: Rows) -> Self:
        """Return the regressions for the (n, n) inner products of the rows."""
        return cls(gram, targets - targets.mean(axis=0), targets.mean(axis=0))

    @property
    def variance(self) -> float:
        """The sum of the squared lengths of the centred rows."""
        return float(np.trace(self.gram) - self.gram.mean(axis=0).sum())

    def with_targets(self, targets: Rows) -> Self:
        """Return the regressions of the same rows for other (n, K) targets."""
        return replace(self, targets=targets - targets.mean(axis=0), means=targets.mean(axis=0), _solved={})

    def left_out(self, penalty: float, groups: Groups = None) -> Rows:
        """Return the left-out predictions by an inverse, (n, K)."""
        if penalty in self._solved and self._solved[penalty][0] is groups:
            return self._solved[penalty][1]
        inverse = self._inverse(penalty)
        weights = inverse @ self.targets
        tiny = np.finfo(np.float64).eps / penalty
        missed = weights / np.maximum(inverse.diagonal(), tiny)[:, None]
        for members in _several(groups):
            part = inverse[np.ix_(members, members)]
            missed[members] = np.linalg.solve(part + tiny * np.eye(len(members)), weights[members])
        self._solved[penalty] = groups, self.targets + self.means - missed, weights
        return self._solved[penalty][1]

    def coefficients(self, penalty: float) -> Rows:
        """Return the (n, K) weights of the rows, see ``RidgePath``."""
        if penalty not in self._solved:
            self.left_out(penalty)
        return self._solved[penalty][2]

    def _inverse(self, penalty: float) -> Rows:
        """Return the inverse of the inner products with the penalty, projected on weights whose sum is 0, (n, n)."""
        with self._changing:
            if penalty in self._inverses:
                self._inverses[penalty] = self._inverses.pop(penalty)  # the last one to be forgotten
                return self._inverses[penalty]
            while len(self._inverses) >= max(_KEPT, _KEPT_NUMBERS // self.gram.size):
                del self._inverses[next(iter(self._inverses))]
        matrix = self.gram.copy()
        matrix.flat[:: len(matrix) + 1] += penalty
        factor = scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        inverse = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
        inverse += np.tril(inverse, -1).T
        sums = inverse.sum(axis=0)
        inverse -= np.outer(sums, sums / sums.sum())
        with self._changing:
            self._inverses[penalty] = inverse
        return np.asarray(inverse)


def downhill(error: Callable[[int], float], count: int, start: int) -> int:
    """Return the number below ``count`` at which a descent of an error from a start ends, a local minimum."""
    best, cost = start, cache(error)
    for step in (1, -1):
        while 0 <= best + step < count and cost(best + step) < cost(best):
            best += step
    return best


def _several(groups: Groups) -> list[NDArray[np.intp]]:
    """Return the positions of the members of each group with several members."""
    if groups is None:
        return []
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return [members for members in parts if len(members) > 1]
