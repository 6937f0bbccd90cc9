"""Projected subgradient descent on a loss, with a hinge that gets sharper."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from crossview.engine.learners.frame.settings import Count, Positive, Steps, Weight
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.objective import Evaluation, Loss
from crossview.engine.learners.papers.losses.parameters import Metric
from crossview.engine.runtime.cancellation import checkpoint

Rule = Literal["adaptive", "constant", "sqrt"]
SHARPER = 0.25
"""The factor of the smoothing whenever the objective has stopped falling."""
STAGES = 4
"""The number of smooth hinges before the hinge itself."""
_GROW, _SHRINK = 4.0, 0.25
_SMALLEST = 1e-9  # steps below this share of the first one have no effect
_WINDOW = 10  # number of steps over which the objective must fall
_BLUR = 1e-3  # share of the smoothing below which a fall gives no information about the hinge itself
_ZERO = 1e-9  # share of the first objective below which a fall counts as none


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Settings of a descent.

    Attributes:
        step: length of the first step, as a share of the length of the parameters.
        rule: "adaptive" takes a step only if it lowers the objective, and fits the next one to the change of the slope
            during the step (Barzilai and Borwein, IMA Journal of Numerical Analysis 1988); otherwise it makes the step
            a quarter as long. "constant" takes all steps; "sqrt" divides the t-th by sqrt(t). The last two return the
            best metric of those checked.
        max_iter: maximum number of steps; for ADMM, of outer steps.
        tol: stop when ten steps lower the objective by less than this share of its value, or by less than a billionth
            of the first.
        check_every: number of steps between two checks of all constraints.
        smoothing: for adaptive steps, the violation up to which the hinge is smooth at first, in squared distance.
            Whenever the objective stops falling it is divided by 4, and after a few times the hinge itself ends the
            descent. 0: the hinge from the start, whose kinks can stall the steps well above the minimum.
    """

    step: Positive = 0.1
    rule: Rule = "adaptive"
    max_iter: Steps = 500
    tol: Weight = 1e-4
    check_every: Count = 10
    smoothing: Weight = 0.0


