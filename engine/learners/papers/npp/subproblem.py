"""One convex sub-problem of Multi-NPP: the best projection of one view for fixed embeddings of the other views.

Equations (12) and (13) of Quadrianto and Lampert (ICML 2011), with a newly derived linear term: the tangent of L1_cv at
W_0 adds -<(W_0 x - W_2 y) x^T, W> for a dissimilar pair (x, y). The paper prints the opposite sign, which would pull
dissimilar pairs together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.npp.forces import Pull, Repelled, Repulsion
from crossview.engine.learners.papers.npp.scisd import Scisd
from crossview.engine.runtime.cancellation import checkpoint

Matrix = NDArray[np.float64]
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Regularizer:
    """The regulariser weight * ||W||_F^2 ("l2") or weight * the sum of |W| ("l1")."""

    penalty: str
    weight: float

    def value(self, W: Matrix) -> float:
        """Return the cost of a projection."""
        return self.weight * float(np.abs(W).sum() if self.penalty == "l1" else (W * W).sum())


@dataclass(eq=False)
class Subproblem:
    """The convex upper bound of the objective in W that touches the objective at ``start``, with regularisation.

    Args:
        rows: (n, d) centred rows of the learned view.
        attracting: the attraction of the rows.
        other: (m, D) embeddings of the other views, one view after another.
        repelled: the repelled pairs of the rows with the other embeddings.
        start: (D, d) projection at which the bound touches the objective.
        width: number of columns of the original rows, if ``rows`` are coordinates; None: the columns of ``rows``.
    """

    rows: Rows
    attracting: Pull
    other: Rows
    repelled: Repelled
    scisd: Scisd
    regularizer: Regularizer
    start: Matrix
    width: int | None = None

    def __post_init__(self) -> None:
        embeddings = self.rows @ self.start.T
        self._pushing = Repulsion(self.repelled, self.other, self.scisd)
        pulling = self.repelled.pull(self.other)  # the tangent of the concave part pulls
        self._slope = 0.5 * (pulling.weights[:, None] * embeddings - pulling.targets)
        concave = self.scisd.concave(float(pulling.weights.sum()), 2 * pulling.value(embeddings))
        self._constant = 0.5 * concave + float(np.vdot(self._slope, embeddings))
        # an upper bound of the total weight at each row, which bounds the curvature
        self._springs = self.attracting.weights + 0.5 * pulling.weights

    def bound(self, W: Matrix) -> tuple[float, Matrix]:
        """Return the smooth part of the bound (all but an l1 penalty) and its gradient with respect to W, (D, d)."""
        checkpoint()
        embeddings = self.rows @ W.T
        value, gradient = self._pushing.convex(embeddings)
        value += self._constant - float(np.vdot(self._slope, embeddings)) + self.attracting.value(embeddings)
        gradient += self.attracting.weights[:, None] * embeddings - self.attracting.targets - self._slope
        slope: Matrix = gradient.T @ self.rows
        if self.regularizer.penalty == "l2":
            value += self.regularizer.value(W)
            slope += 2 * self.regularizer.weight * W
        return value, slope

    def solve(self, max_iter: int, tol: float, progress: Progress) -> Matrix:
        """Return a W at which the bound, and therefore the objective, is not higher than at ``start``.

        Args:
            max_iter: maximum number of steps.
            tol: stop when a step lowers the bound by less than this share of its value.
            progress: function to call with the number of completed steps.
        """
        solver = self._solve_split if self.regularizer.penalty == "l1" else self._solve_smooth
        return solver(max_iter, tol, progress)

    def _solve_smooth(self, max_iter: int, tol: float, progress: Progress) -> Matrix:
        """Run L-BFGS on V = W L, where L L^T is the curvature with the largest springs: in V the curvature is nearly
        round, so few steps suffice."""
        curvature = self.rows.T @ (self._springs[:, None] * self.rows)
        width = len(curvature) if self.width is None else self.width
        ridge = self.regularizer.weight + 1e-9 * np.trace(curvature) / width + np.finfo(np.float64).tiny
        lower = np.linalg.cholesky(curvature + 2 * ridge * np.eye(len(curvature)))

        def unscale(V: Matrix) -> Matrix:
            W: Matrix = scipy.linalg.solve_triangular(lower, V.reshape(self.start.shape).T, lower=True, trans="T").T
            return W

        def scaled_bound(V: Matrix) -> tuple[float, Matrix]:
            value, slope = self.bound(unscale(V))
            return value, scipy.linalg.solve_triangular(lower, slope.T, lower=True).T.ravel()

        return unscale(_minimize(scaled_bound, (self.start @ lower).ravel(), max_iter, tol, progress))

    def _solve_split(self, max_iter: int, tol: float, progress: Progress) -> Matrix:
        """Run L-BFGS on W = P - N with P, N >= 0, where the l1 penalty is linear."""
        shape, weight = self.start.shape, self.regularizer.weight

        def split_bound(PN: Matrix) -> tuple[float, Matrix]:
            positive, negative = PN.reshape(2, *shape)
            value, slope = self.bound(positive - negative)
            return value + weight * float(PN.sum()), np.stack([slope + weight, weight - slope]).ravel()

        start = np.maximum([self.start, -self.start], 0).ravel()
        positive, negative = _minimize(split_bound, start, max_iter, tol, progress, True).reshape(2, *shape)
        return np.asarray(positive - negative)


def _minimize(
    function: Callable[[Matrix], tuple[float, Matrix]],
    start: Matrix,
    max_iter: int,
    tol: float,
    progress: Progress,
    nonnegative: bool = False,
) -> Matrix:
    """Run L-BFGS from ``start``, until a step lowers the function by less than a share ``tol``."""
    options: Any = {"maxiter": max_iter, "ftol": tol, "gtol": 0.0}
    bounds: Any = scipy.optimize.Bounds(0.0, np.inf) if nonnegative else None
    steps = count(1)
    how: Any = {"jac": True, "bounds": bounds, "options": options, "callback": lambda point: progress(next(steps))}
    return np.asarray(scipy.optimize.minimize(function, start, method="L-BFGS-B", **how).x)


def squared_distances(first: Rows, second: Rows) -> Matrix:
    """Return the (n, m) squared Euclidean distances between (n, D) and (m, D) rows."""
    squared: Matrix = first @ second.T
    squared *= -2.0
    squared += (first * first).sum(axis=1)[:, None]
    squared += (second * second).sum(axis=1)[None, :]
    return np.maximum(squared, 0.0, out=squared)
