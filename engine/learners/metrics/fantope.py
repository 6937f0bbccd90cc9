"""Metrics of a given rank: Fantope regularisation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.base import Rows
from crossview.engine.learners.metrics.admm import Multipliers, alternate
from crossview.engine.learners.metrics.constraints import Constraints
from crossview.engine.learners.metrics.descent import Descent, Solution, Validation, descend
from crossview.engine.learners.metrics.features import Differences
from crossview.engine.learners.metrics.growing_subsets import descend_over_growing_subsets
from crossview.engine.learners.metrics.learner import MetricLearner
from crossview.engine.learners.metrics.objective import Loss, Objective, satisfied
from crossview.engine.learners.metrics.options import Bounds, Sampling, Stopping
from crossview.engine.learners.metrics.parameters import Diagonal, Full, LowRank, Parameters
from crossview.engine.learners.metrics.regularizer import Regularizer
from crossview.engine.learners.settings import Dimensions, Positive, Seed, Weight, group
from crossview.engine.learners.subspace.pca import principal_components
from crossview.engine.learners.subspace.span import Span

Form = Literal["full", "diagonal", "factor", "low-rank"]
Start = Literal["pca", "identity"]
FORMS: Mapping[Form, type[Parameters]] = {"full": Full, "diagonal": Diagonal, "factor": LowRank, "low-rank": LowRank}
_ROUNDING = 1e-12  # an eigenvalue below this share of the largest is none
_VARYING = 1e-7  # of the largest deviation: along directions below it rows are all alike


@dataclass(eq=False, repr=False)
class Fantope(MetricLearner):
    """Learns one metric per view from comparisons of distances, and leads its rank to a given one.

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
        sampling: which constraints ``fit`` draws; None: ``Sampling()``.
        bounds: what they ask of distances; None: ``Bounds()``.
        form: what takes gradient steps: "full", M; "diagonal", its diagonal; "factor", an L as wide as the rows, which
            is no longer convex but often descends faster; or "low-rank", an L of the target rank.
        start: "pca", M = L^T L with the leading principal directions as the rows of L; or "identity".
        solver: "alternate", Algorithm 1; or "admm", Algorithm 2, for full matrices, from where as many steps without R
            lead.
        rho: ADMM's penalty.
        descent: how to descend; None: ``Descent(smoothing=1)``.
        stopping: when to stop early; None: never.
        random_state: seeds the draws.
        view_slices: widths of the views in a 2-D ``X``; None: one view.

    Attributes:
        rank_: list, the rank of each view's metric, which is the width of its embeddings (1 for a metric of zero).
        full_rank_: list, its rank before the cut, counted above 1e-6 of the largest eigenvalue.
        objective_: list of the objectives reached.
        history_: list of arrays, the objective after every step; with 32,768 constraints or more, first over subsets.
        converged_: list, did the descent stop by itself?
        steps_: list of the numbers of steps taken, outer ones of ADMM.

    Raises:
        ValueError: from ``fit``, for parameters out of range, missing labels, fewer than two classes, or
            none of two rows.
    """

    name = "fantope"
    groups: ClassVar[Mapping[str, Any]] = {
        "sampling": Sampling(),
        "bounds": Bounds(),
        "descent": Descent(smoothing=1.0),
        "stopping": Stopping(),
    }

    rank_: list[int] = field(init=False)
    full_rank_: list[int] = field(init=False)
    objective_: list[float] = field(init=False)
    history_: list[NDArray[np.float64]] = field(init=False)
    converged_: list[bool] = field(init=False)
    steps_: list[int] = field(init=False)

    n_components: Dimensions = 32
    mu: Weight = 0.01
    gamma: Weight = 0.0
    frobenius: Weight = 0.0
    sampling: Sampling | None = None
    bounds: Bounds | None = None
    form: Form = "full"
    start: Start = "pca"
    solver: Literal["alternate", "admm"] = "alternate"
    rho: Positive = 1.0
    descent: Descent | None = None
    stopping: Stopping | None = None
    random_state: Seed = 0
    view_slices: Sequence[int] | None = None

    @property
    def needs_labels(self) -> bool:
        """Whether ``fit`` needs class labels: nearest neighbours in a view are similar without any."""
        return self._sampling.similar != "knn"

    @property
    def n_iter_(self) -> int:
        """The steps taken, of the view that took most."""
        return max(self.steps_)

    def _learn(
        self, rows: Rows, constraints: Constraints, validation: Constraints | None
    ) -> tuple[Rows, dict[str, Any]]:
        if self.solver == "admm" and (self.form != "full" or self._stopping.patience is not None):
            raise ValueError('solver="admm" is for form="full", and without patience')
        span = self._span(rows)
        features = Differences(span.rows)
        rank = min(self.n_components, features.width)
        outside = span.width - features.width if self.form == "full" else 0  # factors have no slope there
        regularizer = Regularizer(
            fantope=self.mu, rank=rank, trace=self.gamma, frobenius=self.frobenius, outside=outside
        )
        start = self._start(span, rank)
        solution = self._solve(features, constraints, start, regularizer, self._validation(features, validation))
        spectrum = solution.metric.spectrum.positive()
        most = rank if self.mu > 0 or self.form == "low-rank" else features.width
        factor = spectrum.largest(min(most, spectrum.rank(_ROUNDING))).factor()
        if not len(factor):
            factor = np.zeros((1, features.width))
        return span.lifted(factor), {
            "rank_": len(factor),
            "full_rank_": spectrum.rank(),
            "objective_": solution.objective,
            "history_": np.array(solution.history),
            "steps_": solution.steps,
            "converged_": solution.converged,
        }

    def _validation(self, features: Differences, constraints: Constraints | None) -> Validation | None:
        patience = self._stopping.patience
        if patience is None:
            return None
        if constraints is None:
            raise ValueError("patience needs validation constraints to stop by")
        features.check(int(max(constraints.near.max(), constraints.far.max())))
        return Validation(lambda metric: satisfied(metric, features, constraints), patience)

    def _solve(
        self,
        features: Differences,
        constraints: Constraints,
        factor: Rows,
        regularizer: Regularizer,
        validation: Validation | None,
    ) -> Solution:
        how = cast(Descent, group(self, "descent"))
        parameters = FORMS[self.form]()
        theta = parameters.start(factor)
        convex = self._objective(features, constraints, replace(regularizer, fantope=0.0), parameters)
        if self.solver == "admm":
            # The first M is sought under the first W; the identity as a start would have no smallest directions.
            method = Multipliers(self.rho, how.max_iter, how.tol)
            return alternate(features, constraints, regularizer, descend(convex, theta, how).metric.matrix, method)
        objective = self._objective(features, constraints, regularizer, parameters)
        return descend_over_growing_subsets(objective, self._begin(convex, theta, how), how, validation)

    def _objective(
        self, features: Differences, constraints: Any, regularizer: Regularizer, parameters: Parameters
    ) -> Loss:
        """What a metric is fitted to."""
        return Objective(features, constraints, regularizer, parameters)

    def _begin(self, convex: Loss, theta: Rows, how: Descent) -> Rows:
        """Where a descent begins, given the objective without R."""
        return theta

    def _span(self, rows: Rows) -> Span:
        """Returns rows by their principal components where the metric never leaves these.

        A metric that starts within them stays: beyond them no constraint pulls, and what is added only lowers it. One
        that starts at the identity does not, nor do ADMM's, which may be negative there, and a diagonal is one of
        columns.
        """
        if self.start != "pca" or self.form == "diagonal" or self.solver == "admm" or len(rows) >= rows.shape[1]:
            return Span(rows)
        span = Span.of(rows)
        components = _directions(span.rows, None)
        return Span(span.rows @ components.T, span.lifted(components))

    def _start(self, span: Span, rank: int) -> Rows:
        width = span.rows.shape[1]
        if self.start == "pca" and span.basis is None:
            # The covariance loses digits of the smallest directions, which no start needs, and is 7 times faster.
            solver = "covariance_eigh" if len(span.rows) >= width else "full"
            return _directions(span.rows, width if self.form == "factor" else rank, solver)
        identity = np.eye(width)  # by components, their leading ones
        if self.start == "pca":
            return identity if self.form == "factor" else identity[:rank]
        return identity[:rank] if self.form == "low-rank" else identity


def _directions(rows: Rows, count: int | None, solver: str = "full") -> Rows:
    """Returns the leading principal directions, (r, d), without those along which rows do not vary.

    Nothing is learned about these: an arbitrary one would only be noise in the embeddings of other rows.
    """
    components, mean = principal_components(rows, count, solver=solver)
    lengths = np.linalg.norm((rows - mean) @ components.T, axis=0)
    return np.asarray(components[lengths >= _VARYING * lengths.max()])
