"""Large margin nearest neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import Taxonomy
from crossview.engine.learners.frame.settings import Count, Dimensions, Positive, Seed, Weight, drawn_seed, group
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.frame.view_rows import Rows, present_rows
from crossview.engine.learners.papers.losses.constraints import Bounds, Constraints, quadruplets
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.impostors import Impostors, Targets
from crossview.engine.learners.papers.losses.objective import Evaluation, Loss, Objective
from crossview.engine.learners.papers.losses.parameters import Form, Metric, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.metrics.learner import MetricLearner, fitted_metric
from crossview.engine.learners.papers.metrics.regularized import (
    DescentStart,
    MetricSettings,
    Start,
    descent_start,
    factor_and_attributes,
)
from crossview.engine.learners.papers.metrics.training_constraints import (
    ConstraintSettings,
    Hierarchy,
    from_comparisons,
    rows_of_leaves,
)
from crossview.engine.learners.papers.samplers.relatives import Relatives
from crossview.engine.learners.papers.solvers.descent import Descent, descend
from crossview.engine.learners.papers.solvers.growing_subsets import descend_over_growing_subsets, scaled
from crossview.engine.learners.papers.solvers.threshold import between


@dataclass(frozen=True)
class _Evaluations(Evaluation):
    """The value of the sum, and the evaluations of its parts, which contain the constraints."""

    parts: tuple[Evaluation, ...]


class WeightedSum:
    """A sum of losses of one metric, each times a weight, with the regulariser of the first loss, whose weight is 1.

    It is a :class:`~engine.learners.papers.losses.objective.Loss` itself, so a descent treats it like a single loss.

    Args:
        first: the loss with the regulariser of the sum.
        weighted: losses without a regulariser, with their weights.
    """

    def __init__(self, first: Loss, weighted: Sequence[tuple[float, Loss]]) -> None:
        self._losses = [first, *(loss for _, loss in weighted)]
        self._weights = [1.0, *(weight for weight, _ in weighted)]
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


@dataclass(frozen=True)
class Kinship:
    """The target neighbours of rows, and the constraints that a tree of their classes adds.

    Attributes:
        targets: target neighbours by the classes alone.
        cousins: the same neighbours, with only cousins as impostors.
        beyond: weight of the loss of the cousins.
        quadruplets: the drawn quadruplets, with the weight of each kind.
    """

    targets: Targets
    cousins: Targets
    beyond: float
    quadruplets: Sequence[tuple[float, NDArray[np.int64]]]

    @classmethod
    def drawn(
        cls,
        rows: Rows,
        labels: NDArray[np.generic],
        taxonomy: Taxonomy,
        targets: Targets,
        how: Hierarchy,
        generator: np.random.Generator,
    ) -> "Kinship":
        """Return the constraints of a tree on rows, (n, d), whose classes, (n,), are leaves; ValueError as
        ``Relatives``."""
        relatives = Relatives(rows, labels, taxonomy, how.near)
        kinds = (
            (how.siblings, relatives.same_and_siblings(how.n_quadruplets, generator)),
            (how.cousins, relatives.siblings_and_cousins(how.n_quadruplets, generator)),
        )
        weighted = [(weight, items) for weight, items in kinds if weight and len(items)]
        cousins = Targets(targets.neighbors, taxonomy.families[taxonomy.positions(labels.astype(str).tolist())])
        return cls(targets, cousins, how.beyond, weighted)

    def losses(self, features: Differences, parameters: Parameters, margin: float) -> list[tuple[float, Loss]]:
        """Return the losses to add to the loss of the classes, with their weights."""
        losses: list[tuple[float, Loss]] = [
            (weight, Objective(features, quadruplets(items, margin), Regularizer(), parameters))
            for weight, items in self.quadruplets
        ]
        if self.beyond and len(np.unique(self.cousins.classes)) > 1:
            losses.append((self.beyond, Impostors(features, self.cousins, 2 * margin, Regularizer(), parameters)))
        return losses


LearnedFrom = Constraints | Targets | Kinship
"""The supervision of a view's metric: constraints, target neighbours, or target neighbours with a tree of classes."""


