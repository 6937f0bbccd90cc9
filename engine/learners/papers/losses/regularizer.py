"""The regulariser of a metric: trace, Frobenius norm, and the Fantope term that leads the rank."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.parameters import Metric


@dataclass(frozen=True, kw_only=True)
class Regularizer:
    """gamma tr(M) + mu R(M) + <A, M> + lambda / 2 |M|_F^2, with R(M) the sum of the d - rank smallest eigenvalues.

    All but the last are one linear term <M, gamma I + mu W + A>, with the W that makes <M, W> equal R(M).

    Attributes:
        fantope: mu.
        rank: the number of largest eigenvalues that R does not contain.
        trace: gamma.
        frobenius: lambda.
        linear: A, (d, d) symmetric; None: none.
        outside: number of further dimensions, in which rows do not differ and M stays zero.

    Raises:
        ValueError: for a negative weight, or a ``fantope`` without a rank.
    """

    fantope: float = 0.0
    rank: int | None = None
    trace: float = 0.0
    frobenius: float = 0.0
    linear: Rows | None = None
    outside: int = 0

    def __post_init__(self) -> None:
        for name in ("fantope", "trace", "frobenius"):
            value = getattr(self, name)
            if not 0.0 <= value < np.inf:
                raise ValueError(f"{name}={value} must be a finite number that is not negative")
        if self.fantope and self.rank is None:
            raise ValueError("a fantope needs the rank that it leads to")

    def value(self, metric: Metric) -> float:
        """Return the value at a metric."""
        total = self.trace * float(np.trace(metric.matrix)) if self.trace else 0.0
        if self.fantope:
            total += self.fantope * metric.spectrum.smallest(self._surplus(metric))
        if self.frobenius:
            total += self.frobenius / 2 * float(np.vdot(metric.matrix, metric.matrix))
        if self.linear is not None:
            total += float(np.vdot(self.linear, metric.matrix))
        return total

    def gradient(self, metric: Metric) -> Rows | None:
        """Return the (d, d) gradient with respect to M, for a fixed W; None for a regulariser of zero."""
        if not (self.trace or self.fantope or self.frobenius) and self.linear is None:
            return None
        width = len(metric.matrix)
        total = self.trace * np.eye(width)
        if self.fantope:
            total += self.fantope * metric.spectrum.projector(self._surplus(metric))
        if self.frobenius:
            total += self.frobenius * metric.matrix
        if self.linear is not None:
            total += self.linear
        return total

    @property
    def slope_outside(self) -> float:
        """The length of the gradient in the dimensions outside, where the cone of metrics allows no step.

        The first step of a descent is a share of the length of the gradient. The gradient counts as it would be without
        the reduction to the span of the rows, so that the reduction changes no step.
        """
        return (self.trace + self.fantope) * float(np.sqrt(self.outside))

    def tangent(self, metric: Metric) -> Self:
        """Return the regulariser with W fixed to the W of a metric, which makes it convex."""
        if not self.fantope:
            return self
        # R(M) is the least <M, W> over projections W of this rank: the linear term touches R from above here.
        fixed = self.fantope * metric.spectrum.projector(self._surplus(metric))
        return replace(self, fantope=0.0, linear=fixed if self.linear is None else self.linear + fixed)

    def near(self, center: Rows, strength: float) -> Self:
        """Return the regulariser plus strength / 2 |M - center|_F^2, without the constant of this term."""
        pull = -strength * center
        linear = pull if self.linear is None else self.linear + pull
        return replace(self, frobenius=self.frobenius + strength, linear=linear)

    def _surplus(self, metric: Metric) -> int:
        return max(len(metric.matrix) - (self.rank or 0), 0)
