"""The objective of metrics of several tasks with a shared part: K_t = M_0 + M_t."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.objective import Evaluation, Loss
from crossview.engine.learners.papers.losses.parameters import LowRank, Metric, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer

Factors = Sequence[Rows]


@dataclass(frozen=True)
class TaskEvaluation(Evaluation):
    """The sum over the tasks at one metric, and its terms.

    Attributes:
        tasks: the evaluation of each task's loss.
    """

    tasks: tuple[Evaluation, ...]


class SharedMetric:
    """The sum of T losses under K_t = M_0 + M_t, plus shared / 2 |M_0 - I|^2 + own / 2 sum |M_t|^2.

    Parameswaran and Weinberger (NIPS 2010), equation (7), with M_t = L_t^T L_t, so that all of them are positive
    semidefinite. The parameters are L_0, L_1 ... L_T below each other, ((T + 1) d, d).

    Args:
        tasks: the losses, each with respect to a factor of its metric.
        width: d.
        shared: weight of the distance of the shared metric from the identity.
        own: weight of the tasks' own metrics.
    """

    def __init__(self, tasks: Sequence[Loss], width: int, shared: float, own: float) -> None:
        self.parameters: Parameters = LowRank()
        self.regularizer: Regularizer = Regularizer()
        self._tasks, self._width, self._shared, self._own = tasks, width, shared, own
        self._latest: tuple[Metric, list[Metric]] | None = None

    @property
    def smoothing(self) -> float:
        """The violation up to which the hinges of all tasks are smooth."""
        return self._tasks[0].smoothing

    @smoothing.setter
    def smoothing(self, value: float) -> None:
        for task in self._tasks:
            task.smoothing = value

    def metrics(self, metric: Metric) -> list[Metric]:
        """Return each task's K_t: the same objects for the same metric, because caches of embeddings depend on
        identity."""
        if self._latest is None or self._latest[0] is not metric:
            shared, *own = self._factors(metric)
            stacked = [np.vstack([shared, factor]) for factor in own]
            self._latest = metric, [Metric(factor, factor) for factor in stacked]
        return self._latest[1]

    def evaluate(self, metric: Metric) -> TaskEvaluation:
        """Return the objective over the active constraints of all tasks."""
        evaluations = tuple(task.evaluate(own) for task, own in zip(self._tasks, self.metrics(metric), strict=True))
        value = sum(evaluation.value for evaluation in evaluations) + self._penalty(metric)
        return TaskEvaluation(value, np.empty(0, np.int64), np.empty(0), evaluations)

    def recheck(self, metric: Metric) -> int:
        """Check all constraints of all tasks, and return the number of violated ones that were not active before."""
        return sum(task.recheck(own) for task, own in zip(self._tasks, self.metrics(metric), strict=True))

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters."""
        tasks = cast(TaskEvaluation, evaluation).tasks  # what ``evaluate`` of this class returned
        slopes = [
            task.gradient(own, value) for task, own, value in zip(self._tasks, self.metrics(metric), tasks, strict=True)
        ]
        width = self._width
        shared, *own = self._factors(metric)
        total = sum(slope[:width] for slope in slopes) + 2 * self._shared * shared @ self._departure(shared)
        parts = [
            slope[width:] + 2 * self._own * factor @ (factor.T @ factor)
            for slope, factor in zip(slopes, own, strict=True)
        ]
        return np.vstack([total, *parts])

    def exact(self, metric: Metric) -> float:
        """Return the objective over all constraints, with the hinge itself."""
        losses = (task.exact(own) for task, own in zip(self._tasks, self.metrics(metric), strict=True))
        return sum(losses) + self._penalty(metric)

    def _factors(self, metric: Metric) -> list[Rows]:
        return np.split(metric.theta, len(self._tasks) + 1)

    def _departure(self, factor: Rows) -> Rows:
        return np.asarray(factor.T @ factor - np.eye(self._width))

    def _penalty(self, metric: Metric) -> float:
        shared, *own = self._factors(metric)
        norms = sum(float(np.square(factor.T @ factor).sum()) for factor in own)
        return self._shared / 2 * float(np.square(self._departure(shared)).sum()) + self._own / 2 * norms
