"""Large margin nearest neighbours."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.learners.base import Rows
from engine.learners.metrics.constraints import Constraints
from engine.learners.metrics.descent import Descent, Rule, descend
from engine.learners.metrics.fantope import Fantope, Form, Start
from engine.learners.metrics.features import Differences
from engine.learners.metrics.impostors import Impostors, Targets
from engine.learners.metrics.objective import Loss, Objective
from engine.learners.metrics.parameters import Parameters
from engine.learners.metrics.parts import scaled
from engine.learners.metrics.regularizer import Regularizer
from engine.learners.settings import Count, Dimensions, Positive, Steps, Weight


class LMNN(Fantope):
    """Learns one metric per view in which the nearest rows are of the same class, with any regulariser of Fantope's.

    Weinberger and Saul, "Distance Metric Learning for Large Margin Nearest Neighbor Classification" (JMLR 2009): each
    row pulls its k target neighbours, the nearest of its class before anything is learned, and pushes the rows of other
    classes a margin beyond them: ``pull`` times the mean of D(i, j) over target neighbours, plus the sum of
    [margin + D(i, j) - D(i, l)]_+ divided by their number. ``pull=1`` weighs both alike, as the paper's weight 1/2
    does. Law, Thome and Cord (CVPR 2014) add mu R(M) + gamma tr(M), as in
    :class:`~engine.learners.metrics.fantope.Fantope`.

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
        step: length of the first step, as a share of the length of the start.
        rule: "adaptive", "constant" or "sqrt" (see :class:`~engine.learners.metrics.descent.Descent`).
        max_iter: most steps.
        tol: stop when ten steps lower the objective by less than this share of it.
        check_every: steps between two searches for impostors among all rows.
        smoothing: the violation up to which adaptive steps see a smooth hinge at first, in squared distance.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        rank_: list, the rank of each view's metric, which is the width of its embeddings (1 for a metric of zero).
        full_rank_: list, its rank before the cut, counted above 1e-6 of the largest eigenvalue.
        objective_: list of the objectives reached.
        history_: list of arrays, the objective after every step.
        converged_: list, did the descent stop by itself?
        steps_: list of the numbers of steps taken.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, or classes that tell nothing apart.
    """

    name = "lmnn"

    solver = "alternate"
    patience = None
    upper, lower = 0.5, 1.5

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
        step: Positive = 0.1,
        rule: Rule = "adaptive",
        max_iter: Steps = 1000,
        tol: Weight = 1e-4,
        check_every: Count = 10,
        smoothing: Weight = 0.1,
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
        self.step = step
        self.rule = rule
        self.max_iter = max_iter
        self.tol = tol
        self.check_every = check_every
        self.smoothing = smoothing
        self.view_slices = view_slices

    def _fit_view(self, rows: Rows, labels: NDArray[Any] | None, view: int) -> dict[str, Any]:
        return self._fit_rows(rows, Targets.nearest(rows, np.asarray(labels), self.n_neighbors), None)

    def _objective(
        self, features: Differences, said: Constraints | Targets, regularizer: Regularizer, parameters: Parameters
    ) -> Loss:
        near = said.pairs if isinstance(said, Targets) else np.unique(said.near, axis=0)
        pull = features.scatter(near, np.full(len(near), self.pull / len(near)))
        pulled = replace(regularizer, linear=pull)
        if isinstance(said, Targets):
            return Impostors(features, said, self.margin, pulled, parameters)
        return Objective(features, said, pulled, parameters)

    def _begin(self, convex: Loss, theta: Rows, how: Descent) -> Rows:
        start = scaled(convex, theta)  # under a metric far too small every row is an impostor of every other
        # R holds down the directions that are smallest when it sets in, so those must have been learned by then.
        return descend(convex, start, how).metric.theta if self.mu > 0 else start
