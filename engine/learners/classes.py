"""Which rows have a class to learn from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.learners.base import Rows


def shared_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Returns the K classes of two or more rows, sorted: rows alone in theirs, as unlabelled ones are, show none.

    Raises:
        ValueError: if there are fewer than two.
    """
    names, counts = np.unique(labels, return_counts=True)
    classes: NDArray[Any] = names[counts > 1]
    if len(classes) < 2:
        raise ValueError(f"the labels have {len(classes)} class of two or more rows; at least 2 classes are needed")
    return classes


def of_classes(rows: Rows, labels: NDArray[Any], classes: NDArray[Any]) -> tuple[Rows, NDArray[np.intp]]:
    """Returns the rows that are of some classes, and their classes, (n,), as positions in them.

    Raises:
        ValueError: if these rows are of fewer than two of the classes.
    """
    known = np.isin(labels, classes)
    codes = np.searchsorted(classes, labels[known])
    if len(np.unique(codes)) < 2:
        raise ValueError("the rows of a view are of fewer than 2 classes")
    return rows[known], codes
