"""Kernels of rows, from the simplest to those that follow the rows most closely, and how one of them is chosen."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from engine.learners.base import Rows
from engine.learners.steps.normalization import Sqrt, Standardize

Scaling = Literal["none", "sqrt", "standardize"]
SCALINGS: tuple[Scaling, ...] = ("none", "sqrt", "standardize")
BANDWIDTHS = (2.0, 1.0, 0.5, 0.25)


@dataclass(frozen=True)
class RowKernel:
    """How rows are compared: x . y, or exp(-|x - y|^2 / (b m)) with m their mean squared distance.

    Attributes:
        scaling: what is done with the columns first; "sqrt" takes signed square roots.
        bandwidth: b; None: x . y.
    """

    scaling: Scaling
    bandwidth: float | None


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """A kernel with the numbers that it takes from the rows that it was fitted to.

    Attributes:
        scaling: as in ``RowKernel``.
        center, deviation: (d,), subtracted from the columns and divided by; 0 and 1 unless they are standardised.
        landmarks: (m, d) scaled rows that others are compared with; (0, d) for x . y.
        width: b m; 0 for x . y.
    """

    scaling: Scaling
    center: NDArray[np.float64]
    deviation: NDArray[np.float64]
    landmarks: Rows
    width: float

    @classmethod
    def of(cls, kernel: RowKernel, rows: Rows, landmarks: NDArray[np.intp]) -> "FittedKernel":
        """Returns a kernel fitted to (n, d) rows, some of which, by position, are the landmarks."""
        center, deviation = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
        if kernel.scaling == "standardize":
            scaler = Standardize().fit([rows])
            center, deviation = scaler.means_[0], scaler.deviations_[0]
        plain = cls(kernel.scaling, center, deviation, np.zeros((0, rows.shape[1])), 0.0)
        if kernel.bandwidth is None:
            return plain
        chosen = plain.scaled(rows[landmarks])
        mean = float(euclidean_distances(chosen, squared=True).mean()) or 1.0
        return cls(kernel.scaling, center, deviation, chosen, kernel.bandwidth * mean)

    def scaled(self, rows: Rows) -> Rows:
        """Returns (n, d) rows with scaled columns."""
        if self.scaling == "sqrt":
            return np.asarray(Sqrt().fit_transform(rows))
        return (rows - self.center) / self.deviation

    def features(self, rows: Rows) -> Rows:
        """Returns the kernel's values of (n, d) rows with the landmarks, (n, m); for x . y the scaled rows."""
        scaled = self.scaled(rows)
        if not self.width:
            return scaled
        values: Rows = np.exp(euclidean_distances(scaled, self.landmarks, squared=True) / -self.width)
        return values


def candidates(scaling: Scaling | None, bandwidth: float | Literal["linear"] | None) -> list[RowKernel]:
    """Returns the kernels to choose from, the simplest first; None leaves a choice open.

    The linear one comes first, then wider before narrower ones; rows as they are before scaled ones.
    """
    scalings = SCALINGS if scaling is None else (scaling,)
    widths: tuple[float | None, ...] = (None, *BANDWIDTHS)
    if bandwidth is not None:
        widths = (None if bandwidth == "linear" else bandwidth,)
    return [RowKernel(one, width) for width in widths for one in scalings]
