"""Rows and vectors of an evaluation as they are stored, and the queries that nearly repeat a trained item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.versions import Versions
from crossview.engine.training.divisions import Division
from crossview.engine.training.examples import Examples, with_rows
from crossview.index.base import Index

SHARE = 0.1
"""Largest distance between nearly equal rows, as a share of the median distance of the queries to their nearest
training row."""
MOST = 1_000
"""Maximum number of queries that are checked; larger sets are sampled at random."""
MOST_TRAINED = 100_000
"""Maximum number of training items with which they are compared; of more, a random draw finds a share of the copies."""
_ROWS_AT_ONCE = 16_384
"""Number of training rows that are compared with the queries at a time."""


@dataclass(frozen=True, eq=False)
class IndexedTarget:
    """A target and its index."""

    target: Target
    index: Index

    def vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of items, (n, D); those of codes have columns of 0 and 1."""
        rows = self.index.get(ids)
        if self.target.codes:
            return np.unpackbits(rows, axis=1, count=self.target.dim).astype(np.float32)
        return np.asarray(rows)


class StoredVectors(NamedTuple):
    """Rows and vectors of the items of an evaluation."""

    rows: Examples
    """The items whose rows are read."""
    indexes: Mapping[tuple[str, str], IndexedTarget]
    """By space and view, of the spaces that are measured as they are."""

    @classmethod
    def of(
        cls,
        tx: Transaction,
        versions: Versions,
        targets: Sequence[tuple[Space, Sequence[str]]],
        items: Examples,
        divisions: Sequence[Division],
    ) -> Self:
        """Read what is needed to find items in views of each space; no views for a space that learns again.

        Rows of all items are read only if a space learns again, or if a view has no index to use: several metrics index
        an item by its label, which an evaluation must not know, and codes to re-rank need float vectors.
        """
        indexes = {}
        for space, views in targets:
            for view in views:
                (target, *more) = space.targets_of(view)
                index = None if more or space.rerank else versions.index_at(tx, space, target)
                if index is not None:
                    indexes[space.name, view] = IndexedTarget(target, index)
        every = not all(views for _, views in targets) or len(indexes) < sum(len(views) for _, views in targets)
        needed = [part for division in divisions for part in (division.queries, compared_with(division))]
        return cls(with_rows(tx, items if every else items.of_ids(np.concatenate(needed))), indexes)


def compared_with(division: Division) -> NDArray[np.int64]:
    """Return the ids of the trained items with which queries are compared: all, or some drawn at random."""
    ids = division.trained
    if len(ids) <= MOST_TRAINED:
        return ids
    return np.sort(np.random.default_rng(0).choice(ids, MOST_TRAINED, replace=False))


def near_repeats(items: Examples, division: Division) -> NDArray[np.bool_]:
    """Return which queries, of at most ``MOST``, have nearly the same row as a trained item in any view, (q,).

    ``items`` have their rows, at least the queries and the items of ``compared_with``.
    """
    ids = division.queries
    if len(ids) > MOST:
        ids = np.sort(np.random.default_rng(0).choice(ids, MOST, replace=False))
    queries, trained = items.of_ids(ids), np.isin(items.ids, compared_with(division))
    repeats = np.zeros(len(queries), bool)
    for view, with_view, offered in zip(items.rows, queries.mask.T, items.mask.T & trained, strict=True):
        if with_view.any() and offered.any():
            near = _nearest(queries.rows[view][with_view], items.rows[view], np.flatnonzero(offered))
            repeats[with_view] |= near <= SHARE * np.median(near)
    return repeats


def repeats_sentence(repeats: NDArray[np.bool_]) -> str:
    """Return a note on the number of queries that nearly repeat trained items, and the remedy; "" for none."""
    count = int(repeats.sum())
    if not count:
        return ""
    return (
        f"{count} of {len(repeats)} queries nearly repeat a trained item: in some view, their distance to it is at "
        f"most {SHARE:.0%} of the median of such distances; group items that belong together, to keep them on one side"
    )


def _nearest(queries: NDArray[np.float32], rows: NDArray[np.float32], offered: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the distance of each query to the nearest of the rows, (q,), exactly 0 for equal rows."""
    least = np.full(len(queries), np.inf)
    for start in range(0, len(offered), _ROWS_AT_ONCE):
        checkpoint()
        some = rows[offered[start : start + _ROWS_AT_ONCE]]
        nearest, _ = pairwise_distances_argmin_min(queries, some)
        least = np.minimum(least, np.linalg.norm(queries.astype(np.float64) - some[nearest], axis=1))
    return least
