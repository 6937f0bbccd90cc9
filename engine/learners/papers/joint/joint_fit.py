"""The fit of a common map and a metric of each notion to comparisons in several notions."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from crossview.engine.learners.frame.settings import Count, Steps, Tolerance
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint import initial_metrics
from crossview.engine.learners.papers.joint.comparison_loss import ComparisonLoss, Notions
from crossview.engine.learners.papers.joint.losses import Loss, LossName, loss_of
from crossview.engine.learners.papers.joint.objectives import FactorProblem, Inputs, JointProblem, Losses, balanced
from crossview.engine.learners.papers.joint.solver import SHARPENING, Alternation, Descent, Solution, descend, roots

Sharing = Literal["joint", "independent", "pooled"]
Solver = Literal["quasi-newton", "alternating"]
Start = Literal["slopes", "random"]

_SMALL = 1e-4  # share of a metric's largest eigenvalue below which directions are cut
_WARM, _AFTER_WIDE = 2, 3  # number of last stages of a descent that continues an earlier one, or a wider one
_ROUGH = 30.0  # factor of the tolerance of a descent that only finds a start


@dataclass(frozen=True, kw_only=True)
class Solving:
    """Settings of the solver.

    Attributes:
        solver: "quasi-newton", L-BFGS on L and on factors of the M_t; or "alternating", Algorithm 1 of the paper.
        start: "slopes", the directions in which the loss falls fastest from metrics of zero; or "random".
        spare: number of further columns of joint metrics to learn at first; the descent continues from the leading
            columns, because there are fewer local minima with more columns.
        max_iter: maximum number of iterations; of Algorithm 1, of alternations.
        tol: stop when an iteration lowers the objective by less than this share of its value.
    """

    solver: Solver = "quasi-newton"
    start: Start = "slopes"
    spare: Steps = 10
    max_iter: Count = 1000
    tol: Tolerance = 1e-6


@dataclass(frozen=True, kw_only=True)
class JointSettings(Solving):
    """Settings of the fit; see :class:`~engine.learners.papers.joint.joint.JointMetrics` for the fields."""

    n_components: int = 32
    alpha: float = 1e-3
    loss: LossName = "hinge"
    sharing: Sharing = "joint"
    balance: float = 0.0
    random_state: int = 0
    rough: bool = False
    """Leave out the sharpest hinges, and stop earlier."""

    @property
    def descent(self) -> Descent:
        """The settings of the quasi-Newton descent."""
        stages = SHARPENING if self.loss == "hinge" else (0.0,)
        if self.rough:
            return Descent(self.max_iter, self.tol * _ROUGH, stages[:-_WARM] or stages)
        return Descent(self.max_iter, self.tol, stages)

    def last(self, stages: int) -> Descent:
        """Return the descent over the last stages only."""
        return replace(self.descent, stages=self.descent.stages[-stages:])

    def wider(self, columns: int) -> "JointSettings | None":
        """Return the settings for a first fit of more columns, to keep the leading ones; None: without such a fit."""
        width = min(self.n_components + self.spare, columns)
        if width <= self.n_components or self.solver != "quasi-newton":
            return None
        return replace(self, n_components=width, spare=0, rough=True)


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of a fit of T notions.

    Attributes:
        common: (H, D) L; (H, 0) if the notions have no common map.
        local: (T, D, D) factors R_t of the metrics M_t = R_t R_t^T; (T, 0, 0) without a common map.
        factors: T factors (H, w_t) of K_t, by descending length of their orthogonal columns, without the small ones.
        objective: the objective reached, without smoothing; the sum of the objectives of independent notions.
        steps: number of iterations, over all notions.
        converged: whether the solver converged before ``max_iter``.
    """

    common: Rows
    local: Rows
    factors: list[Rows]
    objective: float
    steps: int
    converged: bool


def learn(inputs: Inputs, notions: Notions, how: JointSettings, before: Learned | None = None) -> Learned:
    """Return the result of a fit to constraints, whose weights are the costs of violations, in any unit.

    Args:
        inputs: the rows.
        notions: the constraints; at least one of each notion.
        how: the settings.
        before: the result of nearly the same constraints, to continue from.
    """
    loss = loss_of(how.loss, how.n_components)
    if how.sharing == "joint":
        return _joint(inputs, weighted(notions, how.balance), loss, how, before)
    notions = notions.pooled() if how.sharing == "pooled" else notions
    alone = [
        _alone(inputs, weighted(notions.of(notion)), loss, how, None if before is None else before.factors[notion])
        for notion in range(notions.count)
    ]
    return Learned(
        common=np.zeros((inputs.width, 0)),
        local=np.zeros((notions.count, 0, 0)),
        factors=[main_directions(solution.theta.reshape(inputs.width, -1)) for solution in alone],
        objective=sum(solution.objective for solution in alone),
        steps=sum(solution.steps for solution in alone),
        converged=all(solution.converged for solution in alone),
    )


