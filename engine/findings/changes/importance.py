"""The importance of regions: a metric on the region distances of pairs of versions, learned from time and labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crossview.engine.findings.changes.monotony import Monotony
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import Constraints, quadruplets
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.objective import satisfied
from crossview.engine.learners.papers.losses.parameters import Full, Metric
from crossview.engine.learners.papers.losses.ranking import HingeRisk, RankingRisk
from crossview.engine.learners.papers.solvers.cutting_plane import cut
from crossview.engine.learners.papers.solvers.newton import Newton, diagonal_problem, minimize
from crossview.engine.values.changes import Form

WEIGHTS: Mapping[Form, Sequence[float]] = {
    "diagonal": (1e2, 1e3, 1e4, 1e5, 1e6, 1e7),
    "full": (1e0, 1e1, 1e2, 1e3, 1e4),
    "structural": (1e0, 1e1, 1e2, 1e3, 1e4),
}
"""Weights of the loss, C, to choose from: with a larger C, the norm counts less."""
LABELLED = 0.5
"""Share of the loss for labels, if there are any."""
_FOLDS = 3
_FEWEST = 20  # least number of held-out comparisons to choose a weight by
_TOLERANCE = 1e-2
_MOST_PLANES = 200


@dataclass(frozen=True, eq=False)
class Labels:
    """A person's labels of pairs.

    Attributes:
        regions: (m, g^2) region distances of the pairs.
        important: (m,) bool.
    """

    regions: Rows
    important: NDArray[np.bool_]

    @property
    def of_both_kinds(self) -> bool:
        """Whether there are pairs of both kinds; pairs of one kind give no constraint."""
        return bool(self.important.any() and not self.important.all())


@dataclass(frozen=True, eq=False)
class Importance:
    """A learned metric D^2 = c^T M c, c the square roots of a pair's region distances (equations 22 and 23).

    Attributes:
        matrix: (g^2, g^2) M, positive semidefinite, for unscaled region distances.
        form: "diagonal"; "full"; or "structural", full, learned from rankings.
        weight: C.
        order: share of held-out comparisons in order for the chosen C; None without held-out comparisons.
    """

    matrix: Rows
    form: Form
    weight: float
    order: float | None

    def distances(self, regions: Rows) -> Rows:
        """Return the (p,) squared distances of pairs from their (p, g^2) region distances."""
        roots = np.sqrt(regions)
        return np.asarray(np.einsum("pi,pi->p", roots @ self.matrix, roots))

    def weights(self) -> Rows:
        """Return the importance of each region, (g^2,), not negative and with sum 1 unless all are zero.

        For a diagonal metric these are its entries. For a full metric they are the diagonal of the nearest matrix of
        rank 1, the squares of the dominant eigenvector; figure 6 of the paper shows that vector's absolute values.
        """
        diagonal = self.form == "diagonal"
        weights = np.diag(self.matrix) if diagonal else np.square(np.linalg.eigh(self.matrix)[1][:, -1])
        total = weights.sum()
        return np.asarray(weights / total if total > 0 else weights)

    def shares(self, regions: Rows) -> Rows:
        """Return the contribution of each region to the squared distance of pairs, (p, g^2), which is their sum."""
        roots = np.sqrt(regions)
        return np.asarray(roots * (roots @ self.matrix))


def learn(
    regions: Rows,
    monotony: Monotony,
    form: Form = "diagonal",
    labels: Labels | None = None,
    *,
    weights: Sequence[float] | None = None,
    as_printed: bool = False,
) -> Importance:
    """Return the metric that agrees best with the quadruplets from time, and with labels.

    Each pair labelled as important must be farther apart than each unimportant pair by 2, which equations (20) and (21)
    state with a threshold. C is the value with which metrics of two thirds of the time put most quadruplets of A of the
    other third in order, each third in turn: the choice needs only time.

    A full M is learned in the coordinates of the diagonal metric, in which that metric is the identity. Its norm then
    counts most for uninformative regions, so that the thousands of entries of M do not restore what the diagonal metric
    suppresses.

    Args:
        regions: (p, g^2) region distances of ``monotony.pairs``.
        monotony: the quadruplets.
        form: the form of the metric.
        labels: labels of pairs, or none.
        weights: values of C to choose from, ascending; None: ``WEIGHTS``.
        as_printed: learn a full M in the coordinates of the regions, as in the paper.

    Raises:
        ValueError: if there are no quadruplets, or no two versions differ.
    """
    if not len(monotony):
        raise ValueError("too few versions are near each other in time")
    scale = float(regions.sum(axis=1).mean())
    if scale <= 0:
        raise ValueError("no two versions differ")
    usable = labels if labels is not None and labels.of_both_kinds else None
    rows = regions if usable is None else np.vstack([regions, usable.regions])
    constraints = _with(monotony.constraints(), usable, len(regions))
    folds = [(_with(learned, usable, len(regions)), held) for learned, held in _folds(monotony)]
    weights = WEIGHTS[form] if weights is None else weights
    problem = _Problem(rows / scale, constraints, folds)
    if form == "diagonal" or as_printed:
        metric, weight, order = problem.best(form, weights)
    else:
        _, inner, _ = problem.best("diagonal", WEIGHTS["diagonal"])
        metric, weight, order = problem.best(form, weights, inner)
    return Importance(metric / scale, form, weight, order)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Region distances and constraints of all pairs and of each two thirds, with the quadruplets of the rest."""

    regions: Rows
    constraints: Constraints
    folds: Sequence[tuple[Constraints, Constraints]]

    def best(
        self, form: Form, weights: Sequence[float], inner: float | None = None
    ) -> tuple[Rows, float, float | None]:
        """Return M of the best C, that C, and the share in order; ``inner`` is C of the diagonal metric."""
        weight, order = weights[0], None
        if len(weights) > 1 and self.folds:
            orders = [
                [
                    satisfied(Metric(matrix, None, matrix), self._features(), held)
                    for matrix in self._path(learned, form, weights, inner)
                ]
                for learned, held in self.folds
            ]
            weight, order = _simplest(weights, np.array(orders))
        (metric,) = self._path(self.constraints, form, [weight], inner)
        return metric, weight, order

    def _features(self, importance: Rows | float = 1.0) -> Differences:
        """Return the square roots of the region distances, below a row of zeros: pairs differ from it by themselves."""
        return Differences(np.vstack([np.zeros(self.regions.shape[1]), np.sqrt(self.regions * importance)]))

    def _path(
        self, constraints: Constraints, form: Form, weights: Sequence[float], inner: float | None = None
    ) -> list[Rows]:
        """Return M of several C."""
        if form == "diagonal":
            return _diagonal(self._features(), constraints, weights)
        if inner is None:
            return _full(self._features(), constraints, form, weights)
        (metric,) = _diagonal(self._features(), constraints, [inner])
        importance = np.sqrt(np.diag(metric) / (np.diag(metric).mean() or 1.0))
        roots = np.sqrt(importance)
        return [roots[:, None] * m * roots for m in _full(self._features(importance), constraints, form, weights)]


