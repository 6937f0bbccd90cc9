"""Descent over parts of the constraints that grow to all of them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from engine.learners.base import Rows
from engine.learners.cancellation import checkpoint
from engine.learners.metrics.descent import SHARPER, Descent, Solution, Watch, descend
from engine.learners.metrics.objective import Loss, Objective
from engine.learners.metrics.parameters import Metric

_FIRST = 1 << 14  # constraints in the first part
_GROWTH = 4
_PATIENCE = 2
_DOUBLINGS = 12


def descend_by_parts(objective: Loss, theta: Rows, how: Descent, watch: Watch | None = None) -> Solution:
    """Returns what ``descend`` does, from a start that it comes to over ever larger parts of the constraints.

    Far from the minimum a part shows the way as well as all constraints do. It is left for the next, four times as
    large and with a hinge four times as sharp, when two checks lower the objective over that next one, which the steps
    have not seen, by less than a hundredth: from there on they would only learn it by heart. A part takes at most half
    of the steps that are left. The first part starts from theta scaled to it. Up to 32,767 constraints, with steps that
    are not adaptive or where constraints are not listed one by one, there are no parts.

    Args:
        objective: what to lower.
        theta: where to start, as the objective's parameters have it.
        how: the steps, in all.
        watch: as ``descend`` has it, for all constraints.
    """
    chain: list[Loss] = [objective]
    if how.rule == "adaptive" and isinstance(objective, Objective):
        chain = [*parts(objective), objective]
    if len(chain) > 1:
        theta = scaled(chain[0], theta)
    history: list[float] = []
    steps = 0
    for part, unseen in pairwise(chain):
        some = replace(how, max_iter=(how.max_iter - steps) // 2, patience=_PATIENCE)
        found = descend(part, theta, some, _hundredths(unseen))
        theta, steps, history = found.metric.theta, steps + found.steps, history + found.history
        if how.stages > 1:
            how = replace(how, smoothing=how.smoothing * SHARPER, stages=how.stages - 1)
    found = descend(objective, theta, replace(how, max_iter=how.max_iter - steps), watch)
    return replace(found, steps=steps + found.steps, history=history + found.history)


def parts(objective: Objective) -> list[Objective]:
    """Returns the objective over disjoint parts of its constraints, drawn at random, each four times the last one.

    The same constraints are drawn every time. What costs nothing is in no part, and the last is at most half of them.
    """
    constraints = objective.constraints
    order = np.random.default_rng(0).permutation(np.flatnonzero(constraints.weights))
    found: list[Objective] = []
    start, size = 0, _FIRST
    while 2 * size <= len(order):
        some = constraints.part(np.sort(order[start : start + size]))
        found.append(Objective(objective.features, some, objective.regularizer, objective.parameters))
        start, size = start + size, _GROWTH * size
    return found


def scaled(objective: Loss, theta: Rows) -> Rows:
    """Returns the best of the parameters times powers of two: steps take long to grow distances to the margins.

    The objective is convex in the metric's scale, so it falls to the best one and rises beyond it.
    """
    best = objective.exact(objective.parameters.place(theta))
    for _ in range(_DOUBLINGS):
        checkpoint()
        value = objective.exact(objective.parameters.place(2 * theta))
        if value >= best:
            break
        theta, best = 2 * theta, value
    return theta


def _hundredths(objective: Loss) -> Watch:
    """A score that rises by one when the objective falls by a hundredth."""

    def score(metric: Metric) -> float:
        return -float(np.floor(100 * np.log(max(objective.exact(metric), np.finfo(float).tiny))))

    return score
