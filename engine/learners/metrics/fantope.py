"""Metrics of a rank that is asked for: Fantope regularisation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.learners.base import Rows
from engine.learners.metrics.admm import Multipliers, alternate
from engine.learners.metrics.constraints import Constraints
from engine.learners.metrics.descent import Descent, Rule, Solution, Watch, descend, plain
from engine.learners.metrics.features import Differences
from engine.learners.metrics.learner import MetricLearner
from engine.learners.metrics.objective import Loss, Objective, satisfied
from engine.learners.metrics.parameters import Diagonal, Full, LowRank, Parameters
from engine.learners.metrics.parts import descend_by_parts
from engine.learners.metrics.regularizer import Regularizer
from engine.learners.settings import Between, Count, Dimensions, OneView, Positive, Seed, Steps, Weight
from engine.learners.subspace.pca import principal_components

Form = Literal["full", "diagonal", "factor", "low-rank"]
Start = Literal["pca", "identity"]
FORMS: Mapping[Form, Callable[[], Parameters]] = {
    "full": Full,
    "diagonal": Diagonal,
    "factor": LowRank,
    "low-rank": LowRank,
}
_ROUNDING = 1e-12  # an eigenvalue below this share of the largest is none


class Fantope(MetricLearner):
    """Learns one metric per view from comparisons of distances, and leads its rank to the one asked for.

    Law, Thome and Cord, "Fantope Regularization in Metric Learning" (CVPR 2014): the mean hinge loss of constraints
    D(k, l) >= D(i, j) + margin, plus mu R(M) + gamma tr(M) + lambda / 2 |M|^2, where R(M) is the sum of all but the
    largest ``n_components`` eigenvalues. ``mu=0`` leaves R out, so trace, Frobenius and no regularisation are settings.
    With mu > 0 the metric's rank is exactly at most ``n_components`` in the end: what the descent leaves of the smaller
    eigenvalues is cut off.

    Args:
        n_components: the rank to lead to, at most the columns of a view; also the rows of L where ``form="low-rank"``
            and the components of the PCA start.
        mu: weight of R, the sum of all but the largest ``n_components`` eigenvalues.
        gamma: weight of the trace.
        frobenius: weight of the squared Frobenius norm (lambda).
        constraints: what ``fit`` draws from the classes: "triplets", "quadruplets" or "pairs".
        n_constraints: how many it draws for a view.
        neighbors: draw only among so many nearest rows of the same and of other classes; None: among all.
        similar: "labels"; or "knn", without labels: an item is similar to its ``neighbors`` (None: 10) nearest in the
            view ``neighbor_view``, and to none beyond.
        neighbor_view: the view that neighbours are near in; None: each view's own rows.
        margin: of triplets and quadruplets, in squared distance.
        upper: largest squared distance of similar pairs.
        lower: smallest squared distance of dissimilar pairs.
        form: what takes gradient steps: "full", M; "diagonal", its diagonal; "factor", an L as wide as the rows, which
            is no longer convex but often descends faster; or "low-rank", an L of the target rank.
        start: "pca", M = L^T L with the leading principal directions as the rows of L; or "identity".
        solver: "alternate", Algorithm 1; or "admm", Algorithm 2, for full matrices, from where as many steps without R
            lead.
        rho: ADMM's penalty.
        step: length of the first step, as a share of the length of the start.
        rule: "adaptive", "constant" or "sqrt" (see :class:`~engine.learners.metrics.descent.Descent`).
        max_iter: most steps; of ADMM most outer steps.
        tol: stop when ten steps lower the objective by less than this share of it.
        check_every: steps between two checks of all constraints.
        smoothing: the violation up to which adaptive steps see a smooth hinge at first, in squared distance; 0: the
            hinge itself throughout.
        patience: stop after so many checks without a larger share of satisfied validation constraints; None: fit until
            the objective stops falling.
        validation_fraction: how many more constraints ``fit`` draws to stop by, as a share of ``n_constraints``; of
            given ones, the share that it stops by.
        random_state: seeds the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        rank_: list, the rank of each view's metric, which is the width of its embeddings (1 for a metric of zero).
        full_rank_: list, its rank before the cut, counted above 1e-6 of the largest eigenvalue.
        objective_: list of the objectives reached.
        history_: list of arrays, the objective after every step; with 32,768 constraints or more, first over parts.
        converged_: list, did the descent stop by itself?
        steps_: list of the numbers of steps taken, outer ones of ADMM.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, or classes that tell nothing apart.
    """

    name = "fantope"

    rank_: list[int]
    full_rank_: list[int]
    objective_: list[float]
    history_: list[NDArray[np.float64]]
    converged_: list[bool]
    steps_: list[int]

    def __init__(
        self,
        n_components: Dimensions = 32,
        mu: Weight = 0.01,
        gamma: Weight = 0.0,
        frobenius: Weight = 0.0,
        constraints: Literal["triplets", "quadruplets", "pairs"] = "triplets",
        n_constraints: Annotated[int, Between(1, 10_000_000)] = 10_000,
        neighbors: Count | None = None,
        similar: Literal["labels", "knn"] = "labels",
        neighbor_view: OneView | None = None,
        margin: Weight = 1.0,
        upper: Weight = 0.5,
        lower: Weight = 1.5,
        form: Form = "full",
        start: Start = "pca",
        solver: Literal["alternate", "admm"] = "alternate",
        rho: Positive = 1.0,
        step: Positive = 0.1,
        rule: Rule = "adaptive",
        max_iter: Steps = 500,
        tol: Weight = 1e-4,
        check_every: Count = 10,
        smoothing: Weight = 1.0,
        patience: Count | None = None,
        validation_fraction: Annotated[float, Between(0.001, 0.999)] = 0.2,
        random_state: Seed = 0,
        view_slices: Sequence[int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.gamma = gamma
        self.frobenius = frobenius
        self.constraints = constraints
        self.n_constraints = n_constraints
        self.neighbors = neighbors
        self.similar = similar
        self.neighbor_view = neighbor_view
        self.margin = margin
        self.upper = upper
        self.lower = lower
        self.form = form
        self.start = start
        self.solver = solver
        self.rho = rho
        self.step = step
        self.rule = rule
        self.max_iter = max_iter
        self.tol = tol
        self.check_every = check_every
        self.smoothing = smoothing
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.view_slices = view_slices

    @property
    def needs_labels(self) -> bool:
        """Whether ``fit`` needs class labels: nearest neighbours in a view are similar without any."""
        return self.similar != "knn"

    @property
    def n_iter_(self) -> int:
        """The steps taken, of the view that took most."""
        return max(self.steps_)

    def _learn(
        self, rows: Rows, constraints: Constraints, validation: Constraints | None
    ) -> tuple[Rows, dict[str, Any]]:
        self._check_parameters()
        features = Differences(rows)
        rank = min(self.n_components, rows.shape[1])
        watch: Watch | None = None
        if self.patience is not None:
            if validation is None:
                raise ValueError("patience needs validation constraints to stop by")
            held = validation
            features.check(int(max(held.near.max(), held.far.max())))

            def watch(metric: Any) -> float:
                return satisfied(metric, features, held)

        solution = self._solve(features, constraints, self._start(rows, rank), rank, watch)
        spectrum = solution.metric.spectrum.positive()
        most = rank if self.mu > 0 or self.form == "low-rank" else rows.shape[1]
        factor = spectrum.largest(min(most, spectrum.rank(_ROUNDING))).factor()
        if not len(factor):
            factor = np.zeros((1, rows.shape[1]))
        return factor, {"rank_": len(factor), "full_rank_": spectrum.rank(), **plain(solution)}

    def _solve(
        self, features: Differences, constraints: Constraints, factor: Rows, rank: int, watch: Watch | None
    ) -> Solution:
        regularizer = Regularizer(self.mu, rank, self.gamma, self.frobenius)
        how = Descent(self.step, self.rule, self.max_iter, self.tol, self.check_every, self.smoothing, self.patience)
        parameters = FORMS[self.form]()
        theta = parameters.start(factor)
        convex = self._objective(features, constraints, replace(regularizer, fantope=0.0), parameters)
        if self.solver == "admm":
            # Its first M is sought under the first W, and a start as round as the identity has no smallest directions.
            method = Multipliers(self.rho, self.max_iter, self.tol)
            return alternate(features, constraints, regularizer, descend(convex, theta, how).metric.matrix, method)
        objective = self._objective(features, constraints, regularizer, parameters)
        return descend_by_parts(objective, self._begin(convex, theta, how), how, watch)

    def _objective(self, features: Differences, said: Any, regularizer: Regularizer, parameters: Parameters) -> Loss:
        """What a metric is fitted to."""
        return Objective(features, said, regularizer, parameters)

    def _begin(self, convex: Loss, theta: Rows, how: Descent) -> Rows:
        """Where a descent begins, given the objective without R."""
        return theta

    def _start(self, rows: Rows, rank: int) -> Rows:
        if self.start == "pca":
            # The covariance loses digits of the smallest directions, which no start needs, and is 7 times faster.
            solver = "covariance_eigh" if len(rows) >= rows.shape[1] else "full"
            return principal_components(rows, rows.shape[1] if self.form == "factor" else rank, solver=solver)[0]
        return np.eye(rank if self.form == "low-rank" else rows.shape[1], rows.shape[1])

    def _check_parameters(self) -> None:
        if self.solver == "admm" and (self.form != "full" or self.patience is not None):
            raise ValueError('solver="admm" is for form="full", and without patience')