@dataclass(eq=False, repr=False)
class LMNN(MetricLearner):
    """One metric per view, in which the nearest rows are of the same class, with any regulariser of Fantope.

    Weinberger and Saul, "Distance Metric Learning for Large Margin Nearest Neighbor Classification" (JMLR 2009): each
    row pulls its k target neighbours, the nearest of its class before the fit, and pushes the rows of other classes a
    margin beyond them. The loss is ``pull`` times the mean of D(i, j) over target neighbours, plus the sum of [margin +
    D(i, j) - D(i, l)]_+ divided by their number. ``pull=1`` weighs both equally, as the paper's weight 1/2 does. Law,
    Thome and Cord (CVPR 2014) add mu R(M) + gamma tr(M), as in
    :class:`~engine.learners.papers.metrics.fantope.Fantope`.

    A tree of classes adds the mean hinge of quadruplets: rows of a class are nearer than rows of sibling classes, and
    rows of siblings are nearer than rows of other classes, cousins (Law, Thome and Cord, "Learning a Distance Metric
    from Relative Comparisons between Quadruplets of Images", IJCV 2017, section 6.1). Both together require cousins to
    be two margins beyond the target neighbours, which the learner checks for all rows. It leaves out rows whose class
    is not a leaf.

    With explicit triplets, the loss is the mean over them, and the pairs that should be near are the target neighbours.

    Args:
        n_components: with mu > 0, the rank to lead to; also the number of rows of L with ``form="low-rank"``, and the
            number of components of the PCA start.
        n_neighbors: number of target neighbours of each row (k); in smaller classes, all other rows.
        pull: weight of the pull.
        mu: weight of R, the sum of all but the largest ``n_components`` eigenvalues.
        gamma: weight of the trace.
        frobenius: weight of the squared Frobenius norm (lambda).
        margin: how much further off rows of other classes should be, in squared distance.
        form: the parameters that gradient steps move: "factor", an L as wide as the rows, which comes nearer to the
            minimum than as many steps on M; "full", M; "diagonal"; or "low-rank", an L of ``n_components`` rows.
        start: "pca" or "identity"; either is scaled to the loss, and with mu > 0 the learner first descends from it
            without R.
        descent: settings of the descent, which checks all rows for impostors; None: ``Descent(max_iter=300,
            smoothing=0.1)``.
        hierarchy: weights of a tree of classes; None: ``Hierarchy()``.
        random_state: seed of the draws of quadruplets.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        rank_: list, the rank of each view's metric, which is the width of its embeddings (1 for a metric of zero).
        full_rank_: list, the rank before the cut, counted above 1e-6 of the largest eigenvalue.
        objective_: list of the objectives reached.
        history_: list of arrays, the objective after every step.
        converged_: list, whether the descent converged before ``max_iter``.
        steps_: list of the numbers of steps.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes, or no class of
            two rows.
    """

    name = "lmnn"

    groups: ClassVar[Mapping[str, Any]] = {
        "descent": Descent(max_iter=300, smoothing=0.1),
        "hierarchy": Hierarchy(),
    }

    rank_: list[int] = field(init=False)
    full_rank_: list[int] = field(init=False)
    objective_: list[float] = field(init=False)
    history_: list[NDArray[np.float64]] = field(init=False)
    converged_: list[bool] = field(init=False)

    n_components: Dimensions = 32
    n_neighbors: Count = 3
    pull: Weight = 1.0
    mu: Weight = 0.0
    gamma: Weight = 0.0
    frobenius: Weight = 0.0
    margin: Positive = 1.0
    form: Form = "factor"
    start: Start = "pca"
    descent: Descent | None = None
    hierarchy: Hierarchy | None = None
    random_state: Seed = 0
    view_slices: Sequence[int] | None = None

    def _constraint_settings(self) -> ConstraintSettings:
        return ConstraintSettings(bounds=Bounds(self.margin), seed=drawn_seed(self.random_state))

    def _fit_view(self, views: list[Rows], supervision: Supervision, view: int) -> dict[str, Any]:
        how = self._constraint_settings()
        if supervision.comparisons is not None:
            return self._fit_rows(*from_comparisons(views, supervision, supervision.comparisons, view, how))
        if supervision.taxonomy is None:
            rows, labels = present_rows(views, supervision, view)
            return self._fitted(rows, Targets.nearest(rows, np.asarray(labels), self.n_neighbors))
        rows, labels = rows_of_leaves(views, supervision, supervision.taxonomy, view)
        targets = Targets.nearest(rows, labels, self.n_neighbors)
        hierarchy = cast(Hierarchy, group(self, "hierarchy"))
        kinship = Kinship.drawn(rows, labels, supervision.taxonomy, targets, hierarchy, how.generator(view))
        return self._fitted(rows, kinship)

    def _fit_rows(self, rows: Rows, constraints: Constraints, validation: Constraints | None) -> dict[str, Any]:
        return self._fitted(rows, constraints, between(constraints))

    def _fitted(self, rows: Rows, source: LearnedFrom, threshold: float | None = None) -> dict[str, Any]:
        how = cast(Descent, group(self, "descent"))
        settings = MetricSettings(
            rank=self.n_components,
            mu=self.mu,
            gamma=self.gamma,
            frobenius=self.frobenius,
            form=self.form,
            start=self.start,
        )

        def learn(scaled_rows: Rows) -> tuple[Rows, dict[str, Any]]:
            metric = descent_start(scaled_rows, settings)
            loss = partial(large_margin_loss, metric, source, self.margin, self.pull)
            convex = loss(metric.convex)
            # Under a metric that is far too small, every row is an impostor of every other row.
            theta = scaled(convex, metric.theta)
            if self.mu > 0:
                # R suppresses the directions that are smallest when it starts, so the directions must be learned first.
                theta = descend(convex, theta, how).metric.theta
            return factor_and_attributes(metric, descend_over_growing_subsets(loss(metric.regularizer), theta, how))

        return fitted_metric(rows, learn, threshold)


def large_margin_loss(
    metric: DescentStart, source: LearnedFrom, margin: float, pull: float, regularizer: Regularizer
) -> Loss:
    """Return the loss of target neighbours and impostors, with or without a tree of classes, or of given triplets."""
    features, parameters = metric.features, metric.parameters
    if isinstance(source, Kinship):
        of_classes = large_margin_loss(metric, source.targets, margin, pull, regularizer)
        return WeightedSum(of_classes, source.losses(features, parameters, margin))
    if isinstance(source, Targets):
        return Impostors(features, source, margin, regularizer, parameters, pull)
    near = np.unique(source.near, axis=0)
    pulled = features.scatter(near, np.full(len(near), pull / len(near)))
    return Objective(features, source, replace(regularizer, linear=pulled), parameters)