def weighted(notions: Notions, balance: float = 0.0) -> Notions:
    """Return the constraints with their weights in the objective, in which each notion has a share, see
    ``shares_of``."""
    sums = notions.sums
    factors = np.divide(shares_of(sums, balance), sums, out=np.zeros_like(sums), where=sums > 0)
    scaled = notions.constraints.weights * factors[notions.codes]
    return replace(notions, constraints=replace(notions.constraints, weights=scaled), totals=None)


def shares_of(sums: Rows, balance: float) -> Rows:
    """Return the share of each notion in the objective, (T,), proportional to its sum of weights to the power 1 -
    balance."""
    powers = np.where(sums > 0, np.maximum(sums, 1e-300) ** (1 - balance), 0.0)
    return np.asarray(powers / powers.sum())


def main_directions(factor: Rows) -> Rows:
    """Return a (H, w) factor of the same metric with orthogonal columns, the longest first, without the small ones.

    If all columns are zero, one remains.
    """
    left, values, _ = np.linalg.svd(factor, full_matrices=False)
    width = max(1, int((values**2 > _SMALL * values[0] ** 2).sum()))
    return np.asarray(left[:, :width] * values[:width])


def _joint(inputs: Inputs, notions: Notions, loss: Loss, how: JointSettings, before: Learned | None) -> Learned:
    how = replace(how, n_components=min(how.n_components, inputs.width))
    losses = Losses(notions, inputs.count, loss, how.n_components)
    descent, steps = how.descent, 0
    if before is not None:
        common, local, descent = before.common, before.local, how.last(_WARM)
    elif wider := how.wider(inputs.width):
        wide = _joint(inputs, notions, loss, wider, None)
        common, local, descent, steps = *_leading(wide, how), how.last(_AFTER_WIDE), wide.steps
    elif how.start == "random":
        seeded = how.n_components, notions.count, how.random_state
        common, local = initial_metrics.random_start(inputs, losses, *seeded)
    else:
        factors = initial_metrics.first_factors(inputs, notions, loss, how.n_components)
        common, local = initial_metrics.joint_start(inputs, factors, losses, how.n_components, how.random_state)
    if how.solver == "alternating":
        run = Alternation(inputs, ComparisonLoss(notions, inputs.count, loss), how.alpha).run
        common, metrics, value, steps, ended = run(common, local @ local.swapaxes(1, 2), how.max_iter, how.tol)
        return learned_at(common, roots(metrics), value, steps, ended)
    problem = JointProblem(inputs, losses, how.alpha, (inputs.width, how.n_components, notions.count))
    solution = descend(problem, problem.packed(common, local), descent)
    return learned_at(*problem.unpacked(solution.theta), solution.objective, steps + solution.steps, solution.converged)


def _leading(wide: Learned, how: JointSettings) -> tuple[Rows, Rows]:
    """Return the leading columns of a map, and as many columns of the factor of each metric."""
    width = how.n_components
    left, values, _ = np.linalg.svd(wide.local[:, :width], full_matrices=False)
    local = (left * values[:, None, :])[:, :, :width]
    return wide.common[:, :width], initial_metrics.stirred(local, how.random_state)


def learned_at(common: Rows, local: Rows, objective: float, steps: int = 0, converged: bool = True) -> Learned:
    """Return the result for L, (H, D), and R, (T, D, D), both rescaled to the smallest penalty."""
    common, local = balanced(common, local)
    factors = [main_directions(common @ factor) for factor in local]
    return Learned(common, local, factors, objective, steps, converged)


def _alone(inputs: Inputs, notion: Notions, loss: Loss, how: JointSettings, before: Rows | None) -> Solution:
    how = replace(how, n_components=min(how.n_components, inputs.width))
    width, descent = how.n_components, how.descent
    losses = Losses(notion, inputs.count, loss, width)
    if before is not None:
        first, descent = np.zeros((inputs.width, width)), how.last(_WARM)
        first[:, : before.shape[1]] = before
        factor = initial_metrics.stirred(first, how.random_state)
    else:
        if how.start == "random":
            factor = np.random.default_rng(how.random_state).normal(size=(inputs.width, width))
        else:
            (factor,) = initial_metrics.first_factors(inputs, notion, loss, width)
        factor = initial_metrics.factor_start(inputs, factor, losses, how.random_state)
    return descend(FactorProblem(inputs, losses, how.alpha), factor.ravel(), descent)
