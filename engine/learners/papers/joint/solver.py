"""Solvers of joint metrics: a quasi-Newton method over ever sharper hinges, and the paper's Algorithm 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.comparison_loss import ComparisonLoss
from crossview.engine.learners.papers.joint.objectives import Inputs, Problem, Theta
from crossview.engine.runtime.cancellation import checkpoint

SHARPENING = (1.0, 0.1, 0.01, 0.001)
"""The violations up to which the hinge is smooth, stage by stage, because its kink would stall a quasi-Newton
method."""
_LOOSE = 100.0  # factor of the tolerance in all stages but the last
_MEMORY = 10  # number of past steps that estimate the curvature


@dataclass(frozen=True)
class Descent:
    """Settings of the quasi-Newton descent.

    Attributes:
        max_iter: maximum number of iterations in all stages together.
        tol: stop when an iteration lowers the objective by less than this share of its value.
        stages: smoothings of the hinge, from first to last; (0,) for smooth losses.
    """

    max_iter: int
    tol: float
    stages: Sequence[float] = SHARPENING


@dataclass(frozen=True)
class Solution:
    """The end of a descent: parameters, the objective without smoothing, number of iterations, and whether it
    converged."""

    theta: Theta
    objective: float
    steps: int
    converged: bool


def descend(problem: Problem, theta: Theta, how: Descent) -> Solution:
    """Return a local minimum near a start, by L-BFGS (Liu and Nocedal, Mathematical Programming 1989)."""
    steps, converged = 0, False
    for number, smoothing in enumerate(how.stages):
        last = number == len(how.stages) - 1

        def value(at: Theta, smoothing: float = smoothing) -> tuple[float, Theta]:
            checkpoint()
            return problem.value(at, smoothing)

        tol = how.tol * (1.0 if last else _LOOSE)
        options: Any = {
            "maxiter": max(1, how.max_iter - steps),
            "maxfun": 2 * how.max_iter + 20,
            "ftol": tol * max(value(theta)[0], 1e-12),  # SciPy's tolerance is relative to at least 1
            "gtol": 0.0,
            "maxcor": _MEMORY,
        }
        result: Any = minimize(value, theta, jac=True, method="L-BFGS-B", options=options)
        theta, steps, converged = result.x, steps + result.nit, result.status == 0
    return Solution(np.asarray(theta), problem.value(theta, 0.0)[0], steps, converged)


INNER = 20
"""Number of steps on the map, and then on every metric, in an alternation (m_max of the paper)."""


@dataclass(frozen=True, eq=False)
class Alternation:
    """Algorithm 1 on equation (2) with beta = gamma = alpha, in L and the M_t themselves.

    Attributes:
        inputs: the rows.
        compared: the comparisons in T notions.
        alpha: weight of the two penalties.
        step: eta_0 of the map, as a share of the map's length divided by that of its first slope; the same for the
            metrics.
    """

    inputs: Inputs
    compared: ComparisonLoss
    alpha: float
    step: float = 0.1

    def run(self, common: Rows, metrics: Rows, max_iter: int, tol: float) -> tuple[Rows, Rows, float, int, bool]:
        """Return the best L, (H, D), and M_t, (T, D, D), their objective, the number of alternations, and whether they
        converged.

        They converge when ten alternations lower the best objective by less than a share ``tol`` of its value.
        """
        rates = self._rates(common, metrics)
        best = self.objective(common, metrics), common, metrics
        history = [best[0]]
        for steps in range(1, max_iter + 1):
            checkpoint()
            for inner in range(1, INNER + 1):
                common = common - rates[0] / np.sqrt(inner) * self.slope_of_map(common, metrics)
            for inner in range(1, INNER + 1):
                metrics = positive(metrics - rates[1] / np.sqrt(inner) * self.slope_of_metrics(common, metrics))
            best = min(best, (self.objective(common, metrics), common, metrics), key=lambda state: state[0])
            history.append(best[0])
            if steps > 10 and history[-11] - best[0] <= tol * best[0]:
                return best[1], best[2], best[0], steps, True
        return best[1], best[2], best[0], max_iter, False

    def objective(self, common: Rows, metrics: Rows) -> float:
        """Return the value of equation (2)."""
        loss, _ = self.compared.pulls(self._embedded(common, metrics))
        traces = float(np.trace(metrics, axis1=1, axis2=2).sum())
        return loss + self.alpha * (float(np.square(common).sum()) + traces)

    def slope_of_map(self, common: Rows, metrics: Rows) -> Rows:
        """Return a subgradient with respect to L, (H, D)."""
        scattered = self._scattered(common, metrics)
        return self.inputs.back(2 * np.einsum("tnd,tde->ne", scattered, metrics)) + 2 * self.alpha * common

    def slope_of_metrics(self, common: Rows, metrics: Rows) -> Rows:
        """Return a subgradient with respect to the M_t, (T, D, D)."""
        of_loss = self.inputs.project(common).T @ self._scattered(common, metrics)
        return np.asarray((of_loss + of_loss.swapaxes(1, 2)) / 2 + self.alpha * np.eye(common.shape[1]))

    def _scattered(self, common: Rows, metrics: Rows) -> Rows:
        """Return the Laplacian of each notion's slopes times X L, (T, n, D)."""
        _, pulls = self.compared.pulls(self._embedded(common, metrics))
        mapped = self.inputs.project(common)
        return self.compared.laplacian(pulls, np.broadcast_to(mapped, (len(metrics), *mapped.shape)))

    def _embedded(self, common: Rows, metrics: Rows) -> Rows:
        return np.asarray(self.inputs.project(common) @ roots(metrics))

    def _rates(self, common: Rows, metrics: Rows) -> tuple[float, float]:
        slopes = self.slope_of_map(common, metrics), self.slope_of_metrics(common, metrics)
        lengths = [float(np.linalg.norm(at)) for at in (common, metrics)]
        steepness = [float(np.linalg.norm(slope)) or 1.0 for slope in slopes]
        return self.step * lengths[0] / steepness[0], self.step * lengths[1] / steepness[1]


def positive(metrics: Rows) -> Rows:
    """Return the positive semidefinite (T, D, D) matrices nearest to symmetric ones."""
    values, vectors = np.linalg.eigh(metrics)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.swapaxes(1, 2))


def roots(metrics: Rows) -> Rows:
    """Return (T, D, D) factors R with R R^T the positive semidefinite metrics."""
    values, vectors = np.linalg.eigh(metrics)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])
