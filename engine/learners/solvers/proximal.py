"""The metric nearest to a matrix in a balance with the hinge loss, over all symmetric matrices."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from crossview.engine.learners.losses.constraints import Constraints
from crossview.engine.learners.losses.differences import Differences
from crossview.engine.learners.losses.regularizer import Regularizer
from crossview.engine.learners.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint

Duals = NDArray[np.float64]


def proximal_step(
    features: Differences, constraints: Constraints, regularizer: Regularizer, duals: Duals, max_iter: int = 100
) -> tuple[Rows, Duals]:
    """Return the symmetric M with the least mean hinge loss plus <M, gamma I + A> + lambda / 2 |M|_F^2, lambda > 0.

    The dual is smooth: M = -(gamma I + A + sum of a_q C_q) / lambda, where C_q is x_ij x_ij^T - x_kl x_kl^T
    and 0 <= a_q <= w_q / sum w. L-BFGS-B solves it in the (n,) shares of these bounds.

    Args:
        features: differences of the rows that the constraints compare.
        constraints: n constraints.
        regularizer: a regulariser without a fantope, which is not convex (see :meth:`Regularizer.tangent`).
        duals: (n,) start, each in [0, 1].
        max_iter: most iterations.

    Returns:
        M, (d, d), and the (n,) duals that make it.
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
        # Costs are about 1 / n each, which the tolerances of L-BFGS-B would take for zero.
        return count * value, -count * missing

    found = minimize(
        negative_dual, duals, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * count, options={"maxiter": max_iter}
    )
    shares = np.asarray(found.x, dtype=np.float64)
    return primal(shares), shares
