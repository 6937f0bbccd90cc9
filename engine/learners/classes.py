"""Which rows have a class to learn from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Rows


def with_classes(views: list[Rows], labels: NDArray[Any]) -> tuple[list[Rows], NDArray[np.intp], NDArray[Any]]:
    """Leaves out the rows that are alone in their class: unlabelled items are, and they show no class to learn.

    Returns:
        The remaining rows of each view; their classes, (n,), as positions in the third; the K classes, sorted.

    Raises:
        ValueError: if fewer than two classes remain.
    """
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shared = counts[codes] > 1
    classes, codes = np.unique(labels[shared], return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"the labels have {len(classes)} class of two or more rows; at least 2 classes are needed")
    return [rows[shared] for rows in views], codes, classes
