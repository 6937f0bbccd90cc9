"""Quadruplet-wise metrics: full or diagonal, from quadruplets, triplets and pairs together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Positive, Seed, Steps, Tolerance, drawn_seed, group
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Bounds, Constraints
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.parameters import Diagonal, Full, Metric
from crossview.engine.learners.papers.losses.ranking import HingeRisk, RankingRisk, Risk
from crossview.engine.learners.papers.metrics.learner import MetricLearner, fitted_metric
from crossview.engine.learners.papers.metrics.training_constraints import ConstraintSettings, Sampling
from crossview.engine.learners.papers.solvers.cutting_plane import CutSolution, cut
from crossview.engine.learners.papers.solvers.newton import (
    Newton,
    Step,
    VectorSolution,
    diagonal_problem,
    minimize_over_growing_subsets,
)
from crossview.engine.learners.papers.solvers.threshold import between
from crossview.engine.learners.subspace.span import Span

Loss = Literal["hinge", "huber", "structural"]


@dataclass(eq=False, repr=False)
class QuadrupletWise(MetricLearner):
    """One full or diagonal metric per view, learned from quadruplets, triplets and pairs as a convex problem.

    Law, Thome and Cord, "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images" (IJCV
    2017): |M|^2 / 2 plus C times the weighted mean of the losses of constraints, so that C means the same for any
    number of them.

    - "hinge", equation (11): by how much D(i, j) + margin exceeds D(k, l), and by how much pairs exceed their bounds.
    - "huber", equation (28): the same, smoothed, for diagonal metrics. Pairs have no given bounds but should be half
      their difference below or above a threshold b, which is learned with b^2 / 2 in the objective.
    - "structural", equation (16): the loss of the worst ranking of pairs, which compares each similar pair with each
      dissimilar one.

    Args:
        C: weight of the loss. Rows have a root mean square length of 1 and the loss is a mean, so it is independent of
            units and of the number of constraints.
        form: "full", M; or "diagonal", a weight for each column.
        loss: "hinge" or "structural", by cutting planes; "huber", by Newton's method; None: "huber" for diagonal
            metrics, "hinge" for full ones, as in the paper.
        sampling: the constraints that ``fit`` draws; None: ``Sampling(constraints="quadruplets")``.
        bounds: the bounds of the constraints on distances; None: ``Bounds()``.
        step: step of Newton's method: "two-metric", which ends at the minimum; or "printed", the paper's Algorithm 2,
            which may end elsewhere if columns interact.
        h: half the width of the quadratic part of the Huber loss, in squared distance.
        max_iter: maximum number of steps, or of cutting planes.
        tol: stop when the distance from the objective to the minimum is at most this share of the objective.
        random_state: seed of the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        threshold_: list, the distance, not squared, up to which a pair of each view is similar: the root of b; with a
            structural loss, None until it is calibrated; otherwise as for every metric.
        objective_: list of the objectives reached.
        gap_: list, upper bounds of the distances from the objectives to their minima.
        steps_: list of the numbers of steps, or of planes.
        converged_: list, whether the search converged before ``max_iter``.
        history_: list of arrays, the objective after every step; for Newton's method, first over subsets.

    Raises:
        ValueError: from ``fit``, for parameters out of range, a Huber loss of a full metric, missing labels, fewer than
            two classes, or no class of two rows.
    """

    name = "qwise"
    capabilities: ClassVar[Capabilities] = replace(MetricLearner.capabilities, main_parameter="C")
    groups: ClassVar[Mapping[str, Any]] = {"sampling": Sampling(constraints="quadruplets"), "bounds": Bounds()}

    objective_: list[float] = field(init=False)
    gap_: list[float] = field(init=False)
    converged_: list[bool] = field(init=False)
    history_: list[NDArray[np.float64]] = field(init=False)

    C: Positive = 10_000.0
    form: Literal["full", "diagonal"] = "full"
    loss: Loss | None = None
    sampling: Sampling | None = None
    bounds: Bounds | None = None
    step: Step = "two-metric"
    h: Positive = 0.05
    max_iter: Steps = 500
    tol: Tolerance = 1e-3
    random_state: Seed = 0
    view_slices: Sequence[int] | None = None

    def _constraint_settings(self) -> ConstraintSettings:
        return ConstraintSettings(
            sampling=cast(Sampling, group(self, "sampling")),
            bounds=cast(Bounds, group(self, "bounds")),
            seed=drawn_seed(self.random_state),
        )

    def _fit_rows(self, rows: Rows, constraints: Constraints, validation: Constraints | None) -> dict[str, Any]:
        return fitted_metric(rows, partial(self._learn, constraints), between(constraints))

    def _learn(self, constraints: Constraints, rows: Rows) -> tuple[Rows, dict[str, Any]]:
        loss = self.loss or ("huber" if self.form == "diagonal" else "hinge")
        if loss == "huber" and self.form == "full":
            raise ValueError('loss="huber" needs form="diagonal"; use the hinge or the structural loss for a full M')
        if self.step == "printed" and loss != "huber":
            raise ValueError(f'step="printed" is a step of Newton\'s method: use loss="huber" instead of "{loss}"')
        Differences(rows).check(int(max(constraints.near.max(), constraints.far.max())))
        # A full metric stays within the span of the rows: outside, constraints have no effect and |M| only grows.
        span = Span.of(rows) if self.form == "full" else Span(rows)
        if loss == "huber":
            metric, fitted = self._by_newton(span.rows, constraints)
        elif loss == "hinge":
            metric, fitted = self._by_planes(span.rows, HingeRisk.of(constraints))
        else:
            metric, fitted = self._by_planes(span.rows, RankingRisk.of(constraints))
            fitted["threshold_"] = None  # the loss only compares pairs with each other
        factor = metric.factor
        if factor is None or not len(factor):
            factor = np.zeros((1, span.rows.shape[1]))
        return span.lifted(factor), fitted

    def _by_newton(self, rows: Rows, constraints: Constraints) -> tuple[Metric, dict[str, Any]]:
        bounds = self._constraint_settings().bounds
        problem = diagonal_problem(rows, constraints, self.C, (bounds.lower - bounds.upper) / 2)
        how = Newton(step=self.step, h=self.h, max_iter=self.max_iter, tol=self.tol)
        solution = minimize_over_growing_subsets(problem, how)
        threshold = None if solution.b is None else float(np.sqrt(solution.b))
        return Diagonal().place(solution.w), self._fitted(solution) | {"threshold_": threshold}

    def _by_planes(self, rows: Rows, risk: Risk) -> tuple[Metric, dict[str, Any]]:
        parameters = Full() if self.form == "full" else Diagonal()
        solution = cut(Differences(rows), risk, parameters, self.C, tol=self.tol, max_iter=self.max_iter)
        return solution.metric, self._fitted(solution)

    @staticmethod
    def _fitted(solution: VectorSolution | CutSolution) -> dict[str, Any]:
        return {
            "objective_": solution.objective,
            "gap_": solution.gap,
            "steps_": solution.steps,
            "converged_": solution.converged,
            "history_": np.array(solution.history),
        }
