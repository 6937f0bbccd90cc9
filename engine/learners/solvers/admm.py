"""Algorithm 2 of the Fantope paper: the alternating direction method of multipliers."""

from dataclasses import dataclass

import numpy as np

from crossview.engine.learners.losses.constraints import Constraints
from crossview.engine.learners.losses.differences import Differences
from crossview.engine.learners.losses.objective import Objective
from crossview.engine.learners.losses.parameters import Full, Symmetric
from crossview.engine.learners.losses.regularizer import Regularizer
from crossview.engine.learners.solvers.descent import Solution
from crossview.engine.learners.solvers.proximal import proximal_step
from crossview.engine.learners.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint


@dataclass(frozen=True)
class Multipliers:
    """The settings of the method.

    Attributes:
        rho: the penalty for M and Z being apart, per unit of squared Frobenius norm.
        max_iter: most outer iterations.
        tol: stop when M and Z, and two successive Z, are closer than this share of their length.

    Raises:
        ValueError: for a value out of range.
    """

    rho: float = 1.0
    max_iter: int = 50
    tol: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 < self.rho < np.inf or self.max_iter < 1 or not 0 <= self.tol < np.inf:
            raise ValueError("rho must be positive, max_iter at least 1 and tol not negative")


def alternate(
    features: Differences, constraints: Constraints, regularizer: Regularizer, theta: Rows, how: Multipliers
) -> Solution:
    """Return the projection of the last M on the positive semidefinite cone, as Algorithm 2 does.

    M ranges over all symmetric matrices, so that the search for M needs no projection. Z stays in the cone, and U is
    the sum of their differences. Each new M has its own W. The history is the objective of the projected Ms, because
    only they are metrics.

    Args:
        features: differences of the rows that the constraints compare.
        constraints: constraints on their distances.
        regularizer: the regulariser; each search for an M keeps its W fixed.
        theta: (d, d), the start.
        how: penalty and stopping rule.

    Raises:
        ValueError: if a constraint names an item that the features do not have.
    """
    metric = Symmetric().place(theta)
    z, u, duals = metric.matrix, np.zeros_like(theta), np.zeros(len(constraints))
    cone = Full()
    exact = Objective(features, constraints, regularizer, cone)
    found = cone.place(metric.matrix)
    history = [exact.exact(found)]
    converged = False
    while not converged and len(history) <= how.max_iter:
        checkpoint()
        nearby = regularizer.tangent(metric).near(z - u, how.rho)
        matrix, duals = proximal_step(features, constraints, nearby, duals)
        metric = Symmetric().place(matrix)
        before, z = z, cone.place(metric.matrix + u).matrix
        u = u + metric.matrix - z
        found = cone.place(metric.matrix)
        history.append(exact.exact(found))
        length = how.tol * max(float(np.linalg.norm(z)), np.finfo(float).tiny)
        converged = bool(max(np.linalg.norm(metric.matrix - z), np.linalg.norm(z - before)) <= length)
    return Solution(metric=found, objective=history[-1], history=history, steps=len(history) - 1, converged=converged)
