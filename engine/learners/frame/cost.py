"""The cost of a fit: estimates of its memory and arithmetic, from the numbers of items, columns and classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_NUMBER = 8
"""Bytes of a float64."""
_EIGEN = 6
"""Operations of an eigendecomposition of an (m, m) matrix, in units of m^3."""


@dataclass(frozen=True)
class FitSize:
    """The input of a fit: the number of items, the number of columns of each view, and the number of classes."""

    items: int
    widths: tuple[int, ...]
    classes: int


class FitCost(NamedTuple):
    """The peak memory of a fit besides its input, in bytes, and the floating-point operations of its matrices."""

    bytes: float
    operations: float


def linear_cost(size: FitSize, columns: Sequence[int], steps: float = 1) -> FitCost:
    """Return the cost of a learner that holds copies of its rows and of squares of their columns.

    Args:
        size: the input.
        columns: the columns of each view's copies, such as its width, or the number of landmarks of a kernel.
        steps: number of passes over the rows, such as those of a descent.
    """
    held = 4 * size.items * sum(columns) + 4 * max(columns, default=0) ** 2
    passes = sum(2 * size.items * width * width + _EIGEN * width**3 for width in columns)
    return FitCost(_NUMBER * held, passes + 20 * steps * size.items * sum(columns))


def regression_cost(size: FitSize, landmarks: int, solutions: int) -> FitCost:
    """Return the cost of kernel regressions of classes, one for each view, all at the same time.

    Args:
        size: the input.
        landmarks: maximum number of landmarks.
        solutions: number of penalties and targets for which a regression is solved.
    """
    n, m, views = size.items, min(size.items, landmarks), len(size.widths)
    # The features, their eigenvectors, the squares of these, and one temporary copy; then targets and predictions.
    held = views * (4 * n * m + 4 * m * m + 8 * n * size.classes)
    arithmetic = views * (8 * n * m * m + 2 * _EIGEN * m**3 + solutions * 4 * n * m * size.classes)
    return FitCost(_NUMBER * held, arithmetic)
