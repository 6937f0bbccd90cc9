"""Rows of several views: their types, the division of one array into views, existing rows, and blocks of rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.supervision import Supervision
from crossview.engine.runtime.cancellation import checkpoint

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]
MultiView = Any  # a list of (n, d_v) array-likes, one per view, or one (n, d) array-like


def is_list_of_views(X: Any) -> bool:
    """Return whether X is a list with one array per view, not one array whose columns are to be divided."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(getattr(rows, "ndim", 0) == 2 for rows in X)


def cut(X: NDArray[Any], widths: Sequence[int]) -> list[NDArray[Any]]:
    """Return the columns of (n, d) rows in groups of some widths, as views."""
    return np.split(X, np.cumsum(widths)[:-1], axis=1)


def present_rows(views: list[Rows], given: Supervision, view: int) -> tuple[Rows, Any]:
    """Return the rows of the items that have a view, and the classes of these items; None without classes."""
    present, labels = given.mask[:, view], given.classes
    if present.all():
        return views[view], labels
    return views[view][present], None if labels is None else labels[present]


def complete(views: list[Rows], mask: Mask) -> list[Rows]:
    """Return the rows of the items that have every view, for learners that compare the views item by item.

    Raises:
        ValueError: if there are fewer than two such items.
    """
    complete_items = mask.all(axis=1)
    if complete_items.sum() < 2:
        raise ValueError(f"{complete_items.sum()} items have all {len(views)} views; at least 2 are needed")
    return views if complete_items.all() else [rows[complete_items] for rows in views]


BLOCK = 1 << 22
"""Number of entries in a dense block of pairs: 32 MB of float64, so that no full matrix of pairs is in memory."""


def slices(count: int, columns: int, numbers: int = BLOCK) -> Iterator[slice]:
    """Yield consecutive slices of ``count`` rows, of at least one row and otherwise at most ``numbers`` entries
    each."""
    size = max(1, numbers // max(columns, 1))
    for start in range(0, count, size):
        checkpoint()
        yield slice(start, min(start + size, count))
