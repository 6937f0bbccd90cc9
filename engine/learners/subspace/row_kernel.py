"""Kernels of rows, from the simplest to the richest; a learner chooses one for each view."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms

from crossview.engine.learners.frame.normalization import Standardize, signed_root
from crossview.engine.learners.frame.view_rows import Rows, slices

_DISTANCES_AT_ONCE = 1 << 17
"""Number of distances in a block, 1 MiB: each of the many steps from distances to kernels is several times as fast in
the cache as in memory."""
_STEP = 64
"""Products of matrices in blocks of a multiple of 64 rows have the same rounding as the whole product."""
Kernel = Literal["linear", "gaussian"]
Scaling = Literal["none", "sqrt", "unit", "standardize", "both"]
KERNELS: tuple[Kernel, ...] = ("linear", "gaussian")
SCALINGS: tuple[Scaling, ...] = ("none", "sqrt", "unit", "standardize", "both")
"""Those to choose from by cross-validation."""
_MOSTLY_ZERO = 0.9
ROWS_AT_ONCE = 1_536
"""Number of rows that are compared with the landmarks at a time. Products of matrices in blocks of a multiple of 64
rows have the same rounding as the whole product."""
_WIDEST, _OCTAVES = 2.0, 5
"""The largest bandwidth and the number of bandwidths: 2, 1, 1/2, 1/4 and 1/8 of the mean squared distance."""


class LandmarkDistances:
    """The squared distances of rows to (m, d) landmarks."""

    def __init__(self, landmarks: Rows) -> None:
        # Products of rows that are far from the origin would lose the differences between them.
        self._middle = landmarks.mean(axis=0)
        landmarks = landmarks - self._middle
        self._columns = landmarks.T
        self._lengths = row_norms(landmarks, squared=True)

    def blocks(self, count: int) -> Iterator[slice]:
        """Yield consecutive slices of ``count`` rows, the blocks of ``squared``."""
        at_once = max(_STEP, _DISTANCES_AT_ONCE // max(1, len(self._lengths)) // _STEP * _STEP)
        return slices(count, 1, at_once)

    def squared(self, rows: Rows) -> Rows:
        """Return the squared distances of (n, d) rows, (n, m)."""
        rows = rows - self._middle
        squares = rows @ self._columns
        squares *= -2
        squares += row_norms(rows, squared=True)[:, None]
        squares += self._lengths
        return np.maximum(squares, 0, out=squares)


@dataclass(frozen=True)
class RowKernel:
    """The kernel that compares rows.

    Attributes:
        kernel: "linear", x . y; or "gaussian", the mean of exp(-|x - y|^2 / (b m)) over b = 2, 1, 1/2, 1/4 and 1/8,
            with m the mean squared distance: near and far rows count at every scale, and no bandwidth has to be chosen.
        scaling: scaling before the comparison: "none"; "sqrt", signed square roots; "unit", these with rows of unit
            length; "standardize", columns of unit variance; "both", the mean of the kernels "sqrt" and "standardize".
    """

    kernel: Kernel
    scaling: Scaling


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """A kernel with the parameters that it learns from rows.

    Attributes:
        how: the kernel.
        center, deviation: (d,), means and standard deviations that standardise the columns; 0 and 1 without
            standardisation.
        landmarks: (m, d) rows with which the kernel compares others; (0, d) for "linear".
        means: mean squared distances of the landmarks, one per scaling: two for "both", otherwise one.
    """

    how: RowKernel
    center: NDArray[np.float64]
    deviation: NDArray[np.float64]
    landmarks: Rows
    means: NDArray[np.float64]

    @classmethod
    def of(cls, how: RowKernel, rows: Rows, places: NDArray[np.intp]) -> "FittedKernel":
        """Return a kernel fitted to (n, d) rows, some of which, by position, are the landmarks."""
        center, deviation = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
        if how.scaling in ("standardize", "both"):
            scaler = Standardize().fit([rows])
            center, deviation = scaler.means_[0], scaler.deviations_[0]
        landmarks = rows[places] if how.kernel == "gaussian" else rows[:0]
        plain = cls(how, center, deviation, landmarks, np.ones(0))
        if how.kernel == "linear":
            return plain
        # The mean squared distance of all pairs of rows is twice their variance.
        means = [2 * scaled.var(axis=0).sum() for scaled in plain.scaled(landmarks)]
        return cls(how, plain.center, plain.deviation, landmarks, np.array(means) + (np.array(means) == 0))

    def scaled(self, rows: Rows) -> list[Rows]:
        """Return (n, d) rows with scaled columns: two versions for "both", otherwise one."""
        versions = [rows] if self.how.scaling == "none" else []
        if self.how.scaling in ("sqrt", "both"):
            versions.append(signed_root(rows))
        if self.how.scaling == "unit":
            versions.append(np.asarray(normalize(signed_root(rows))))
        if self.how.scaling in ("standardize", "both"):
            versions.append((rows - self.center) / self.deviation)
        return versions

    def features(self, rows: Rows) -> Rows:
        """Return the kernel's values of (n, d) rows with the landmarks, (n, m); for "linear", the scaled rows."""
        scaled = self.scaled(rows)
        if self.how.kernel == "linear":
            return np.hstack(scaled)
        values, landmarks = (
            np.zeros((len(rows), len(self.landmarks))),
            [*map(LandmarkDistances, self.scaled(self.landmarks))],
        )
        for part in landmarks[0].blocks(len(rows)):
            for own, distances, mean in zip(scaled, landmarks, self.means, strict=True):
                values[part] += _gaussians(distances.squared(own[part]), mean)
            values[part] /= len(landmarks)
        return values


def usual_scaling(rows: Rows) -> Scaling:
    """Return "unit" for counts of which nearly all are 0, such as words of texts, otherwise "both".

    The rarest words have the largest weight in columns of unit variance, and without rows of unit length, the length
    of a text decides which others are near.
    """
    return "unit" if (rows >= 0).all() and (rows == 0).mean() >= _MOSTLY_ZERO else "both"


def candidates(kernel: Kernel | None, scaling: Scaling | None) -> list[RowKernel]:
    """Return the kernels to choose from, the simplest first; None leaves a choice open.

    Linear kernels come before Gaussian ones, unscaled rows before scaled ones, and one scaling before two.
    """
    kernels = KERNELS if kernel is None else (kernel,)
    scalings = SCALINGS if scaling is None else (scaling,)
    return [RowKernel(name, columns) for name in kernels for columns in scalings]


def _gaussians(squared: Rows, mean: float) -> Rows:
    """Return the mean over the bandwidths; each Gaussian is the square of the one that is twice as wide.

    It overwrites the squared distances.
    """
    squared /= -_WIDEST * mean
    value = np.exp(squared, out=squared)
    total = value.copy()
    for _ in range(_OCTAVES - 1):
        value *= value
        total += value
    total /= _OCTAVES
    return total