def _with(constraints: Constraints, labels: Labels | None, offset: int) -> Constraints:
    """Return the constraints on the rows after the zero row, and those of labels on the rows after ``offset`` more."""
    if labels is None:
        return constraints
    rows = 1 + offset + np.arange(len(labels.important))
    near, far = (grid.ravel() for grid in np.meshgrid(rows[~labels.important], rows[labels.important]))
    zero = np.zeros_like(near)
    own = quadruplets(np.column_stack([near, zero, far, zero]), margin=2.0)
    parts = [(constraints, 1 - LABELLED), (own, LABELLED)]
    return Constraints(
        near=np.concatenate([part.near for part, _ in parts]),
        far=np.concatenate([part.far for part, _ in parts]),
        margins=np.concatenate([part.margins for part, _ in parts]),
        weights=np.concatenate([share * part.weights / part.weights.sum() for part, share in parts]),
    )


def _folds(monotony: Monotony) -> list[tuple[Constraints, Constraints]]:
    """Return the quadruplets outside each third of the versions, and those of A inside it."""
    near, far = monotony.pairs[monotony.near], monotony.pairs[monotony.far]
    first, last = np.minimum(near, far).min(axis=1), np.maximum(near, far).max(axis=1)
    ends = np.linspace(0, monotony.pairs.max() + 1, _FOLDS + 1)
    folds = []
    for start, end in pairwise(ends):
        outside = np.flatnonzero((last < start) | (first >= end))
        inside = np.flatnonzero((first >= start) & (last < end) & (monotony.margins > 0))
        if min(len(outside), len(inside)) >= _FEWEST:
            held = monotony.take(inside).constraints()
            order = Constraints(held.near, held.far, np.zeros(len(held)), held.weights)
            folds.append((monotony.take(outside).constraints(), order))
    return folds


def _simplest(weights: Sequence[float], orders: Rows) -> tuple[float, float]:
    """Return the smallest C whose order is within one standard error of the best order, and its order.

    This is the usual rule of one standard error (Breiman and others, "Classification and Regression Trees", 1984).
    """
    means = orders.mean(axis=0)
    best = int(np.argmax(means))
    error = orders[:, best].std(ddof=1) / np.sqrt(len(orders)) if len(orders) > 1 else 0.0
    place = int(np.flatnonzero(means >= means[best] - error)[0])
    return weights[place], float(means[place])


def _diagonal(features: Differences, constraints: Constraints, weights: Sequence[float]) -> list[Rows]:
    metrics, start = [], None
    for weight in weights:
        solution = minimize(diagonal_problem(features.rows, constraints, weight, 1.0), Newton(tol=_TOLERANCE), start)
        start = solution.omega
        metrics.append(np.diag(solution.w))
    return metrics


def _full(features: Differences, constraints: Constraints, form: Form, weights: Sequence[float]) -> list[Rows]:
    risk = RankingRisk.of(constraints) if form == "structural" else HingeRisk.of(constraints)
    return [
        cut(features, risk, Full(), weight, tol=_TOLERANCE, max_iter=_MOST_PLANES).metric.matrix for weight in weights
    ]
