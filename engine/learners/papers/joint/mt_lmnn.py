"""Large margin nearest neighbours for several tasks at once."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import Capabilities
from crossview.engine.learners.frame.settings import Count, Positive, Weight, group
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.traits import LinearLearner, SeparateLearner
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.shared_metric import SharedMetric
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.impostors import Impostors, Targets
from crossview.engine.learners.papers.losses.parameters import LowRank, Spectrum
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.solvers.descent import Descent, descend
from crossview.engine.learners.papers.solvers.growing_subsets import scaled

_ROUNDING = 1e-12  # eigenvalues below this share of the largest are rounding
_START = 0.3  # share of the shared metric's factor at the start, because factors of zero would stay zero


class MultiTaskLMNN(LinearLearner, SeparateLearner, MultiViewLearner):
    """A metric K_t = M_0 + M_t for each notion of class labels, with M_0 common to all notions.

    Parameswaran and Weinberger, "Large Margin Multi-Task Metric Learning" (NIPS 2010): in each notion the loss of
    :class:`~engine.learners.papers.metrics.lmnn.LMNN` among the rows with a class in it, plus shared / 2 |M_0 - I|^2 +
    own / 2 sum_t |M_t|^2. All matrices are positive semidefinite. The larger ``own``, the more similar are the metrics;
    the larger ``shared``, the nearer they are to the Euclidean metric, in the unit of distance in which its loss is
    smallest.

    Args:
        n_neighbors: number of target neighbours of each row; in smaller classes, all other rows.
        pull: weight of the target neighbours' distances.
        shared: weight of the distance of the common metric from the identity (gamma_0).
        own: weight of the metrics of single notions (gamma_t).
        margin: how much further off rows of other classes should be, in squared distance.
        descent: settings of the descent over factors of the matrices; None: ``Descent(max_iter=300, smoothing=0.1)``.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        objective_: list, the objective reached in each view.
        converged_: list, whether the descent converged before ``max_iter``.
        steps_: list of the numbers of steps.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, or a notion of fewer than two classes, or
            without a class of two rows.
    """

    name = "mt-lmnn"
    capabilities: ClassVar[Capabilities] = Capabilities(needs_labels=True, notions=True, adds_views=True)
    groups: ClassVar[Mapping[str, Any]] = {"descent": Descent(max_iter=300, smoothing=0.1)}

    objective_: list[float]
    converged_: list[bool]
    steps_: list[int]

    def __init__(
        self,
        n_neighbors: Count = 3,
        pull: Weight = 1.0,
        shared: Weight = 0.01,
        own: Weight = 0.01,
        margin: Positive = 1.0,
        descent: Descent | None = None,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.pull = pull
        self.shared = shared
        self.own = own
        self.margin = margin
        self.descent = descent
        self.view_slices = view_slices

    @property
    def n_iter_(self) -> int:
        """The number of steps of the view with the most steps."""
        return max(self.steps_)

    def _fit(self, views: list[Rows], supervision: Supervision) -> None:
        self.metric_names_: list[str] = (
            [] if supervision.notion_classes is None else [str(name) for name in supervision.notion_classes]
        )
        self.n_metrics_: int = max(len(self.metric_names_), 1)
        super()._fit(views, supervision)

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        present = supervision.mask[:, view]
        classes = {"": supervision.classes} if supervision.notion_classes is None else supervision.notion_classes
        if supervision.notion_classes is not None and [str(name) for name in classes] != self.metric_names_:
            raise ValueError(f"labels are in the notions {', '.join(classes)}, not {', '.join(self.metric_names_)}")
        labels = {name: np.asarray(values)[present] for name, values in classes.items()}
        return self._fit_tasks(views[view][present], labels)

    def _fit_tasks(self, rows: Rows, labels: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        mean = rows.mean(axis=0)
        centred = rows - mean
        scale = float(np.sqrt(np.mean(np.square(centred).sum(axis=1)))) or 1.0
        tasks = [_task(centred / scale, name, values, self.n_neighbors) for name, values in labels.items()]
        width = rows.shape[1]
        start = np.vstack([np.eye(width), np.zeros((len(tasks) * width, width))])
        unit = float(scaled(self._objective(tasks, 1.0, width, 0.0, 0.0), start)[0, 0])
        objective = self._objective(tasks, unit, width, self.shared, self.own)
        start = np.vstack([np.eye(width), *[_START * np.eye(width)] * len(tasks)])
        solution = descend(objective, start, cast(Descent, group(self, "descent")))
        factors = [_factor(metric.matrix) * unit / scale for metric in objective.metrics(solution.metric)]
        return {
            "weights_": np.vstack(factors),
            "means_": mean,
            "metric_widths_": [len(factor) for factor in factors],
            "objective_": solution.objective,
            "converged_": solution.converged,
            "steps_": solution.steps,
        }

    def _objective(
        self, tasks: Sequence[tuple[Rows, Targets]], unit: float, width: int, shared: float, own: float
    ) -> SharedMetric:
        losses = [
            Impostors(Differences(rows * unit), targets, self.margin, Regularizer(), LowRank(), self.pull)
            for rows, targets in tasks
        ]
        return SharedMetric(losses, width, shared, own)


def _task(rows: Rows, name: str, labels: NDArray[Any], neighbors: int) -> tuple[Rows, Targets]:
    """Return the rows with a class in a notion, and their target neighbours."""
    labelled = labels.astype(str) != ""
    try:
        return rows[labelled], Targets.nearest(rows[labelled], labels[labelled], neighbors)
    except ValueError as error:
        raise ValueError(f"notion {name!r}: {error}" if name else str(error)) from None


def _factor(matrix: Rows) -> Rows:
    """Return the (r, d) factor of a metric, r >= 1."""
    spectrum = Spectrum.of(matrix).positive()
    factor = spectrum.largest(max(spectrum.rank(_ROUNDING), 1)).factor()
    return factor if len(factor) else np.zeros((1, len(matrix)))
