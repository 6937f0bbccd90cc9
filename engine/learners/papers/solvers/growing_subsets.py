"""Descent over growing subsets of the constraints, and finally over all constraints."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.objective import Loss, Objective
from crossview.engine.learners.papers.losses.parameters import Metric
from crossview.engine.learners.papers.solvers.descent import SHARPER, STAGES, Descent, Solution, Validation, descend
from crossview.engine.runtime.cancellation import checkpoint

_FIRST = 1 << 14  # number of constraints in the first subset
_GROWTH = 4
_PATIENCE = 2  # number of checks without a gain that end the descent over a subset
_DOUBLINGS = 12  # maximum


def descend_over_growing_subsets(
    objective: Loss, theta: Rows, how: Descent, validation: Validation | None = None
) -> Solution:
    """Return the solution of ``descend`` after a descent over ever larger subsets of the constraints.

    Far from the minimum, the gradient over a subset is as good as the gradient over all constraints, and cheaper. The
    next subset is four times as large, and its hinge four times as sharp. The steps have not used its constraints, so
    they judge the subset before: when two checks lower the objective over them by less than a hundredth, further steps
    would overfit, and the descent goes on to the next subset. A subset takes at most half of the remaining steps. The
    first subset starts from theta scaled to it. There are no subsets up to 32,767 constraints, with steps that are not
    adaptive, or if the objective does not list its constraints.

    Args:
        objective: the objective over all constraints.
        theta: start, as the objective's parameters have it.
        how: the steps, over all subsets.
        validation: as in ``descend``, over all constraints.
    """
    objectives: list[Loss] = [objective]
    if how.rule == "adaptive" and isinstance(objective, Objective):
        objectives = [*growing_subsets(objective), objective]
    if len(objectives) > 1:
        theta = scaled(objectives[0], theta)
    history: list[float] = []
    steps, stages = 0, STAGES
    for current, following in pairwise(objectives):
        budget = replace(how, max_iter=(how.max_iter - steps) // 2)
        solution = descend(current, theta, budget, Validation(partial(_hundredths, following), _PATIENCE), stages)
        theta, steps, history = solution.metric.theta, steps + solution.steps, history + solution.history
        if stages > 1:  # the sharpest hinge stays for the descent over all constraints
            how, stages = replace(how, smoothing=how.smoothing * SHARPER), stages - 1
    solution = descend(objective, theta, replace(how, max_iter=how.max_iter - steps), validation, stages)
    return replace(solution, steps=steps + solution.steps, history=history + solution.history)


def growing_subsets(objective: Objective) -> list[Objective]:
    """Return the objective over disjoint random subsets of its constraints, each four times as large as the last.

    The draw is the same every time, so that a fit depends on its own seed alone. Constraints of weight 0 are in no
    subset. A subset has at most half of all constraints: beyond, a descent over all of them costs little more.
    """
    constraints = objective.constraints
    order = np.random.default_rng(0).permutation(np.flatnonzero(constraints.weights))
    subsets: list[Objective] = []
    start, size = 0, _FIRST
    while 2 * size <= len(order):
        drawn = constraints.take(np.sort(order[start : start + size]))
        subsets.append(Objective(objective.features, drawn, objective.regularizer, objective.parameters))
        start, size = start + size, _GROWTH * size
    return subsets


def scaled(objective: Loss, theta: Rows) -> Rows:
    """Return the parameters times the best power of two: steps take long to grow distances to the margins.

    The objective is convex in the scale of the metric, so the first scale at which it does not fall is past the best.
    """
    best = objective.exact(objective.parameters.place(theta))
    for _ in range(_DOUBLINGS):
        checkpoint()
        value = objective.exact(objective.parameters.place(2 * theta))
        if value >= best:
            break
        theta, best = 2 * theta, value
    return theta


def _hundredths(objective: Loss, metric: Metric) -> float:
    """Return a score that rises by one when the objective falls by a hundredth."""
    return -float(np.floor(100 * np.log(max(objective.exact(metric), np.finfo(float).tiny))))
