"""Rows of several views: the forms in which callers give and take them, existing rows, and blocks of rows."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.runtime.cancellation import checkpoint

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]
MultiView = Any
"""A list of (n, d_v) array-likes, one per view; one (n, d) array-like; or a list of n tuples of rows, one per view."""


def rows_of_tuples(X: Any) -> list[NDArray[Any]] | None:
    """Return the rows of each view, (n, d_v), of a list of n tuples with a row per view; None for another form."""
    if not isinstance(X, list) or not X or not all(isinstance(item, tuple) for item in X):
        return None
    if not all(len(item) == len(X[0]) and all(np.ndim(row) == 1 for row in item) for item in X):
        return None
    return [np.stack([np.asarray(item[view]) for item in X]) for view in range(len(X[0]))]


def is_list_of_views(X: Any) -> bool:
    """Return whether X is a list with one array per view, not one array whose columns are to be divided.

    Raises:
        ValueError: if only some of its arrays have two dimensions.
    """
    dimensions = [getattr(rows, "ndim", 0) for rows in X] if isinstance(X, list | tuple) else []
    if 2 not in dimensions:
        return False
    for view, count in enumerate(dimensions):
        if count != 2:
            raise ValueError(
                f"view {view} has {count} dimensions, but the rows of a view are (n, d): reshape one column by "
                ".reshape(-1, 1)"
            )
    return True


def framed(embeddings: NDArray[Any], output: str, X: Any, names: Callable[[], Sequence[str]]) -> Any:
    """Return (n, D) embeddings as an array, or as a frame of pandas or polars, by scikit-learn's conventions.

    ``output`` is the kind [default: "", that of scikit-learn's configuration]. A frame of pandas has the index of
    ``X`` if ``X`` has one.
    """
    output = output or get_config()["transform_output"]
    if output == "pandas":
        index = getattr(X, "index", None)
        return import_module("pandas").DataFrame(embeddings, index=index, columns=names(), copy=False)
    if output == "polars":
        return import_module("polars").DataFrame(embeddings, schema=names(), orient="row")
    return embeddings


def cut(X: NDArray[Any], widths: Sequence[int]) -> list[NDArray[Any]]:
    """Return the columns of (n, d) rows in groups of some widths, as views."""
    return np.split(X, np.cumsum(widths)[:-1], axis=1)


def present_rows(views: list[Rows], supervision: Supervision, view: int) -> tuple[Rows, Any]:
    """Return the rows of the items that have a view, and the classes of these items; None without classes."""
    present, labels = supervision.mask[:, view], supervision.classes
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
