"""The objective of metrics of several notions over one map, K_t = L M_t L^T, in the form of the solver of single
metrics."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, main_directions
from crossview.engine.learners.papers.joint.objectives import Features, balanced
from crossview.engine.learners.papers.joint.shared_metric import TaskEvaluation
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.impostors import Impostors, Targets
from crossview.engine.learners.papers.losses.objective import Evaluation, Loss
from crossview.engine.learners.papers.losses.parameters import LowRank, Metric, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.solvers.descent import Descent, descend
from crossview.engine.learners.papers.solvers.growing_subsets import scaled
from crossview.engine.learners.subspace.pca import principal_components

_SMOOTHING = 0.1  # violation up to which the hinge is smooth at first
_ROUGH = 1e-4  # the descent ends when ten steps lower the objective by less than this share


def learn_over_map(
    inputs: Features,
    notions: Sequence[tuple[Rows, Targets]],
    shares: Rows,
    margin: float,
    pull: float,
    how: JointSettings,
) -> "Learned":
    """Return metrics of T notions over one map, from large margin nearest neighbours in each.

    The descent starts from the leading principal components of all rows, with every M_t the same multiple of the
    identity, so after few steps (``max_iter``) the metrics are still near that one.

    Args:
        inputs: all rows, (n, H).
        notions: for each notion, the rows with a class in it, and their target neighbours.
        shares: (T,) shares of the notions in the objective.
        margin: how much further off rows of other classes should be, in squared distance.
        pull: weight of the target neighbours' distances.
        how: the settings.
    """
    tasks = [Impostors(Differences(rows), targets, margin, Regularizer(), LowRank(), pull) for rows, targets in notions]
    width = min(how.n_components, inputs.width, inputs.count)
    objective = SharedMap(tasks, shares, width, how.alpha)
    components, _ = principal_components(inputs.rows, width)
    local = np.broadcast_to(np.eye(len(components)), (len(tasks), len(components), len(components)))
    start = scaled(objective, objective.packed(components.T, local))
    steps = Descent(max_iter=how.max_iter, smoothing=_SMOOTHING, tol=max(how.tol, _ROUGH))
    solution = descend(objective, start, steps)
    common, local = balanced(*objective.unpacked(solution.metric.theta))
    factors = [main_directions(common @ one) for one in local]
    return Learned(common, local, factors, solution.objective, solution.steps, solution.converged)


class SharedMap:
    """The weighted sum of T losses under K_t = L M_t L^T with M_t = R_t R_t^T, plus alpha (|L|^2 + sum tr M_t).

    Zhang, Maji and Tomioka (2015), equation (2). The parameters are L^T, (D, H), and the R_t, (D, D) each padded with
    zeros to H columns, below each other: ((T + 1) D, H).

    Args:
        tasks: the losses, each with respect to a factor of its metric.
        shares: (T,) weights of the losses.
        width: D, at most H.
        alpha: weight of the penalty.
    """

    def __init__(self, tasks: Sequence[Loss], shares: Rows, width: int, alpha: float) -> None:
        self.parameters: Parameters = LowRank()
        self.regularizer: Regularizer = Regularizer()
        self._tasks, self._shares, self._width, self._alpha = tasks, shares, width, alpha
        self._latest: tuple[Metric, list[Metric]] | None = None

    @property
    def smoothing(self) -> float:
        """The violation up to which the hinges of all losses are smooth."""
        return self._tasks[0].smoothing

    @smoothing.setter
    def smoothing(self, value: float) -> None:
        for task in self._tasks:
            task.smoothing = value

    def packed(self, common: Rows, local: Rows) -> Rows:
        """Return the parameters for L, (H, D), and the R_t, (T, D, D)."""
        padded = np.zeros((len(local), self._width, len(common)))
        padded[:, :, : self._width] = local
        return np.vstack([common.T, *padded])

    def unpacked(self, theta: Rows) -> tuple[Rows, Rows]:
        """Return L and the R_t."""
        blocks = theta.reshape(-1, self._width, theta.shape[1])
        return blocks[0].T, blocks[1:, :, : self._width]

    def metrics(self, metric: Metric) -> list[Metric]:
        """Return each K_t by its factor: the same objects for the same metric, because caches of embeddings depend on
        identity."""
        if self._latest is None or self._latest[0] is not metric:
            common, local = self.unpacked(metric.theta)
            factors = [np.ascontiguousarray(one.T @ common.T) for one in local]
            self._latest = metric, [Metric(factor, factor) for factor in factors]
        return self._latest[1]

    def evaluate(self, metric: Metric) -> TaskEvaluation:
        """Return the objective over the active constraints of all losses."""
        found = tuple(task.evaluate(one) for task, one in zip(self._tasks, self.metrics(metric), strict=True))
        value = float(self._shares @ [one.value for one in found]) + self._penalty(metric)
        return TaskEvaluation(value, np.empty(0, np.int64), np.empty(0), found)

    def recheck(self, metric: Metric) -> int:
        """Check all constraints of all losses, and return the number of violated ones that were not active before."""
        return sum(task.recheck(one) for task, one in zip(self._tasks, self.metrics(metric), strict=True))

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters."""
        tasks = cast(TaskEvaluation, evaluation).tasks  # what ``evaluate`` of this class returned
        common, local = self.unpacked(metric.theta)
        slopes = [
            share * task.gradient(one, found)
            for share, task, one, found in zip(self._shares, self._tasks, self.metrics(metric), tasks, strict=True)
        ]
        of_common = sum(slope.T @ one.T for slope, one in zip(slopes, local, strict=True))
        of_local = np.stack([(slope @ common).T for slope in slopes])
        return self.packed(np.asarray(of_common), of_local) + 2 * self._alpha * metric.theta

    def exact(self, metric: Metric) -> float:
        """Return the objective over all constraints, with the hinge itself."""
        losses = [task.exact(one) for task, one in zip(self._tasks, self.metrics(metric), strict=True)]
        return float(self._shares @ losses) + self._penalty(metric)

    def _penalty(self, metric: Metric) -> float:
        return self._alpha * float(np.square(metric.theta).sum())
