"""The start of the descent to a regularised metric of one view, and the metric that its end gives."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.differences import Differences
from crossview.engine.learners.papers.losses.parameters import FORMS, Form, Parameters
from crossview.engine.learners.papers.losses.regularizer import Regularizer
from crossview.engine.learners.papers.solvers.descent import Solution
from crossview.engine.learners.subspace.pca import principal_components
from crossview.engine.learners.subspace.span import Span

Start = Literal["pca", "identity"]
_ROUNDING = 1e-12  # rounding makes eigenvalues up to this share of the largest
_VARYING = 1e-7  # rows do not vary along a direction whose deviation is below this share of the largest


@dataclass(frozen=True, kw_only=True)
class MetricSettings:
    """The regulariser of a metric, and the path of its descent.

    Attributes:
        rank: rank that the regulariser leads to, or the number of columns if that is smaller.
        mu: weight of R, the sum of all but the ``rank`` largest eigenvalues.
        gamma: weight of the trace.
        frobenius: weight of the squared Frobenius norm.
        form: parameters that the descent moves.
        start: metric at which the descent starts.
        semidefinite: whether every step keeps the metric positive semidefinite.
    """

    rank: int
    mu: float
    gamma: float
    frobenius: float
    form: Form
    start: Start
    semidefinite: bool = True


@dataclass(frozen=True, eq=False)
class DescentStart:
    """A view's metric before its descent.

    Attributes:
        span: the rows, in their principal components if the descent stays within these.
        features: differences of pairs of these rows.
        parameters: set of metrics that the descent moves in.
        theta: values of the parameters at the start.
        regularizer: term that the objective adds to the loss.
        most: largest rank of the metric after the descent.
    """

    span: Span
    features: Differences
    parameters: Parameters
    theta: Rows
    regularizer: Regularizer
    most: int

    @property
    def convex(self) -> Regularizer:
        """The regulariser without R, which is the only term that is not convex."""
        return replace(self.regularizer, fantope=0.0)


def descent_start(rows: Rows, settings: MetricSettings) -> DescentStart:
    """Return the metric of (n, d) rows before its descent."""
    span = spanned(rows, settings)
    features = Differences(span.rows)
    rank = min(settings.rank, features.width)
    outside = span.width - features.width if settings.form == "full" else 0  # factors have no slope there
    regularizer = Regularizer(
        fantope=settings.mu, rank=rank, trace=settings.gamma, frobenius=settings.frobenius, outside=outside
    )
    parameters = FORMS[settings.form]()
    theta = parameters.start(_start(span, settings, rank))
    most = rank if settings.mu > 0 or settings.form == "low-rank" else features.width
    return DescentStart(span, features, parameters, theta, regularizer, most)


def factor_and_attributes(start: DescentStart, solution: Solution) -> tuple[Rows, dict[str, Any]]:
    """Return the (r, d) factor L of the metric that a descent found, r >= 1, and the view's fitted attributes."""
    spectrum = solution.metric.spectrum.positive()
    factor = spectrum.largest(min(start.most, spectrum.rank(_ROUNDING))).factor()
    if not len(factor):
        factor = np.zeros((1, start.features.width))
    return start.span.lifted(factor), {
        "rank_": len(factor),
        "full_rank_": spectrum.rank(),
        "objective_": solution.objective,
        "history_": np.array(solution.history),
        "steps_": solution.steps,
        "converged_": solution.converged,
    }


def spanned(rows: Rows, settings: MetricSettings) -> Span:
    """Return the rows in their principal components if the descent stays within these, and otherwise as they are.

    With fewer rows than columns, the components are the shorter description. A metric that starts within their span
    stays there: no constraint pulls out of the span, and the regulariser only lowers the metric outside. The identity
    is a start outside the span, steps that leave the semidefinite cone may become negative outside, and a diagonal
    metric is bound to the columns.
    """
    leaves_them = settings.start != "pca" or settings.form == "diagonal" or not settings.semidefinite
    if leaves_them or len(rows) >= rows.shape[1]:
        return Span(rows)
    span = Span.of(rows)
    components = _directions(span.rows, None)
    return Span(span.rows @ components.T, span.lifted(components))


def _start(span: Span, settings: MetricSettings, rank: int) -> Rows:
    width = span.rows.shape[1]
    if settings.start == "pca" and span.basis is None:
        # The covariance loses digits of the smallest directions, which no start needs, and is 7 times faster.
        solver = "covariance_eigh" if len(span.rows) >= width else "full"
        return _directions(span.rows, width if settings.form == "factor" else rank, solver)
    identity = np.eye(width)  # if the columns are components, its first rows are the leading ones
    if settings.start == "pca":
        return identity if settings.form == "factor" else identity[:rank]
    return identity[:rank] if settings.form == "low-rank" else identity


def _directions(rows: Rows, count: int | None, solver: str = "full") -> Rows:
    """Return the leading principal directions, (r, d), without those along which the rows do not vary.

    The rows say nothing about such a direction, so it would only add noise to the embeddings of other rows.
    """
    components, mean = principal_components(rows, count, solver=solver)
    lengths = np.linalg.norm((rows - mean) @ components.T, axis=0)
    return np.asarray(components[lengths >= _VARYING * lengths.max()])
