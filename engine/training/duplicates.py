"""Duplicates: queries that are as good as known, because a row of theirs is nearly one that was learned from."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min

from engine.learners.cancellation import checkpoint
from engine.training.division import Division
from engine.training.examples import Examples

SHARE = 0.1
"""Of the usual distance to the nearest trained row, which is the median over the queries: rows up to this share of it
apart are nearly the same."""
MOST = 1_000
"""Queries that are looked at; of more, a random sample."""


def duplicates(items: Examples, division: Division) -> NDArray[np.bool_]:
    """Return which queries, of at most ``MOST``, have nearly the same row as a trained item in any view, (q,)."""
    ids = division.queries
    if len(ids) > MOST:
        ids = np.sort(np.random.default_rng(0).choice(ids, MOST, replace=False))
    queries, trained = items.of_ids(ids), items.of_ids(division.trained)
    found = np.zeros(len(queries), bool)
    for view, of_queries, of_trained in zip(items.rows, queries.mask.T, trained.mask.T, strict=True):
        if of_queries.any() and of_trained.any():
            checkpoint()
            near = _nearest(queries.rows[view][of_queries], trained.rows[view][of_trained])
            found[of_queries] |= near <= SHARE * np.median(near)
    return found


def sentence(found: NDArray[np.bool_]) -> str:
    """Return how many queries nearly are trained items, and the remedy; "" for none."""
    count = int(found.sum())
    if not count:
        return ""
    return (
        f"{count} of {len(found)} queries nearly repeat a trained item: in some view, their distance to it is at most "
        f"{SHARE:.0%} of the median of such distances; keep items that belong together on one side by --group-by"
    )


def _nearest(queries: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the distance of each query to its nearest row, (q,); of equal rows it is exactly 0."""
    nearest, _ = pairwise_distances_argmin_min(queries, rows)
    found: NDArray[np.float64] = np.linalg.norm(queries.astype(np.float64) - rows[nearest], axis=1)
    return found
