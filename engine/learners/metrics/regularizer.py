"""What is added to the loss of a metric."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from crossview.engine.learners.base import Rows
from crossview.engine.learners.metrics.parameters import Metric


@dataclass(frozen=True, kw_only=True)
class Regularizer:
    """gamma tr(M) + mu R(M) + <A, M> + lambda / 2 |M|_F^2, with R(M) the sum of the d - rank smallest eigenvalues.

    All but the last are one linear term <M, gamma I + mu W + A>, with the W that makes <M, W> equal R(M).

    Attributes:
        fantope: mu.
        rank: the rank above which eigenvalues count in R.
        trace: gamma.
        frobenius: lambda.
        linear: A, (d, d) symmetric; None: none.
        outside: how many more dimensions there are, in which rows do not differ and M stays zero.

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
        """Returns what is added for a metric."""
        total = self.trace * float(np.trace(metric.matrix)) if self.trace else 0.0
        if self.fantope:
            total += self.fantope * metric.spectrum.smallest(self._surplus(metric))
        if self.frobenius:
            total += self.frobenius / 2 * float(np.vdot(metric.matrix, metric.matrix))
        if self.linear is not None:
            total += float(np.vdot(self.linear, metric.matrix))
        return total

    def gradient(self, metric: Metric) -> Rows | None:
        """Returns the (d, d) gradient with respect to M, for a fixed W; None where nothing is added."""
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
        """The length of the gradient in the dimensions outside, where the cone of metrics lets no step go."""
        return (self.trace + self.fantope) * float(np.sqrt(self.outside))

    def tangent(self, metric: Metric) -> Self:
        """Returns the regulariser with W fixed to that of a metric, so that it is convex."""
        if not self.fantope:
            return self
        fixed = self.fantope * metric.spectrum.projector(self._surplus(metric))
        return replace(self, fantope=0.0, linear=fixed if self.linear is None else self.linear + fixed)

    def near(self, center: Rows, strength: float) -> Self:
        """Returns the regulariser with strength / 2 |M - center|_F^2 added, but for its constant."""
        pull = -strength * center
        linear = pull if self.linear is None else self.linear + pull
        return replace(self, frobenius=self.frobenius + strength, linear=linear)

    def _surplus(self, metric: Metric) -> int:
        return max(len(metric.matrix) - (self.rank or 0), 0)
