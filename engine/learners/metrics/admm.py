"""Algorithm 2 of the Fantope paper: the alternating direction method of multipliers."""

from dataclasses import dataclass, field, replace

import numpy as np

from ..base import Rows
from .constraints import Constraints
from .descent import Descent, Solution, descend
from .features import PairFeatures
from .objective import Objective
from .parameters import Full, Metric, Symmetric
from .regularizer import Regularizer


@dataclass(frozen=True)
class Multipliers:
    """How to run the method.

    Attributes:
        rho: the penalty for M and Z being apart, per unit of squared Frobenius norm.
        max_iter: most outer iterations.
        tol: stop when M and Z, and two successive Z, are closer than this share of their length.
        inner: how each M is found, the argmin of equation (15) in M.

    Raises:
        ValueError: for a value out of range.
    """

    rho: float = 1.0
    max_iter: int = 50
    tol: float = 1e-3
    inner: Descent = field(default_factory=lambda: Descent(max_iter=50))

    def __post_init__(self) -> None:
        if not 0 < self.rho < np.inf or self.max_iter < 1 or not 0 <= self.tol < np.inf:
            raise ValueError("rho must be positive, max_iter at least 1 and tol not negative")


def alternate(
    features: PairFeatures,
    constraints: Constraints,
    regularizer: Regularizer,
    theta: Rows,
    how: Multipliers,
) -> Solution:
    """Returns the projection of the last M on the positive semidefinite cone, as Algorithm 2 does.

    M ranges over all symmetric matrices, which needs no projection while M is sought; Z keeps to the cone, and U adds
    up what they differ by. W is that of each new M.

    Args:
        features: what the constraints compare.
        constraints: what to fulfil.
        regularizer: its W is fixed while an M is sought.
        theta: (d, d), the start.
        how: rho, and when to stop.
    """
    metric = Symmetric().place(theta)
    z, u = metric.matrix, np.zeros_like(theta)
    exact = Objective(features, constraints, regularizer, Full())
    history = [exact.exact(Full().place(metric.matrix))]
    converged = False
    while not converged and len(history) <= how.max_iter:
        metric = _argmin(features, constraints, regularizer.tangent(metric).near(z - u, how.rho), metric, how.inner)
        before, z = z, Full().place(metric.matrix + u).matrix
        u = u + metric.matrix - z
        history.append(exact.exact(Full().place(metric.matrix)))
        length = how.tol * max(float(np.linalg.norm(z)), np.finfo(float).tiny)
        converged = bool(max(np.linalg.norm(metric.matrix - z), np.linalg.norm(z - before)) <= length)
    found = Full().place(metric.matrix)
    return Solution(found, history[-1], history, len(history) - 1, converged, [])


def _argmin(
    features: PairFeatures, constraints: Constraints, regularizer: Regularizer, start: Metric, how: Descent
) -> Metric:
    objective = Objective(features, constraints, regularizer, Symmetric())
    return descend(objective, start.theta, replace(how, patience=None)).metric
