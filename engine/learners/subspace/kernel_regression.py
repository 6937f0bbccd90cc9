"""Kernel ridge regression from one view's rows to targets, with predictions that leave rows out."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.subspace.ridge_path import RidgeGram, RidgePath
from crossview.engine.learners.subspace.row_kernel import ROWS_AT_ONCE, FittedKernel, RowKernel

PENALTIES = np.logspace(-6, 1, 15)
"""Penalties to try per row, in units of a row's mean squared length."""
_JITTER = 1e-8
"""Number added to the diagonal of a Gaussian kernel of landmarks, which equal rows make singular."""
Groups = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TargetedRows:
    """Training rows of one view with their targets."""

    rows: Rows
    targets: Rows
    """(n, K), for example 1 if a row is of a class."""
    groups: Groups | None
    """(n,) groups of rows to leave out together; None: each row is its own group."""

    def take(self, places: NDArray[np.intp]) -> "TargetedRows":
        """Return some of the rows, by position."""
        groups = None if self.groups is None else self.groups[places]
        return TargetedRows(self.rows[places], self.targets[places], groups)

    def standard_error(self, values: NDArray[np.float64]) -> float:
        """Return the standard error of the mean of (n,) values, which may be correlated within a group."""
        off = values - values.mean()
        if self.groups is not None:
            off = np.bincount(np.unique(self.groups, return_inverse=True)[1], off)
        return float(np.sqrt(np.square(off).sum()) / len(values))


@dataclass(frozen=True, eq=False)
class KernelRegression:
    """A regression of one view, on the features of its rows: the kernel's features times ``root``.

    Attributes:
        penalty: penalty of the regression.
        alpha: penalty per row, in units of a row's mean squared length.
        left_out: (n, K) predictions of the rows, each by a regression without its group.
    """

    kernel: FittedKernel
    root: Rows | None
    features: Rows
    path: RidgePath | RidgeGram
    penalty: float
    alpha: float
    left_out: Rows
    groups: Groups | None

    @classmethod
    def of(
        cls,
        kernel: RowKernel,
        learned: TargetedRows,
        landmarks: NDArray[np.intp],
        alpha: float | None,
        near: float | None = None,
    ) -> "KernelRegression":
        """Return the regression with a kernel on landmarks, by position, and a penalty; None: the best of 15
        penalties, or the one to which a search descends from ``near``, a penalty near the best."""
        fitted = FittedKernel.of(kernel, learned.rows, landmarks)
        features, root = fitted.features(learned.rows), None
        every = len(landmarks) == len(learned.rows)
        gaussian = kernel.kernel == "gaussian"
        if gaussian and not every:
            root = _inverse_root(features[landmarks])
            # A landmark is compared with itself, unlike a new row: replace its value by the prediction of the others.
            features[landmarks, np.arange(len(landmarks))] -= 1 / np.square(root).sum(axis=1)
            for part in slices(len(features), 1, ROWS_AT_ONCE):
                features[part] = features[part] @ root
        path: RidgePath | RidgeGram
        if not (gaussian and every):
            path = RidgePath.of_rows(features, learned.targets)
        elif near is None:
            path = RidgePath.of_gram(features, learned.targets)
        else:
            path = RidgeGram.of(features, learned.targets)
        return cls(fitted, root, features, path, 0.0, 0.0, learned.targets, learned.groups)._solved(alpha, near)

    def with_targets(self, targets: Rows, alpha: float | None) -> "KernelRegression":
        """Return the regression of the same rows on other (n, K) targets, without decomposing the rows again.

        ``alpha``: its penalty; None: the best, to which a search descends from the penalty of this regression.
        """
        return replace(self, path=self.path.with_targets(targets))._solved(alpha, self.alpha)

    def _solved(self, alpha: float | None, near: float | None) -> "KernelRegression":
        unit = self.path.variance or 1.0  # n times the mean squared length of centred rows
        if alpha is None:
            best = self.path.best_penalty(PENALTIES * unit, self.groups, near and near * unit)
            alpha = float(PENALTIES[int(np.argmin(np.abs(PENALTIES * unit - best)))])
        penalty = alpha * unit
        return replace(self, penalty=penalty, alpha=alpha, left_out=self.path.left_out(penalty, self.groups))

    def weights(self) -> tuple[Rows, NDArray[np.float64]]:
        """Return the (K, m) weights of the kernel's features and the (K,) offsets."""
        coefficients, mean = self.path.coefficients(self.penalty), self.features.mean(axis=0)
        whole = self.kernel.how.kernel == "gaussian" and self.root is None
        weights = coefficients if whole else (self.features - mean).T @ coefficients
        offsets = self.path.means - mean @ weights
        return (weights if self.root is None else self.root @ weights).T, offsets


def drawn(count: int, most: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Return the positions of all of ``count`` rows, or of ``most`` randomly drawn rows, ascending."""
    if count <= most:
        return np.arange(count)
    return np.sort(random.permutation(count)[:most])


def _inverse_root(kernel: Rows) -> Rows:
    """Return a triangular R with R R^T = K^-1, for an (m, m) kernel K with jitter on its diagonal."""
    factor = np.linalg.cholesky(kernel + _JITTER * np.eye(len(kernel)))
    return np.asarray(solve_triangular(factor, np.eye(len(kernel)), lower=True).T)
