"""Duplicates: queries whose row in some view is nearly equal to a training row, so that finding them proves little."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.training.division import Division
from crossview.engine.training.examples import Examples

SHARE = 0.1
"""Largest distance between nearly equal rows, as a share of the median distance of the queries to their nearest
training row."""
MOST = 1_000
"""Maximum number of queries that are checked; larger sets are sampled at random."""
MOST_TRAINED = 100_000
"""Maximum number of training items with which they are compared; of more, a random draw finds a share of the copies."""
_ROWS_AT_ONCE = 16_384
"""Number of training rows that are compared with the queries at a time."""


def compared_with(division: Division) -> NDArray[np.int64]:
    """Return the ids of the trained items with which queries are compared: all, or some drawn at random."""
    ids = division.trained
    if len(ids) <= MOST_TRAINED:
        return ids
    return np.sort(np.random.default_rng(0).choice(ids, MOST_TRAINED, replace=False))


def duplicates(items: Examples, division: Division) -> NDArray[np.bool_]:
    """Return which queries, of at most ``MOST``, have nearly the same row as a trained item in any view, (q,).

    ``items`` have their rows, at least the queries and the items of ``compared_with``.
    """
    ids = division.queries
    if len(ids) > MOST:
        ids = np.sort(np.random.default_rng(0).choice(ids, MOST, replace=False))
    queries, trained = items.of_ids(ids), np.isin(items.ids, compared_with(division))
    found = np.zeros(len(queries), bool)
    for view, with_view, offered in zip(items.rows, queries.mask.T, items.mask.T & trained, strict=True):
        if with_view.any() and offered.any():
            near = _nearest(queries.rows[view][with_view], items.rows[view], np.flatnonzero(offered))
            found[with_view] |= near <= SHARE * np.median(near)
    return found


def sentence(found: NDArray[np.bool_]) -> str:
    """Return a note on the number of queries that nearly repeat trained items, and the remedy; "" for none."""
    count = int(found.sum())
    if not count:
        return ""
    return (
        f"{count} of {len(found)} queries nearly repeat a trained item: in some view, their distance to it is at most "
        f"{SHARE:.0%} of the median of such distances; group items that belong together, to keep them on one side"
    )


def _nearest(queries: NDArray[np.float32], rows: NDArray[np.float32], offered: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the distance of each query to the nearest of the rows, (q,), exactly 0 for equal rows."""
    found = np.full(len(queries), np.inf)
    for start in range(0, len(offered), _ROWS_AT_ONCE):
        checkpoint()
        some = rows[offered[start : start + _ROWS_AT_ONCE]]
        nearest, _ = pairwise_distances_argmin_min(queries, some)
        found = np.minimum(found, np.linalg.norm(queries.astype(np.float64) - some[nearest], axis=1))
    return found
