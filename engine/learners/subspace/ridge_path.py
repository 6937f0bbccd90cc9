"""The ridge path: ridge regression for every penalty by one eigendecomposition, with predictions that leave rows
out."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.view_rows import Rows

_ROUNDING = 1e-12
"""Share of the largest eigenvalue below which directions are rounding and are dropped."""


@dataclass(frozen=True, eq=False)
class RidgePath:
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
        kept = values > max(_ROUNDING * values[-1], np.finfo(np.float64).tiny)
        return cls(values[kept], vectors[:, kept], targets - targets.mean(axis=0), targets.mean(axis=0))

    @classmethod
    def of_rows(cls, rows: Rows, targets: Rows) -> Self:
        """Return the path for (n, d) rows."""
        centered = rows - rows.mean(axis=0)
        if rows.shape[1] >= len(rows):
            return cls.of_gram(centered @ centered.T, targets)
        values, directions = np.linalg.eigh(centered.T @ centered)
        kept = values > max(_ROUNDING * values[-1], np.finfo(np.float64).tiny)
        vectors = centered @ (directions[:, kept] / np.sqrt(values[kept]))
        return cls(values[kept], vectors, targets - targets.mean(axis=0), targets.mean(axis=0))

    @cached_property
    def squares(self) -> Rows:
        """(n, r) squares of the eigenvectors."""
        return np.square(self.vectors)

    def with_targets(self, targets: Rows) -> Self:
        """Return the path of the same rows for other (n, K) targets."""
        found = replace(self, targets=targets - targets.mean(axis=0), means=targets.mean(axis=0))
        found.__dict__["squares"] = self.squares  # they depend only on the rows
        return found

    def left_out(self, penalty: float, groups: NDArray[np.intp] | None = None) -> Rows:
        """Return, for each row, the prediction of the regression on all rows of other groups, (n, K).

        Args:
            penalty: penalty of the regressions.
            groups: (n,) numbers; None: each row is its own group.
        """
        shares = self.values / (self.values + penalty)
        residuals = self.targets - self.vectors @ (shares[:, None] * (self.vectors.T @ self.targets))
        count, tiny = len(self.targets), np.finfo(np.float64).eps
        leverages = 1 / count + self.squares @ shares
        left_out = self.targets + self.means - residuals / np.maximum(1 - leverages, tiny)[:, None]
        for members in _several(groups):
            part = self.vectors[members]
            kept = np.eye(len(members)) * (1 + tiny) - (part * shares) @ part.T - 1 / count
            missed = np.linalg.solve(kept, residuals[members])
            left_out[members] = self.targets[members] + self.means - missed
        return np.asarray(left_out)

    def best_penalty(self, penalties: NDArray[np.float64], groups: NDArray[np.intp] | None = None) -> float:
        """Return the penalty with the smallest mean squared error of left-out predictions; among equal errors, the
        largest."""
        wanted = self.targets + self.means
        errors = [((wanted - self.left_out(penalty, groups)) ** 2).mean() for penalty in penalties[::-1]]
        return float(penalties[::-1][int(np.argmin(errors))])

    def coefficients(self, penalty: float) -> Rows:
        """Return the (n, K) weights of the rows: with centred rows X, the linear weights are X^T times these
        weights."""
        return np.asarray(self.vectors @ ((self.vectors.T @ self.targets) / (self.values + penalty)[:, None]))


def _several(groups: NDArray[np.intp] | None) -> list[NDArray[np.intp]]:
    """Return the positions of the members of each group with several members."""
    if groups is None:
        return []
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return [members for members in parts if len(members) > 1]
