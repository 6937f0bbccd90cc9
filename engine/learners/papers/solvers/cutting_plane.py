"""The 1-slack cutting plane method."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.differences import Differences, Values
from crossview.engine.learners.papers.losses.parameters import Metric, Parameters
from crossview.engine.learners.papers.losses.ranking import Risk
from crossview.engine.runtime.cancellation import checkpoint

_NEAR_BEST = 0.1  # share of the way from the best metric to the latest at which the next plane is cut
_HALVINGS = 30  # halvings of the line between them, to the smallest objective on it
_IDLE = 30  # rounds without a share in the dual after which a plane is dropped, which keeps the small problem small


@dataclass(frozen=True)
class Plane:
    """A lower bound of the risk: offset + <slope, theta>."""

    offset: float
    slope: Rows


@dataclass(frozen=True, kw_only=True)
class CutSolution:
    """The solution of the method.

    Attributes:
        metric: the metric.
        objective: regulariser and risk of the metric.
        gap: upper bound of the distance from the objective to the minimum.
        steps: number of planes.
        converged: whether the gap is within the tolerance.
        history: the best objective after every plane.
    """

    metric: Metric
    objective: float
    gap: float
    steps: int
    converged: bool
    history: list[float] = field(default_factory=list)


def cut(
    features: Differences, risk: Risk, parameters: Parameters, weight: float, *, tol: float = 1e-3, max_iter: int = 200
) -> CutSolution:
    """Return the metric with the smallest |theta|^2 / 2 + C risk, with theta the matrix or the diagonal.

    Joachims, Finley and Yu, "Cutting-plane training of structural SVMs" (Machine Learning 2009): the largest known
    lower bound of the risk, over linear pieces, replaces the risk, and the worst rankings at the metric that minimises
    this bound are the next piece. The method cuts pieces near the best metric so far, which it moves along the line to
    the latest (Franc and Sonnenburg, "Optimized cutting plane algorithm for large-scale risk minimization", JMLR 2009).
    It solves the small problem by its dual, whose value at any point is a lower bound of the minimum.

    Args:
        features: differences of the rows.
        risk: risk to minimise.
        parameters: "full" or "diagonal"; their projection is that onto the cone of metrics.
        weight: C.
        tol: stop when the gap is at most this share of the objective.
        max_iter: maximum number of planes.
    """
    width = features.width
    run = _Run(features, risk, parameters, weight, np.zeros_like(parameters.start(np.zeros((1, width)))))
    while len(run.history) < max_iter and run.gap > tol * run.best_value:
        checkpoint()
        run.step()
    return CutSolution(
        metric=parameters.place(run.best),
        objective=run.best_value,
        gap=run.gap,
        steps=len(run.history),
        converged=run.gap <= tol * run.best_value,
        history=run.history,
    )


class _Run:
    def __init__(self, features: Differences, risk: Risk, parameters: Parameters, weight: float, start: Rows) -> None:
        self.features, self.risk, self.parameters, self.weight = features, risk, parameters, weight
        self.best, self.best_distances = start, np.zeros(len(risk.pairs))
        self.best_value = self._value(start, self.best_distances)
        self.gap = self.best_value
        self.planes: list[Plane] = []
        self.shares = np.empty(0)
        self.idle = np.empty(0, dtype=np.int64)
        self.history: list[float] = []

    def step(self) -> None:
        at, distances = self.best, self.best_distances
        if self.planes:
            latest, bound = self._master()
            distances = latest.distances(self.features, self.risk.pairs)
            self._move(latest.theta, distances)
            self.gap = max(0.0, min(self.gap, self.best_value - bound))
            at = self.best + _NEAR_BEST * (latest.theta - self.best)
            distances = self.best_distances + _NEAR_BEST * (distances - self.best_distances)
        self._cut(at, distances)
        self.history.append(self.best_value)

    def _cut(self, at: Rows, distances: Values) -> None:
        value, slopes = self.risk.at(distances)
        pulling = np.flatnonzero(slopes)
        metric = Metric(at, None, at)  # slopes of these parameters are the same at every metric
        pairs = self.risk.pairs[pulling]
        slope = self.parameters.slope(metric, self.features, pairs, slopes[pulling], None)
        self.planes.append(Plane(value - float(slopes @ distances), slope))
        self.shares, self.idle = np.append(self.shares, 0.0), np.append(self.idle, 0)

    def _master(self) -> tuple[Metric, float]:
        """Return the best metric of the bound by the planes, and the bound's minimum, which is below that of the
        objective."""
        self._forget()
        offsets = np.array([plane.offset for plane in self.planes])
        slopes = np.array([plane.slope.ravel() for plane in self.planes])
        shape = self.planes[0].slope.shape

        latest: list[tuple[Values, Metric]] = []  # SLSQP evaluates value and slope of the same shares in turn

        def placed(shares: Values) -> Metric:
            if not (latest and np.array_equal(latest[0][0], shares)):
                metric = self.parameters.place(-self.weight * (shares @ slopes).reshape(shape))
                latest[:] = [(shares.copy(), metric)]
            return latest[0][1]

        def dual(shares: Values) -> tuple[float, Values]:
            checkpoint()
            theta = placed(shares).theta.ravel()
            value = float(theta @ theta) / 2 - self.weight * float(shares @ offsets)
            return value, -self.weight * (offsets + slopes @ theta)

        # The tolerances of SLSQP are absolute, for values of about 1.
        scale = max(self.best_value, float(np.finfo(float).tiny))
        solve: Any = minimize  # its type stubs lack the options of a method
        solution = solve(
            lambda shares: dual(shares)[0] / scale,
            self.shares,
            jac=lambda shares: dual(shares)[1] / scale,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(offsets),
            constraints=LinearConstraint(np.ones((1, len(offsets))), -np.inf, 1.0),
            options={"ftol": 1e-12, "maxiter": 200},
        )
        shares: Values = np.clip(solution.x, 0.0, 1.0)
        self.shares = shares / max(1.0, shares.sum())
        self.idle = np.where(self.shares > 1e-9, 0, self.idle + 1)
        return placed(self.shares), -dual(self.shares)[0]

    def _forget(self) -> None:
        places = np.flatnonzero(self.idle < _IDLE)
        self.planes = [self.planes[place] for place in places]
        self.shares, self.idle = self.shares[places], self.idle[places]

    def _move(self, theta: Rows, distances: Values) -> None:
        """Move the best metric to the smallest objective on the way to another."""
        way, stretch = theta - self.best, distances - self.best_distances
        least, most = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            at = self.best + middle * way
            _, slopes = self.risk.at(self.best_distances + middle * stretch)
            if float(np.vdot(at, way)) + self.weight * float(slopes @ stretch) > 0:
                most = middle
            else:
                least = middle
        for share in (least, most):
            moved, lengths = self.best + share * way, self.best_distances + share * stretch
            value = self._value(moved, lengths)
            if value < self.best_value:
                self.best, self.best_distances, self.best_value = moved, lengths, value
                break

    def _value(self, theta: Rows, distances: Values) -> float:
        return float(np.vdot(theta, theta)) / 2 + self.weight * self.risk.at(distances)[0]
