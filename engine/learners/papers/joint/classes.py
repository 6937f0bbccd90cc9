"""Large margin nearest neighbours in several notions: the constraints of class labels on the metric of each notion."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.papers.joint.comparison_loss import Notions
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Learned, learn, main_directions, shares_of
from crossview.engine.learners.papers.joint.objectives import Features, Inputs, balanced
from crossview.engine.learners.papers.joint.shared_metric import TaskEvaluation
from crossview.engine.learners.papers.losses.constraints import Constraints
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.impostors import Impostors, Targets
from crossview.engine.learners.papers.losses.objective import Evaluation, Loss
from crossview.engine.learners.papers.losses.parameters import LowRank, Metric, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.solvers.descent import Descent, descend
from crossview.engine.learners.papers.solvers.growing_subsets import scaled
from crossview.engine.learners.subspace.pca import principal_components
from crossview.engine.runtime.cancellation import checkpoint

_SMOOTHING = 0.1  # violation up to which the hinge is smooth at first
_ROUGH = 1e-4  # the descent ends when ten steps lower the objective by less than this share
Triplets = NDArray[np.int64]

_ROUNDS = 12  # maximum number of searches for impostors
_NEAREST = 10  # number of nearest rows of other classes that each row pushes at first
_AT_ONCE = 30  # maximum number of nearest impostors that one search adds per row and target neighbour
_FEW = 0.02  # the search ends when new impostors are fewer than this share of the known ones


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
    factors = [main_directions(common @ factor) for factor in local]
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
            factors = [np.ascontiguousarray(factor.T @ common.T) for factor in local]
            self._latest = metric, [Metric(factor, factor) for factor in factors]
        return self._latest[1]

    def evaluate(self, metric: Metric) -> TaskEvaluation:
        """Return the objective over the active constraints of all losses."""
        evaluations = tuple(task.evaluate(own) for task, own in zip(self._tasks, self.metrics(metric), strict=True))
        value = float(self._shares @ [evaluation.value for evaluation in evaluations]) + self._penalty(metric)
        return TaskEvaluation(value, np.empty(0, np.int64), np.empty(0), evaluations)

    def recheck(self, metric: Metric) -> int:
        """Check all constraints of all losses, and return the number of violated ones that were not active before."""
        return sum(task.recheck(own) for task, own in zip(self._tasks, self.metrics(metric), strict=True))

    def gradient(self, metric: Metric, evaluation: Evaluation) -> Rows:
        """Return a subgradient with respect to the parameters."""
        tasks = cast(TaskEvaluation, evaluation).tasks  # what ``evaluate`` of this class returned
        common, local = self.unpacked(metric.theta)
        slopes = [
            share * task.gradient(own, value)
            for share, task, own, value in zip(self._shares, self._tasks, self.metrics(metric), tasks, strict=True)
        ]
        of_common = sum(slope.T @ factor.T for slope, factor in zip(slopes, local, strict=True))
        of_local = np.stack([(slope @ common).T for slope in slopes])
        return self.packed(np.asarray(of_common), of_local) + 2 * self._alpha * metric.theta

    def exact(self, metric: Metric) -> float:
        """Return the objective over all constraints, with the hinge itself."""
        losses = [task.exact(own) for task, own in zip(self._tasks, self.metrics(metric), strict=True)]
        return float(self._shares @ losses) + self._penalty(metric)

    def _penalty(self, metric: Metric) -> float:
        return self._alpha * float(np.square(metric.theta).sum())


@dataclass(frozen=True, eq=False)
class _LabelledNotion:
    """Rows with a class in one notion, by position, and their classes and target neighbours."""

    members: NDArray[np.int64]
    targets: Targets

    @property
    def classes(self) -> NDArray[np.int64]:
        return self.targets.classes

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """(m, 2) rows and their target neighbours."""
        return self.targets.pairs


@dataclass(frozen=True, eq=False)
class Classes:
    """Class labels of rows in T notions, to learn from as in large margin nearest neighbours.

    Weinberger and Saul (JMLR 2009), and for several tasks Parameswaran and Weinberger (NIPS 2010): the mean over the
    pairs (i, j) of a row and a target neighbour of ``pull`` D(i, j) plus the sum of [margin + D(i, j) - D(i, l)]_+ over
    rows l of other classes. The loss only contains rows l that were impostors in some round, so triplets without effect
    are never listed.
    """

    notions: Sequence[_LabelledNotion]
    rows: Rows
    pull: float
    margin: float

    @classmethod
    def of(cls, rows: Rows, labels: Mapping[str, NDArray[Any]], neighbors: int, pull: float, margin: float) -> Self:
        """Return the classes of (n, H) rows, with the nearest of these rows as target neighbours.

        Args:
            rows: (n, H).
            labels: (n,) by notion; with several notions, an empty label means no class.
            neighbors: number of target neighbours of each row.
            pull: weight of the pull.
            margin: in squared distance.

        Raises:
            ValueError: if in a notion no class has two rows, or there is only one class.
        """
        notions = []
        for name, of_rows in labels.items():
            labelled = (of_rows.astype(str) != "") | (len(labels) == 1 and name == "")
            members = np.flatnonzero(labelled).astype(np.int64)
            try:
                targets = Targets.nearest(rows[members], of_rows[members], neighbors)
            except ValueError as error:
                raise ValueError(f"notion {name!r}: {error}" if name else str(error)) from error
            notions.append(_LabelledNotion(members, targets))
        return cls(notions, rows, pull, margin)

    @property
    def totals(self) -> NDArray[np.float64]:
        """(T,) numbers of target neighbours in each notion."""
        return np.array([len(notion.pairs) for notion in self.notions], float)

    def learn(self, inputs: Inputs, how: JointSettings) -> Learned:
        """Return the metrics learned from the classes, in rounds with searches for impostors between them.

        Over a common map of rows, the descent itself searches for impostors, which is many times faster.
        """
        if how.sharing == "joint" and isinstance(inputs, Features):
            notions = [(inputs.rows[notion.members], notion.targets) for notion in self.notions]
            return learn_over_map(inputs, notions, shares_of(self.totals, how.balance), self.margin, self.pull, how)
        pushes = [_nearest_others(self.rows[notion.members], notion) for notion in self.notions]
        learned = learn(inputs, self._constrained(pushes), how)
        for _ in range(_ROUNDS - 1):
            factors = learned.factors if how.sharing != "pooled" else learned.factors * len(self.notions)
            more = [
                _impostors(inputs.project(factor)[notion.members], notion, self.margin)
                for factor, notion in zip(factors, self.notions, strict=True)
            ]
            joined = [np.unique(np.vstack(both), axis=0) for both in zip(pushes, more, strict=True)]
            before, after = sum(map(len, pushes)), sum(map(len, joined))
            if after - before <= _FEW * before:
                break
            pushes = joined
            learned = learn(inputs, self._constrained(pushes), how, learned)
        return learned

    def _constrained(self, pushes: Sequence[Triplets]) -> Notions:
        """Return pulls and pushes as constraints: a pull costs its distance, the excess over an upper bound of zero."""
        near, far, margins, weights, codes = [], [], [], [], []
        for code, (notion, triplets) in enumerate(zip(self.notions, pushes, strict=True)):
            pulled, pushed = notion.members[notion.pairs], notion.members[triplets]
            near += [pulled, pushed[:, :2]]
            far += [pulled[:, [0, 0]], pushed[:, [0, 2]]]
            margins += [np.zeros(len(pulled)), np.full(len(pushed), self.margin)]
            weights += [np.full(len(pulled), self.pull), np.ones(len(pushed))]
            codes.append(np.full(len(pulled) + len(pushed), code))
        constraints = Constraints(*map(np.concatenate, (near, far, margins, weights)))
        return Notions(constraints, np.concatenate(codes), len(self.notions), self.totals)


def _nearest_others(rows: Rows, notion: _LabelledNotion) -> Triplets:
    """Return a triplet of each row, a target neighbour and each of the nearest rows of other classes."""
    return _listed(notion, _others(rows, notion), np.full(len(notion.pairs), np.inf), _NEAREST)


def _impostors(rows: Rows, notion: _LabelledNotion, margin: float) -> Triplets:
    """Return the triplets of a row, a target neighbour and the rows of other classes within the margin beyond it."""
    near = np.square(rows[notion.pairs[:, 0]] - rows[notion.pairs[:, 1]]).sum(axis=1)
    return _listed(notion, _others(rows, notion), near + margin, _AT_ONCE)


def _others(rows: Rows, notion: _LabelledNotion) -> Iterator[tuple[slice, Rows]]:
    """Yield slices of the pairs, and squared distances of their first rows to all rows, infinite to rows of the same
    class."""
    for part in slices(len(notion.pairs), len(rows)):
        checkpoint()
        anchors = notion.pairs[part, 0]
        gaps = cdist(rows[anchors], rows, "sqeuclidean")
        gaps[notion.classes[anchors][:, None] == notion.classes] = np.inf
        yield part, gaps


def _listed(notion: _LabelledNotion, blocks: Iterator[tuple[slice, Rows]], reach: Rows, most: int) -> Triplets:
    """Return the triplets of pairs and the rows within their reach, at most the ``most`` nearest rows of each pair."""
    triplets = [np.zeros((0, 3), np.int64)]
    for part, gaps in blocks:
        count = min(most, gaps.shape[1])
        nearest = np.argpartition(gaps, count - 1, axis=1)[:, :count]
        inside = np.take_along_axis(gaps, nearest, axis=1) < reach[part, None]
        pairs, places = np.nonzero(inside)
        triplets.append(np.column_stack([notion.pairs[part][pairs], nearest[pairs, places]]))
    return np.concatenate(triplets)
