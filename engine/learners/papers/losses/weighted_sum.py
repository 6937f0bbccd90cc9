"""The weighted sum of several losses of one metric."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.objective import Evaluation, Loss
from crossview.engine.learners.papers.losses.parameters import Metric, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer


@dataclass(frozen=True)
class _Evaluations(Evaluation):
    """The value of the sum, and the evaluations of its parts, which contain the constraints."""

    parts: tuple[Evaluation, ...]


class WeightedSum:
    """A sum of losses of one metric, each times a weight, with the regulariser of the first loss, whose weight is 1.

    It is a :class:`~engine.learners.papers.losses.objective.Loss` itself, so a descent treats it like a single loss.

    Args:
        first: the loss with the regulariser of the sum.
        others: losses without a regulariser, with their weights.
    """

    def __init__(self, first: Loss, others: Sequence[tuple[float, Loss]]) -> None:
        self._losses = [first, *(loss for _, loss in others)]
        self._weights = [1.0, *(weight for weight, _ in others)]
        self.parameters: Parameters = first.parameters
        self.regularizer: Regularizer = first.regularizer

    @property
    def smoothing(self) -> float:
        """The violation up to which the hinges are smooth."""
        return self._losses[0].smoothing

    @smoothing.setter
    def smoothing(self, value: float) -> None:
        for loss in self._losses:
            loss.smoothing = value

    def evaluate(self, metric: Metric) -> Evaluation:
        """Return the sum over the active constraints."""
        parts = tuple(loss.evaluate(metric) for loss in self._losses)
        value = sum(weight * part.value for weight, part in zip(self._weights, parts, strict=True))
        return _Evaluations(value, np.empty(0, np.int64), np.empty(0), parts)

    def recheck(self, metric: Metric) -> int:
        """Check all constraints of all losses, and return how many violated ones were not active."""
        return sum(loss.recheck(metric) for loss in self._losses)

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters, given the value of ``evaluate`` at the metric."""
        assert isinstance(evaluation, _Evaluations), "an evaluation of the sum"  # noqa: S101
        slopes = [
            weight * loss.gradient(metric, part)
            for weight, loss, part in zip(self._weights, self._losses, evaluation.parts, strict=True)
        ]
        return np.asarray(sum(slopes))

    def exact(self, metric: Metric) -> float:
        """Return the sum over all constraints, with the hinge itself."""
        return sum(weight * loss.exact(metric) for weight, loss in zip(self._weights, self._losses, strict=True))
