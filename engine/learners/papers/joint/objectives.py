"""The objectives of joint metrics: the loss of comparisons over embeddings of rows by a common map and metrics of
notions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.joint.comparison_loss import ComparisonLoss, Notions
from crossview.engine.learners.papers.joint.losses import Loss
from crossview.engine.runtime.threads import over

Theta = NDArray[np.float64]

_LARGE = 1 << 20  # product of comparisons and columns above which threads evaluate notions separately


class Inputs(Protocol):
    """The protocol of inputs: n rows x of H columns."""

    @property
    def count(self) -> int:
        """n, the number of rows."""

    @property
    def width(self) -> int:
        """H, the number of columns."""

    def project(self, factor: Rows) -> Rows:
        """Return X F, (n, D), for a (H, D) factor F."""

    def back(self, gradient: Rows) -> Rows:
        """Return X^T G, (H, D), for a (n, D) gradient G."""


@dataclass(frozen=True, eq=False)
class Features:
    """Known rows, (n, H); penalties have the same weight for all rows with a root mean square length of 1."""

    rows: Rows

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.rows.shape[1])

    def project(self, factor: Rows) -> Rows:
        """Return X F."""
        return np.asarray(self.rows @ factor)

    def back(self, gradient: Rows) -> Rows:
        """Return X^T G."""
        return np.asarray(self.rows.T @ gradient)


@dataclass(frozen=True)
class Objects:
    """n objects without features: object i is row i of the identity, times the root of n; these rows are never made.

    The factor gives the weights of penalties the same meaning as for features.
    """

    count: int

    @property
    def scale(self) -> float:
        """The root of n, the length of each row."""
        return float(np.sqrt(self.count))

    @property
    def width(self) -> int:
        """The number of objects."""
        return self.count

    def project(self, factor: Rows) -> Rows:
        """Return the factor, scaled."""
        return factor * self.scale

    def back(self, gradient: Rows) -> Rows:
        """Return the gradient, scaled."""
        return gradient * self.scale


OverEmbeddings = Callable[[Rows, float], tuple[float, Rows]]
"""A function of (T, n, r) embeddings and the smoothing of a hinge; it returns a loss and its gradient, of their
shape."""


class Losses:
    """The loss of all notions' comparisons over (T, n, r) embeddings, and its gradient."""

    def __init__(self, notions: Notions, rows: int, loss: Loss, width: int) -> None:
        alone = notions.count > 1 and len(notions.codes) * width > _LARGE
        parts = [notions.of(notion) for notion in range(notions.count)] if alone else [notions]
        self._parts = [ComparisonLoss(part, rows, loss) for part in parts]

    def __call__(self, embedded: Rows, smoothing: float) -> tuple[float, Rows]:
        """Return the loss, and its gradient with respect to the embeddings."""
        if len(self._parts) == 1:
            return self._parts[0](embedded, smoothing)
        parts = over(range(len(self._parts)), lambda part: self._parts[part](embedded[part : part + 1], smoothing))
        return sum(value for value, _ in parts), np.concatenate([gradient for _, gradient in parts])


class Problem(Protocol):
    """The protocol of problems that a solver minimises."""

    def value(self, theta: Theta, smoothing: float) -> tuple[float, Theta]:
        """Return the objective at some parameters, and its gradient; smoothing: see ``losses.hinge``."""


@dataclass(frozen=True, eq=False)
class JointProblem:
    """The loss under K_t = L M_t L^T with M_t = R_t R_t^T, plus alpha (|L|_F^2 + sum of tr M_t): equation (2).

    Only the product of the weights beta and gamma of the two terms matters (Proposition 1), so alpha is its root.

    Attributes:
        inputs: the rows.
        losses: loss of the comparisons in T notions.
        alpha: weight of the penalty.
        shape: H, D and T.
    """

    inputs: Inputs
    losses: OverEmbeddings
    alpha: float
    shape: tuple[int, int, int]

    def value(self, theta: Theta, smoothing: float = 0.0) -> tuple[float, Theta]:
        """Return the objective and its gradient at L and R, which are one vector."""
        common, local = self.unpacked(theta)
        mapped = self.inputs.project(common)
        loss, gradient = self.losses(mapped @ local, smoothing)
        of_local = mapped.T @ gradient
        of_mapped = np.tensordot(gradient, local, axes=([0, 2], [0, 2]))
        slopes = self.packed(self.inputs.back(of_mapped), of_local)
        return loss + self.alpha * float(theta @ theta), slopes + 2 * self.alpha * theta

    def unpacked(self, theta: Theta) -> tuple[Rows, Rows]:
        """Return L, (H, D), and R, (T, D, D)."""
        columns, width, count = self.shape
        common, local = np.split(theta, [columns * width])
        return common.reshape(columns, width), local.reshape(count, width, width)

    def packed(self, common: Rows, local: Rows) -> Theta:
        """Return L and R as one vector of parameters."""
        return np.concatenate([common.ravel(), local.ravel()])


@dataclass(frozen=True, eq=False)
class FactorProblem:
    """The loss of one notion under K = A A^T, plus alpha tr K: equation (1), of one notion alone.

    Attributes:
        inputs: the rows.
        losses: loss of the comparisons.
        alpha: weight of the trace.
    """

    inputs: Inputs
    losses: OverEmbeddings
    alpha: float

    def value(self, theta: Theta, smoothing: float = 0.0) -> tuple[float, Theta]:
        """Return the objective at A, (H r,), and its gradient."""
        factor = theta.reshape(self.inputs.width, -1)
        loss, gradient = self.losses(self.inputs.project(factor)[None], smoothing)
        slopes = self.inputs.back(gradient[0]).ravel()
        return loss + self.alpha * float(theta @ theta), slopes + 2 * self.alpha * theta


def penalty(factors: Sequence[Rows]) -> float:
    """Return the minimum of |L|_F^2 + sum of tr M_t with L M_t L^T = F_t F_t^T for (H, r_t) factors: 2 tr (sum F
    F^T)^1/2.

    Proposition 1 with beta = gamma = 1; it is twice the nuclear norm of all factors beside each other.
    """
    return 2 * float(np.linalg.svd(np.hstack(factors), compute_uv=False).sum())


def balanced(common: Rows, local: Rows) -> tuple[Rows, Rows]:
    """Return the L and R with the same K_t and the smallest penalty: equations (3) and (4) with beta = gamma.

    Args:
        common: (H, D) L.
        local: (T, D, r) factors R_t of the M_t.
    """
    factors = common @ local
    left, values, _ = np.linalg.svd(np.hstack(list(factors)), full_matrices=False)
    width = common.shape[1]
    roots = np.sqrt(values[:width])
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 1e-8 * max(roots[0], 1e-300))
    return left[:, :width] * roots, inverse[:, None] * (left[:, :width].T @ factors)
