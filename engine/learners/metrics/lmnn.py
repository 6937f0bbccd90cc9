"""Large margin nearest neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.base import Rows
from crossview.engine.learners.comparisons import Taxonomy
from crossview.engine.learners.metrics.constraints import Constraints
from crossview.engine.learners.metrics.descent import Descent, descend
from crossview.engine.learners.metrics.fantope import Fantope, Form, Start
from crossview.engine.learners.metrics.features import Differences
from crossview.engine.learners.metrics.growing_subsets import scaled
from crossview.engine.learners.metrics.hierarchy import Kinship
from crossview.engine.learners.metrics.impostors import Impostors, Targets
from crossview.engine.learners.metrics.objective import Loss, Objective
from crossview.engine.learners.metrics.options import Bounds, Hierarchy, Sampling, Stopping
from crossview.engine.learners.metrics.parameters import Parameters
from crossview.engine.learners.metrics.regularizer import Regularizer
from crossview.engine.learners.metrics.weighted_sum import WeightedSum
from crossview.engine.learners.settings import Count, Dimensions, Positive, Seed, Weight, group


class LMNN(Fantope):
    """Learns one metric per view in which the nearest rows are of the same class, with any regulariser of Fantope's.

    Weinberger and Saul, "Distance Metric Learning for Large Margin Nearest Neighbor Classification" (JMLR 2009): each
    row pulls its k target neighbours, the nearest of its class before anything is learned, and pushes the rows of other
    classes a margin beyond them: ``pull`` times the mean of D(i, j) over target neighbours, plus the sum of
    [margin + D(i, j) - D(i, l)]_+ divided by their number. ``pull=1`` weighs both alike, as the paper's weight 1/2
    does. Law, Thome and Cord (CVPR 2014) add mu R(M) + gamma tr(M), as in
    :class:`~engine.learners.metrics.fantope.Fantope`.

    From a tree of classes it learns the same, and by the mean hinge of quadruplets that rows of a class are nearer than
    rows of sibling classes, and rows of siblings nearer than rows of other classes, cousins (Law, Thome and Cord,
    "Learning a Distance Metric from Relative Comparisons between Quadruplets of Images", IJCV 2017, section 6.1). Both
    together ask that cousins are two margins beyond the target neighbours, which is looked at for all rows. What is of
    no leaf is left out.

    From explicit triplets the loss is the mean over them, and the pairs that should be near are the target neighbours.

    Args:
        n_components: the rank to lead to where mu > 0; also the rows of L where ``form="low-rank"`` and the components
            of the PCA start.
        n_neighbors: target neighbours of each row (k); a class of fewer rows gives all of them.
        pull: weight of the pull.
        mu: weight of R, the sum of all but the largest ``n_components`` eigenvalues.
        gamma: weight of the trace.
        frobenius: weight of the squared Frobenius norm (lambda).
        margin: by how much others are to be further off, in squared distance.
        form: "factor", gradient steps on an L as wide as the rows, which come nearer to the minimum than as many on M;
            "full", on M; "diagonal"; or "low-rank", on an L of ``n_components`` rows.
        start: "pca" or "identity"; either is scaled to the loss, and with mu > 0 it is first descended from without R.
        descent: how to descend, checking for impostors among all rows; None: ``Descent(max_iter=300, smoothing=0.1)``.
        hierarchy: how much a tree of classes counts; None: ``Hierarchy()``.
        random_state: seeds the draws of quadruplets.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        rank_: list, the rank of each view's metric, which is the width of its embeddings (1 for a metric of zero).
        full_rank_: list, its rank before the cut, counted above 1e-6 of the largest eigenvalue.
        objective_: list of the objectives reached.
        history_: list of arrays, the objective after every step.
        converged_: list, did the descent stop by itself?
        steps_: list of the numbers of steps taken.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes, or
            none of two rows.
    """

    name = "lmnn"

    groups: ClassVar[Mapping[str, Any]] = {
        "descent": Descent(max_iter=300, smoothing=0.1),
        "hierarchy": Hierarchy(),
    }
    solver = "alternate"
    _sampling, _stopping = Sampling(), Stopping()

    def __init__(
        self,
        n_components: Dimensions = 32,
        n_neighbors: Count = 3,
        pull: Weight = 1.0,
        mu: Weight = 0.0,
        gamma: Weight = 0.0,
        frobenius: Weight = 0.0,
        margin: Positive = 1.0,
        form: Form = "factor",
        start: Start = "pca",
        descent: Descent | None = None,
        hierarchy: Hierarchy | None = None,
        random_state: Seed = 0,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.pull = pull
        self.mu = mu
        self.gamma = gamma
        self.frobenius = frobenius
        self.margin = margin
        self.form = form
        self.start = start
        self.descent = descent
        self.hierarchy = hierarchy
        self.random_state = random_state
        self.view_slices = view_slices

    @property
    def _bounds(self) -> Bounds:
        return Bounds(self.margin)

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        return self._fit_rows(rows, Targets.nearest(rows, np.asarray(labels), self.n_neighbors), None)

    def _fit_relatives(self, rows: Rows, labels: NDArray[Any], taxonomy: Taxonomy, view: int) -> dict[str, Any]:
        targets = Targets.nearest(rows, labels, self.n_neighbors)
        generator = np.random.default_rng([self.random_state, view])
        how = cast(Hierarchy, group(self, "hierarchy"))
        return self._fit_rows(rows, Kinship.drawn(rows, labels, taxonomy, targets, how, generator), None)

    def _objective(
        self,
        features: Differences,
        constraints: Constraints | Targets | Kinship,
        regularizer: Regularizer,
        parameters: Parameters,
    ) -> Loss:
        if isinstance(constraints, Kinship):
            of_classes = self._objective(features, constraints.targets, regularizer, parameters)
            return WeightedSum(of_classes, constraints.losses(features, parameters, self.margin))
        if isinstance(constraints, Targets):
            return Impostors(features, constraints, self.margin, regularizer, parameters, self.pull)
        near = np.unique(constraints.near, axis=0)
        pull = features.scatter(near, np.full(len(near), self.pull / len(near)))
        return Objective(features, constraints, replace(regularizer, linear=pull), parameters)

    def _begin(self, convex: Loss, theta: Rows, how: Descent) -> Rows:
        start = scaled(convex, theta)  # under a metric far too small every row is an impostor of every other
        # R holds down the directions that are smallest when it sets in, so those must have been learned by then.
        return descend(convex, start, how).metric.theta if self.mu > 0 else start
