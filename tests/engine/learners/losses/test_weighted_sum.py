"""Sums of losses have the sum of their values and slopes."""

import numpy as np
import pytest

from crossview.engine.learners.papers.losses.constraints import quadruplets
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.impostors import Impostors, Targets
from crossview.engine.learners.papers.losses.objective import Objective
from crossview.engine.learners.papers.losses.parameters import Diagonal, Full, LowRank
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.metrics.lmnn import WeightedSum

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 4))
LABELS = np.repeat([0, 1, 2, 3], 10)


def losses(parameters):
    """Return impostors with a regulariser, and quadruplets without; both have smooth hinges."""
    features = Differences(ROWS)
    targets = Targets.nearest(ROWS, LABELS, 2)
    first = Impostors(features, targets, 1.0, Regularizer(trace=0.3), parameters, pull=0.5)
    items = quadruplets(np.array([RNG.permutation(40)[:4] for _ in range(60)]))
    return first, Objective(features, items, Regularizer(), parameters)


@pytest.mark.parametrize("parameters", [Full(), Diagonal(), LowRank()])
def test_a_sum_is_that_of_its_parts(parameters):
    first, other = losses(parameters)
    total = WeightedSum(first, [(3.0, other)])
    total.smoothing = 0.5
    assert (first.smoothing, other.smoothing, total.smoothing) == (0.5, 0.5, 0.5)
    theta = parameters.start(np.eye(4))
    metric = parameters.place(theta)
    assert total.recheck(metric) > 0
    evaluation = total.evaluate(metric)
    assert evaluation.value == pytest.approx(first.evaluate(metric).value + 3 * other.evaluate(metric).value)
    assert total.exact(metric) == pytest.approx(first.exact(metric) + 3 * other.exact(metric))
    direction = np.asarray(RNG.normal(size=theta.shape))
    if theta.ndim == 2 and not isinstance(parameters, LowRank):
        direction = direction + direction.T
    ends = [total.evaluate(parameters.place(theta + step * direction)).value for step in (1e-6, -1e-6)]
    slope = float(np.vdot(total.gradient(metric, evaluation), direction))
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-4, abs=1e-6)
