"""Metrics of a given rank: Fantope regularisation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from crossview.engine.learners.frame.settings import Dimensions, Positive, Seed, Weight, drawn_seed, group
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Bounds, Constraints
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.objective import Objective, satisfied
from crossview.engine.learners.papers.losses.parameters import Form, Full, Symmetric
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.metrics.learner import MetricLearner, fitted_metric
from crossview.engine.learners.papers.metrics.regularized import (
    DescentStart,
    MetricSettings,
    Start,
    descent_start,
    factor_and_attributes,
)
from crossview.engine.learners.papers.metrics.training_constraints import ConstraintSettings, Sampling, Stopping
from crossview.engine.learners.papers.solvers.descent import Descent, Solution, Validation, descend
from crossview.engine.learners.papers.solvers.growing_subsets import descend_over_growing_subsets
from crossview.engine.learners.papers.solvers.threshold import between
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

    solution = minimize(
        negative_dual, duals, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * count, options={"maxiter": max_iter}
    )
    shares = np.asarray(solution.x, dtype=np.float64)
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
    point = cone.place(metric.matrix)
    history = [exact.exact(point)]
    converged = False
    while not converged and len(history) <= how.max_iter:
        checkpoint()
        nearby = regularizer.tangent(metric).near(z - u, how.rho)
        matrix, duals = proximal_step(features, constraints, nearby, duals)
        metric = Symmetric().place(matrix)
        before, z = z, cone.place(metric.matrix + u).matrix
        u = u + metric.matrix - z
        point = cone.place(metric.matrix)
        history.append(exact.exact(point))
        length = how.tol * max(float(np.linalg.norm(z)), np.finfo(float).tiny)
        converged = bool(max(np.linalg.norm(metric.matrix - z), np.linalg.norm(z - before)) <= length)
    return Solution(metric=point, objective=history[-1], history=history, steps=len(history) - 1, converged=converged)


@dataclass(eq=False, repr=False)
class Fantope(MetricLearner):
    """One metric per view, learned from comparisons of distances, whose rank is led to a given one.

    Law, Thome and Cord, "Fantope Regularization in Metric Learning" (CVPR 2014): the mean hinge loss of constraints
    D(k, l) >= D(i, j) + margin, plus mu R(M) + gamma tr(M) + lambda / 2 |M|^2, where R(M) is the sum of all but the
    largest ``n_components`` eigenvalues. ``mu=0`` omits R, so trace, Frobenius and no regularisation are settings. With
    mu > 0, the rank of the metric is at most ``n_components`` after the fit, because the learner cuts off the rest of
    the smaller eigenvalues.

    Args:
        n_components: the rank to lead to, at most the columns of a view; also the number of rows of L with
            ``form="low-rank"``, and the number of components of the PCA start.
        mu: weight of R, the sum of all but the largest ``n_components`` eigenvalues.
        gamma: weight of the trace.
        frobenius: weight of the squared Frobenius norm (lambda).
        sampling: the constraints that ``fit`` draws; None: ``Sampling()``.
        bounds: the bounds of the constraints on distances; None: ``Bounds()``.
        form: the parameters that gradient steps move: "full", M; "diagonal", its diagonal; "factor", an L as wide as
            the rows, which is not convex but often descends faster; or "low-rank", an L of the target rank.
        start: "pca", M = L^T L with the leading principal directions as the rows of L; or "identity".
        solver: "alternate", Algorithm 1; or "admm", Algorithm 2, for full matrices, from the result of as many steps
            without R.
        rho: ADMM's penalty.
        descent: settings of the descent; None: ``Descent(smoothing=1)``.
        stopping: when to stop early; None: never.
        random_state: seed of the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        rank_: list, the rank of each view's metric, which is the width of its embeddings (1 for a metric of zero).
        full_rank_: list, the rank before the cut, counted above 1e-6 of the largest eigenvalue.
        objective_: list of the objectives reached.
        history_: list of arrays, the objective after every step; with 32,768 constraints or more, first over subsets.
        converged_: list, whether the descent converged before ``max_iter``.
        steps_: list of the numbers of steps; for ADMM, outer steps.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes, or no class of
            two rows.
    """

    name = "fantope"
    groups: ClassVar[Mapping[str, Any]] = {
        "sampling": Sampling(),
        "bounds": Bounds(),
        "descent": Descent(smoothing=1.0),
        "stopping": Stopping(),
    }

    rank_: list[int] = field(init=False)
    full_rank_: list[int] = field(init=False)
    objective_: list[float] = field(init=False)
    history_: list[NDArray[np.float64]] = field(init=False)
    converged_: list[bool] = field(init=False)

    n_components: Dimensions = 32
    mu: Weight = 0.01
    gamma: Weight = 0.0
    frobenius: Weight = 0.0
    sampling: Sampling | None = None
    bounds: Bounds | None = None
    form: Form = "full"
    start: Start = "pca"
    solver: Literal["alternate", "admm"] = "alternate"
    rho: Positive = 1.0
    descent: Descent | None = None
    stopping: Stopping | None = None
    random_state: Seed = 0
    view_slices: Sequence[int] | None = None

    def _constraint_settings(self) -> ConstraintSettings:
        return ConstraintSettings(
            sampling=cast(Sampling, group(self, "sampling")),
            bounds=cast(Bounds, group(self, "bounds")),
            stopping=cast(Stopping, group(self, "stopping")),
            seed=drawn_seed(self.random_state),
        )

    def _fit_rows(self, rows: Rows, constraints: Constraints, validation: Constraints | None) -> dict[str, Any]:
        patience = cast(Stopping, group(self, "stopping")).patience
        if self.solver == "admm" and (self.form != "full" or patience is not None):
            raise ValueError('solver="admm" needs form="full" and no patience')
        settings = MetricSettings(
            rank=self.n_components,
            mu=self.mu,
            gamma=self.gamma,
            frobenius=self.frobenius,
            form=self.form,
            start=self.start,
            semidefinite=self.solver != "admm",
        )

        def learn(scaled_rows: Rows) -> tuple[Rows, dict[str, Any]]:
            metric = descent_start(scaled_rows, settings)
            stop = None if patience is None else _validation(metric.features, validation, patience)
            return factor_and_attributes(metric, self._solution(metric, constraints, stop))

        return fitted_metric(rows, learn, between(constraints))

    def _solution(self, metric: DescentStart, constraints: Constraints, validation: Validation | None) -> Solution:
        how = cast(Descent, group(self, "descent"))
        if self.solver == "admm":
            # The first W comes from the first M; the identity as a start would have no smallest directions.
            convex = Objective(metric.features, constraints, metric.convex, metric.parameters)
            start = descend(convex, metric.theta, how).metric.matrix
            method = Multipliers(self.rho, how.max_iter, how.tol)
            return alternate(metric.features, constraints, metric.regularizer, start, method)
        objective = Objective(metric.features, constraints, metric.regularizer, metric.parameters)
        return descend_over_growing_subsets(objective, metric.theta, how, validation)


def _validation(features: Differences, constraints: Constraints | None, patience: int) -> Validation:
    """Return the rule that stops a descent by the share of satisfied constraints."""
    if constraints is None:
        raise ValueError("patience needs validation constraints: give some, or leave out patience")
    # The loss checks its own constraints, but not the validation constraints.
    features.check(int(max(constraints.near.max(), constraints.far.max())))
    return Validation(lambda metric: satisfied(metric, features, constraints), patience)
