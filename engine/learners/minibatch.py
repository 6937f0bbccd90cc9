"""Multi-NPP on sets whose pairs are too many: stochastic gradients of the objective itself, from pairs drawn anew.

The paper names stochastic gradients as the way to large sets (section 3). Memory does not depend on the number of
pairs, nor the time of a step on the number of items.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .problem import Problem
from .relations import Numbers
from .subproblem import squared_distances

Matrix = NDArray[np.float64]
_RATE = 0.02
"""Length of the first steps, in units of the root mean square of the projections in round coordinates."""
_FORGET, _FORGET_SQUARES = 0.9, 0.99
_PROBE = 1024
"""Pairs and rows by which the objective is estimated before and after."""
_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class Batch:
    """Pairs of two views: attracted ones, and a block of rows of which the dissimilar pairs repel each other."""

    near: tuple[Numbers, Numbers]
    apart: tuple[Numbers, Numbers]
    weights: Matrix
    """(rows, rows) of the block's pairs: 0 for similar ones, else the same for all, 1 in sum."""

    def rows(self, side: int) -> Numbers:
        """Returns the rows of one of the two views: those of the attracted pairs, then those of the block."""
        return np.append(self.near[side], self.apart[side])


def draw(problem: Problem, view: int, other: int, size: int, generator: np.random.RandomState) -> Batch:
    """Returns ``size`` attracted pairs and a block of ``size`` rows of either view, all drawn with equal chances."""
    kinds = problem.kinds[view, other]
    near = kinds.attracted.draw(size, generator)
    apart = [generator.randint(len(problem.views[one].rows), size=size) for one in (view, other)]
    mask = ~kinds.similar.among(apart[0], apart[1])
    return Batch(near, (apart[0], apart[1]), mask / max(mask.sum(), 1))


def loss(problem: Problem, batch: Batch, first: Matrix, second: Matrix) -> tuple[float, Matrix, Matrix]:
    """Returns the loss of a batch, and its slopes in the embeddings of its rows, (rows, D) each."""
    count = len(batch.near[0])
    apart = first[:count] - second[:count]
    squared = squared_distances(first[count:], second[count:])
    distance = np.sqrt(squared)
    value = 0.5 * float(np.vdot(apart, apart) / count + np.vdot(batch.weights, problem.scisd.loss(distance)))
    springs = 0.5 * batch.weights * (problem.scisd.convex_weight(distance) - 1)
    pushed = springs.sum(axis=1)[:, None] * first[count:] - springs @ second[count:]
    back = springs.sum(axis=0)[:, None] * second[count:] - springs.T @ first[count:]
    return value, np.vstack([apart / count, pushed]), np.vstack([-apart / count, back])


class Descent:
    """Adam (Kingma and Ba, ICLR 2015) on V = W L with L L^T the covariance of a view's rows: round coordinates.

    Args:
        problem: its projections are improved in place.
        batch_size: attracted pairs, and rows of either side of the block, drawn for each pair of views in each step.
        generator: draws them.
    """

    def __init__(self, problem: Problem, batch_size: int, generator: np.random.RandomState) -> None:
        self.problem = problem
        self.batch_size = batch_size
        self.generator = generator
        self._pairs = [(v, w) for v, w in problem.kinds if v < w and {v, w} & set(problem.free)]
        self._lower = {view: _root(problem.views[view].rows, problem.penalties[view].weight) for view in problem.free}
        self._probe = {pair: draw(problem, *pair, _PROBE, generator) for pair in self._pairs}

    def objective(self) -> float:
        """Returns an estimate of the objective, from the same pairs each time."""
        problem = self.problem
        cost = sum(penalty.value(W) for penalty, W in zip(problem.penalties, problem.weights, strict=True))
        return cost + sum(self._value(pair, 1.0) for pair in self._pairs)

    def rescale(self) -> None:
        """Scales all projections by the factor, of several, at which the estimated loss is least."""
        squared = [np.vdot(self._probe[pair].weights, squared_distances(*self._apart(pair))) for pair in self._pairs]
        unit = self.problem.scisd.reach / max(float(np.mean(np.sqrt(squared))), np.finfo(np.float64).tiny)
        factors = unit * 2.0 ** np.arange(-4, 3)
        costs = [sum(self._value(pair, factor) for pair in self._pairs) for factor in factors]
        self.problem.weights = [factors[int(np.argmin(costs))] * W for W in self.problem.weights]

    def run(self, steps: int, progress: Callable[[int, int], None] | None) -> None:
        """Does a number of steps, the first long, the last short."""
        points = {view: self.problem.weights[view] @ self._lower[view] for view in self.problem.free}
        lengths = {view: _RATE * float(np.sqrt((V * V).mean())) for view, V in points.items()}
        moments = {view: (np.zeros_like(V), np.zeros_like(V)) for view, V in points.items()}
        for step in range(steps):
            for view, slope in self._slopes().items():
                speed, square = moments[view]
                speed += (1 - _FORGET) * (slope - speed)
                square += (1 - _FORGET_SQUARES) * (slope * slope - square)
                fair = speed / (1 - _FORGET ** (step + 1))
                root = np.sqrt(square / (1 - _FORGET_SQUARES ** (step + 1))) + 1e-12
                points[view] = points[view] - lengths[view] * (1 - step / steps) * fair / root
                self.problem.weights[view] = _solve(self._lower[view], points[view].T, "T").T
            if progress:
                progress(step + 1, steps)

    def _slopes(self) -> dict[int, Matrix]:
        """Returns a stochastic gradient with respect to V, (D, d_v), for every free view."""
        problem = self.problem
        slopes = {view: 2 * problem.penalties[view].weight * problem.weights[view] for view in problem.free}
        for pair in self._pairs:
            batch = draw(problem, *pair, self.batch_size, self.generator)
            rows = [problem.views[view].rows[batch.rows(side)] for side, view in enumerate(pair)]
            embedded = [x @ problem.weights[view].T for x, view in zip(rows, pair, strict=True)]
            _, *found = loss(problem, batch, embedded[0], embedded[1])
            for view, slope, x in zip(pair, found, rows, strict=True):
                if view in slopes:
                    slopes[view] += slope.T @ x
        return {view: _solve(self._lower[view], slope.T, "N").T for view, slope in slopes.items()}

    def _value(self, pair: tuple[int, int], factor: float) -> float:
        batch = self._probe[pair]
        first, second = (factor * self._embedded(view, batch.rows(side)) for side, view in enumerate(pair))
        return loss(self.problem, batch, first, second)[0]

    def _apart(self, pair: tuple[int, int]) -> Iterator[Matrix]:
        for view, rows in zip(pair, self._probe[pair].apart, strict=True):
            yield self._embedded(view, rows)

    def _embedded(self, view: int, rows: Numbers) -> Matrix:
        embedded: Matrix = self.problem.views[view].rows[rows] @ self.problem.weights[view].T
        return embedded


def _root(rows: Matrix, weight: float) -> Matrix:
    """Returns the lower triangular L of the covariance and twice the penalty's weight."""
    covariance = rows.T @ rows / len(rows)
    ridge = weight + 1e-9 * np.trace(covariance) / len(covariance) + np.finfo(np.float64).tiny
    lower: Matrix = np.linalg.cholesky(covariance + 2 * ridge * np.eye(len(covariance)))
    return lower


def _solve(lower: Matrix, right: Matrix, trans: Literal["N", "T"]) -> Matrix:
    solution: Matrix = scipy.linalg.solve_triangular(lower, right, lower=True, trans=trans)
    return solution
