"""Algorithm 2 of the Fantope paper: the alternating direction method of multipliers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.objective import Objective
from crossview.engine.learners.papers.losses.parameters import Full, Symmetric
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.solvers.descent import Solution
from crossview.engine.runtime.cancellation import checkpoint

Duals = NDArray[np.float64]


def proximal_step(
    features: Differences, constraints: Constraints, regularizer: Regularizer, duals: Duals, max_iter: int = 100
) -> tuple[Rows, Duals]:
    """Return the symmetric M with the smallest mean hinge loss plus <M, gamma I + A> + lambda / 2 |M|_F^2, lambda > 0.

    The dual is smooth: M = -(gamma I + A + sum of a_q C_q) / lambda, where C_q is x_ij x_ij^T - x_kl x_kl^T and 0 <=
    a_q <= w_q / sum w. L-BFGS-B solves it in the (n,) shares of these bounds.

    Args:
        features: differences of the rows that the constraints compare.
        constraints: n constraints.
        regularizer: a regulariser without a fantope, which is not convex (see :meth:`Regularizer.tangent`).
        duals: (n,) start, each in [0, 1].
        max_iter: maximum number of iterations.

    Returns:
        M, (d, d), and its (n,) duals.
    """
    pairs = np.concatenate([constraints.near, constraints.far])
    costs = constraints.weights / constraints.weights.sum()
    count, strength = len(constraints), regularizer.frobenius
    constant = -regularizer.trace * np.eye(features.width)
    if regularizer.linear is not None:
        constant = constant - regularizer.linear

    def primal(shares: Duals) -> Rows:
        pulled = costs * shares
        return np.asarray((constant - features.scatter(pairs, np.concatenate([pulled, -pulled]))) / strength)

    def negative_dual(shares: Duals) -> tuple[float, Duals]:
        checkpoint()
        matrix = primal(shares)
        forms = features.forms(matrix, pairs)
        missing = costs * (constraints.margins + forms[:count] - forms[count:])
        value = strength / 2 * float(np.vdot(matrix, matrix)) - float(costs * shares @ constraints.margins)
        # Costs are about 1 / n each; without the factor n, they would be below the tolerances of L-BFGS-B.
        return count * value, -count * missing

    found = minimize(
        negative_dual, duals, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * count, options={"maxiter": max_iter}
    )
    shares = np.asarray(found.x, dtype=np.float64)
    return primal(shares), shares


@dataclass(frozen=True)
class Multipliers:
    """The settings of the method.

    Attributes:
        rho: the penalty for M and Z being apart, per unit of squared Frobenius norm.
        max_iter: maximum number of outer iterations.
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