@dataclass(frozen=True)
class Validation:
    """The rule that stops a descent before the objective stops falling.

    Attributes:
        score: function that scores a metric; larger is better.
        patience: number of checks without a better score after which the descent returns the best metric.
    """

    score: Callable[[Metric], float]
    patience: int


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The solution of a descent.

    Attributes:
        metric: the metric.
        objective: its objective over all constraints.
        history: the objective over the active constraints at the start and after every step.
        steps: number of steps, rejected ones included.
        converged: whether the objective stopped falling, with every violated constraint among the active ones.
        scores: the validation score at every check.
    """

    metric: Metric
    objective: float
    history: list[float]
    steps: int
    converged: bool
    scores: list[float] = field(default_factory=list)


def descend(
    objective: Loss, theta: Rows, how: Descent, validation: Validation | None = None, stages: int = STAGES
) -> Solution:
    """Return the solution of Algorithm 1 of the paper from a start.

    The regulariser's W is that of the metric at each step, so M and W alternate. With the adaptive rule the objective
    over the active constraints rises only when a check adds constraints or the hinge gets sharper.

    Args:
        objective: objective to lower.
        theta: start, as the objective's parameters have it.
        how: the steps.
        validation: rule to stop early; None: none.
        stages: with smoothing, number of smooth hinges, each sharper than the last, before the hinge itself.
    """
    run = _Run(objective, theta, how, validation, stages)
    while not run.over():
        checkpoint()
        run.step()
    return run.solution()


class _Run:
    def __init__(self, objective: Loss, theta: Rows, how: Descent, validation: Validation | None, stages: int) -> None:
        self.objective, self.how, self.validation, self.stages = objective, how, validation, stages
        self.at = objective.parameters.place(theta)
        self.taken = self.stage = 0
        self.converged = False
        self.history: list[float] = []
        self.scores: list[float] = []
        self.best: tuple[float, Metric] = (-np.inf, self.at)
        self.since = 0  # index in the history of the last change of the objective
        objective.smoothing = how.smoothing if how.rule == "adaptive" else 0.0
        self._check()
        self.slope = objective.gradient(self.at, self.here)
        length = float(np.linalg.norm(self.at.theta)) or 1.0
        steepness = float(np.hypot(np.linalg.norm(self.slope), objective.regularizer.slope_outside))
        self.first = self.size = how.step * length / (steepness or 1.0)

    def over(self) -> bool:
        checks_since_best = len(self.scores) - 1 - int(np.argmax(self.scores or [0]))
        if self.validation is not None and checks_since_best >= self.validation.patience:
            return True
        return self.converged or self.taken >= self.how.max_iter

    def step(self) -> None:
        self.taken += 1
        size = self.size / np.sqrt(self.taken) if self.how.rule == "sqrt" else self.size
        trial = self.objective.parameters.place(self.at.theta - size * self.slope)
        evaluation = self.objective.evaluate(trial)
        if self.how.rule != "adaptive":
            self._move(trial, evaluation)
        elif evaluation.value < self.here.value:
            before, slope = self.at, self.slope
            self._move(trial, evaluation)
            self.size = self._fitting(self.at.theta - before.theta, self.slope - slope)
        else:
            self.size *= _SHRINK
        self.history.append(self.here.value)
        settled = self._settled()
        if settled or self.taken % self.how.check_every == 0:
            added = self._check()
            if settled and not added:
                self._settle()

    def _fitting(self, move: Rows, change: Rows) -> float:
        """Return the step to the minimum of an objective with the curvature along the last move.

        It is one of the two steps of Barzilai and Borwein, the shorter if they differ much: Zhou, Gao and Dai,
        "Gradient methods with adaptive step-sizes" (Computational Optimization and Applications 2006).
        """
        along = float(np.vdot(move, change))
        if along <= 0:
            return self.size * _GROW
        longer, shorter = float(np.vdot(move, move)) / along, along / float(np.vdot(change, change))
        return shorter if shorter < longer / 2 else longer

    def _settle(self) -> None:
        """End the descent, or continue with a sharper hinge."""
        smoothing = self.objective.smoothing
        if not smoothing:
            self.converged = True
            return
        self.stage += 1
        self.objective.smoothing = smoothing * SHARPER if self.stage < self.stages else 0.0
        self._move(self.at, self.objective.evaluate(self.at))
        self.since = len(self.history)
        self.history.append(self.here.value)

    def solution(self) -> Solution:
        metric = self.at if self.validation is None and self.how.rule == "adaptive" else self.best[1]
        return Solution(
            metric=metric,
            objective=self.objective.exact(metric),
            history=self.history,
            steps=self.taken,
            converged=self.converged,
            scores=self.scores,
        )

    def _move(self, metric: Metric, evaluation: Evaluation) -> None:
        self.at, self.here = metric, evaluation
        self.slope = self.objective.gradient(metric, evaluation)

    def _settled(self) -> bool:
        """Return whether the objective has stopped falling since the active constraints changed."""
        if self.size < _SMALLEST * self.first or not self.slope.any():
            return True
        least = max(self.how.tol * _BLUR * self.objective.smoothing, _ZERO * abs(self.history[0]))
        if self.objective.regularizer.linear is None and self.here.value <= least:
            return True  # the objective is never negative, so it cannot fall further
        recent = self.history[self.since :]
        if len(recent) <= _WINDOW:
            return False
        fall = min(recent[:-_WINDOW]) - min(recent[-_WINDOW:])
        return fall <= max(self.how.tol * abs(self.here.value), least)

    def _check(self) -> int:
        added = self.objective.recheck(self.at)
        self.here = self.objective.evaluate(self.at)
        if added or not self.history:
            self.since = len(self.history)
            self.history.append(self.here.value)
        if added and self.taken:
            self.slope = self.objective.gradient(self.at, self.here)
        score = -self.here.value if self.validation is None else self.validation.score(self.at)
        self.scores += [score] if self.validation is not None else []
        if score > self.best[0]:
            self.best = score, self.at
        return added
