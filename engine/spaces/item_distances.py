"""Distances of one query to all items of a target, and the scale on which those of several targets add up."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.examples import as_numbers
from crossview.engine.spaces.target import Target
from crossview.index.base import Ids, Index, Selection
from crossview.index.every import euclidean, hamming

Floats = NDArray[np.float64]
ANCHORS = 100
"""Items of a target whose distances to a query state how far items usually are from it."""
_READ_BELOW = 0.3
"""Share of the items up to which reading those that a filter passes is faster than a scan."""
_AT_ONCE = 4096
"""Rows that are compared with their mean at a time, which stay in the processor's cache."""


def distances_to(target: Target, query: NDArray[Any], rows: NDArray[Any]) -> Floats:
    """Return the distances, as a search states them, of a query's vector or code to those of items, (n,)."""
    if not target.codes:
        return euclidean(query, rows).astype(np.float64)
    if not target.floats:
        return hamming(query, rows).astype(np.float64)
    floats = (np.ascontiguousarray(one[..., target.code_bytes :]).view(np.float32) for one in (query, rows))
    return euclidean(*floats).astype(np.float64)


def every_distance(target: Target, index: Index, query: NDArray[Any], only: Selection | None) -> tuple[Ids, Floats]:
    """Return the ids, ascending, of the items of a target that ``only`` selects, and their distances, (n,)."""
    if only is not None and len(only.ids) < _READ_BELOW * len(index):
        ids = np.intersect1d(only.ids, index.ids(), assume_unique=True)
        return ids, distances_to(target, query, index.get(ids)) if len(ids) else np.empty(0)
    blocks = [(ids, distances_to(target, query, rows)) for ids, rows in _blocks(index)]
    ids, distances = _ascending(blocks)
    if only is None:
        return ids, distances
    chosen = np.isin(ids, only.ids, assume_unique=True)
    return ids[chosen], distances[chosen]


@dataclass(frozen=True, eq=False)
class Scale:
    """How far the items of a target are from each other.

    A distance counts in multiples of the item's reach, its root mean square distance to the other items (the mean, if
    bits differ), because some items are near everything (hubs; Radovanovic et al., JMLR 2010), and then in standard
    deviations over a sample, the anchors. The mean of the vectors determines all reaches, so that a change of the
    collection costs two passes over its vectors.
    """

    target: Target
    ids: Ids
    """The items, ascending, (n,)."""
    reaches: Floats
    """(n,)"""
    anchors: NDArray[Any]
    """The vectors or codes of the sample, (m, width)."""
    anchor_ids: Ids

    @classmethod
    def of(cls, target: Target, index: Index) -> Self:
        """Return the scale of a target's items; the same items have the same anchors."""
        ids = index.ids()
        drawn = np.sort(np.random.default_rng(0).permutation(len(ids))[:ANCHORS])
        sums = [_as_numbers(target, rows).sum(axis=0, dtype=np.float64) for _, rows in _blocks(index)]
        mean = (sum(sums) / max(len(ids), 1)).astype(np.float32) if sums else np.zeros(0, np.float32)
        found, squares = _ascending([(some, _squares(target, rows, mean)) for some, rows in _blocks(index)])
        # n times the squared distance to the mean, plus those of all items to it, is the sum over all items.
        gaps = (len(ids) * squares + squares.sum()) / max(len(ids) - 1, 1)
        reaches = gaps / 4 if target.codes and not target.floats else np.sqrt(gaps)
        return cls(target, found, np.where(reaches > 0, reaches, 1.0), index.get(ids[drawn]), ids[drawn])

    def scores(self, query: NDArray[Any], ids: Ids, distances: Floats, own: int | None = None) -> Floats:
        """Return how near items, (n,), are to a query at these distances: 0 like the anchors, in their deviations.

        ``own`` is the item of the query, which does not count among the anchors.
        """
        others = self.anchor_ids != (-1 if own is None else own)
        usual = distances_to(self.target, query, self.anchors[others]) / self._reach(self.anchor_ids[others])
        ratios = distances / self._reach(ids)
        if not len(usual):
            return -ratios
        found: Floats = (usual.mean() - ratios) / (float(usual.std()) or 1.0)
        return found

    def _reach(self, ids: Ids) -> Floats:
        if len(ids) == len(self.ids):
            return self.reaches
        if len(ids) and self.ids[-1] - self.ids[0] == len(self.ids) - 1:  # without gaps, a place is a difference
            places = ids - self.ids[0]
        else:
            places = np.searchsorted(self.ids, ids)
        found: Floats = self.reaches[places]
        return found


def _squares(target: Target, rows: NDArray[Any], mean: NDArray[np.float32]) -> Floats:
    """Return the squared distance of each row, (n, width), to the mean of all, (n,)."""
    parts = [_as_numbers(target, rows[start : start + _AT_ONCE]) - mean for start in range(0, len(rows), _AT_ONCE)]
    return np.concatenate([np.empty(0), *(np.vecdot(part, part).astype(np.float64) for part in parts)])


def _as_numbers(target: Target, rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return what distances compare, (n, D): floats, also those behind codes, and otherwise bits as 1 or -1."""
    if target.codes and target.floats:
        return np.ascontiguousarray(rows[:, target.code_bytes :]).view(np.float32)
    numbers: NDArray[np.float32] = as_numbers(target, rows)
    return numbers


def _blocks(index: Index) -> Iterator[tuple[Ids, Any]]:
    for ids, rows in index.blocks():
        checkpoint()
        yield ids, rows


def _ascending(blocks: list[tuple[Ids, Floats]]) -> tuple[Ids, Floats]:
    """Return ids and values of blocks together, in the order of ids."""
    ids = np.concatenate([np.empty(0, np.int64), *(some for some, _ in blocks)])
    values = np.concatenate([np.empty(0), *(values for _, values in blocks)])
    if (ids[1:] > ids[:-1]).all():
        return ids, values
    order = np.argsort(ids)
    return ids[order], values[order]
