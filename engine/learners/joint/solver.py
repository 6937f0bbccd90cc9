"""Solvers: a quasi-Newton method on the factors of all metrics, over ever sharper hinges."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from crossview.engine.learners.joint.problem import Problem, Theta
from crossview.engine.runtime.cancellation import checkpoint

SHARPENING = (1.0, 0.1, 0.01, 0.001)
"""Up to which violations the hinge is smooth, one after another; its kink would hold a quasi-Newton method up."""
_LOOSE = 100.0  # times the tolerance ends the descent over a hinge that is not yet the sharpest
_MEMORY = 10  # past steps that the curvature is estimated from


@dataclass(frozen=True)
class Descent:
    """How to descend.

    Attributes:
        max_iter: most iterations in all.
        tol: stop when an iteration lowers the objective by less than this share of it.
        stages: smoothings of the hinge, from first to last; (0,) for smooth losses.
    """

    max_iter: int
    tol: float
    stages: Sequence[float] = SHARPENING


@dataclass(frozen=True)
class Solution:
    """Where a descent ended: parameters, the objective without smoothing, iterations, and did it stop by itself?"""

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
            "ftol": tol * max(value(theta)[0], 1e-12),  # SciPy compares with 1 where the objective is smaller
            "gtol": 0.0,
            "maxcor": _MEMORY,
        }
        found: Any = minimize(value, theta, jac=True, method="L-BFGS-B", options=options)
        theta, steps, converged = found.x, steps + found.nit, found.status == 0
    return Solution(np.asarray(theta), problem.value(theta, 0.0)[0], steps, converged)
