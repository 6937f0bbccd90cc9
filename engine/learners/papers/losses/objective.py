"""The regularised hinge loss of a metric over constraints, evaluated on the active ones."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.parameters import Metric, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer


@dataclass(frozen=True)
class Evaluation:
    """The objective at one metric.

    Attributes:
        value: loss and regulariser.
        violated: (m,) positions of the violated constraints.
        costs: (m,) the derivative of the loss with respect to the violation of each.
    """

    value: float
    violated: NDArray[np.int64]
    costs: NDArray[np.float64]


class Loss(Protocol):
    """The protocol of objectives that a descent can lower.

    Between two checks of all constraints it evaluates only the active ones, because near the minimum few constraints
    are violated, and each costs two distances.
    """

    parameters: Parameters
    regularizer: Regularizer
    smoothing: float

    def evaluate(self, metric: Metric) -> Evaluation:
        """Return the objective over the active constraints."""

    def recheck(self, metric: Metric) -> int:
        """Check all constraints, make the violated ones active, and return the number that were not active before."""

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters."""

    def exact(self, metric: Metric) -> float:
        """Return the objective over all constraints, with the hinge itself."""


@dataclass(eq=False)
class Objective:
    """The sum of w [margin + D(i, j) - D(k, l)]_+ over the constraints, divided by the sum of w, plus a regulariser.

    Equation (11) of the paper, with the mean instead of the sum, so that the regulariser's weights have the same
    meaning for any number of constraints. Between calls of ``recheck`` it evaluates only active constraints: all that
    were violated at some check.

    With ``smoothing`` h > 0 a violation v costs v^2 / 2h up to h and v - h / 2 beyond. This differs from the hinge by
    at most h / 2 and has no kink, at which steps along a subgradient stall.

    Args:
        features: differences of the rows that the constraints compare.
        constraints: constraints on their distances.
        regularizer: term to add to the loss.
        parameters: parameters of the metric, which gradients are with respect to.

    Raises:
        ValueError: if a constraint names an item that the features do not have.
    """

    features: Differences
    constraints: Constraints
    regularizer: Regularizer
    parameters: Parameters
    smoothing: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.features.check(int(max(self.constraints.near.max(), self.constraints.far.max())))
        self._costs = self.constraints.weights / self.constraints.weights.sum()
        self._active = np.arange(len(self.constraints))  # all, until the first check finds the violated ones
        self._checked = False

    def evaluate(self, metric: Metric) -> Evaluation:
        """Return the objective over the active constraints."""
        return self._over(metric, self._active)

    def recheck(self, metric: Metric) -> int:
        """Check all constraints, make the violated ones active, and return the number that were not active before.

        The first call makes only the violated constraints active; before that, all constraints are active.
        """
        violated = self._over(metric, np.arange(len(self.constraints))).violated
        # Constraints once violated stay active: those that leave at one step often come back at the next.
        before = self._active[:0] if not self._checked else self._active
        self._active, self._checked = merged(before, violated), True
        return len(self._active) - len(before)

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters, equation (12), with the W of the metric."""
        violated = evaluation.violated
        pairs = np.concatenate([self.constraints.near[violated], self.constraints.far[violated]])
        costs = evaluation.costs
        added = self.regularizer.gradient(metric)
        return self.parameters.slope(metric, self.features, pairs, np.concatenate([costs, -costs]), added)

    def exact(self, metric: Metric) -> float:
        """Return the objective over all constraints, with the hinge itself."""
        every = np.arange(len(self.constraints))
        missing = np.maximum(self._slack(metric, every), 0.0)
        return float(self._costs @ missing) + self.regularizer.value(metric)

    def _over(self, metric: Metric, which: NDArray[np.int64]) -> Evaluation:
        slack = self._slack(metric, which)
        violated, missing = which[slack > 0], slack[slack > 0]
        slopes = np.minimum(missing / self.smoothing, 1.0) if self.smoothing else np.ones(len(missing))
        costs = self._costs[violated]
        # v^2 / 2h and v - h / 2 are both s (v - s h / 2) with the slope s.
        loss = float(costs @ (slopes * (missing - slopes * self.smoothing / 2)))
        return Evaluation(loss + self.regularizer.value(metric), violated, costs * slopes)

    def _slack(self, metric: Metric, which: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.constraints.margins[which] - gaps(metric, self.features, self.constraints, which)


def merged(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the union of ascending positions, ascending; merging runs is many times faster than ``np.union1d``."""
    both = np.sort(np.concatenate([first, second]), kind="stable")
    return both[np.diff(both, prepend=-1) > 0]


def gaps(
    metric: Metric, features: Differences, constraints: Constraints, which: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return D(k, l) - D(i, j) of all constraints, or of those at the given positions."""
    places: Any = slice(None) if which is None else which
    far = constraints.far[places]
    distances = metric.distances(features, np.concatenate([far, constraints.near[places]]))
    return distances[: len(far)] - distances[len(far) :]


def satisfied(metric: Metric, features: Differences, constraints: Constraints) -> float:
    """Return the weighted share of constraints with D(k, l) > D(i, j) + margin.

    The inequality is strict, so that the zero metric satisfies nothing. With margin 0 the share is the accuracy of the
    order.
    """
    right = gaps(metric, features, constraints) > constraints.margins
    return float(constraints.weights[right].sum() / constraints.weights.sum())
