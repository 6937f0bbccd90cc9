"""Distances of one query to all items of a target, and the scale on which those of several targets add up."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.target import Target
from crossview.index.base import Ids, Index, Selection
from crossview.index.every import euclidean, hamming

Floats = NDArray[np.float64]
ANCHORS = 100
"""Items of a target whose mean distance states how far an item is from others. On corel1k and merged20, 50 to 400
differ by at most 1 point of mAP."""
_READ_BELOW = 0.3
"""Share of the items up to which reading those that a filter passes is faster than a scan."""
_AT_ONCE = 4096
"""Rows that are compared with the anchors at a time, which stay in the processor's cache."""


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
    """How far the items of a target are from a sample of them, the anchors.

    A distance counts in multiples of the item's mean distance to the anchors, because some items are near everything
    (hubs; Radovanovic et al., JMLR 2010), and then in standard deviations over the anchors.
    """

    target: Target
    ids: Ids
    """The items, ascending, (n,)."""
    reaches: Floats
    """The mean distance of each to the anchors, (n,)."""
    anchors: NDArray[Any]
    """Their vectors or codes, (m, width)."""
    anchor_ids: Ids

    @classmethod
    def of(cls, target: Target, index: Index) -> Self:
        """Return the scale of a target's items; the same items have the same anchors."""
        ids = index.ids()
        drawn = np.sort(np.random.default_rng(0).permutation(len(ids))[:ANCHORS])
        anchors = index.get(ids[drawn])
        measured = _Anchors(target, anchors)
        blocks = [
            (some, np.concatenate([measured.sums(part) for part in _parts(rows)])) for some, rows in _blocks(index)
        ]
        found, sums = _ascending(blocks)
        others = len(drawn) - np.isin(found, ids[drawn], assume_unique=True)
        reaches = sums / np.maximum(others, 1)
        return cls(target, found, np.where(reaches > 0, reaches, 1.0), anchors, ids[drawn])

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


class _Anchors:
    """The vectors of the anchors as numbers; codes count as numbers of 1 and -1."""

    def __init__(self, target: Target, anchors: NDArray[Any]) -> None:
        self._target = target
        self._numbers = self._as_numbers(anchors)
        self._squares = np.vecdot(self._numbers, self._numbers)

    def sums(self, rows: NDArray[Any]) -> Floats:
        """Return the sum of the distances of each row, (n, width), to all anchors, (n,)."""
        checkpoint()
        numbers = self._as_numbers(rows)
        products = numbers @ self._numbers.T
        if self._target.codes and not self._target.floats:
            found: Floats = ((self._target.dim - products) / 2).sum(axis=1, dtype=np.float64)
            return found
        squares = np.vecdot(numbers, numbers)[:, None] - 2 * products + self._squares
        sums: Floats = np.sqrt(np.maximum(squares, 0)).sum(axis=1, dtype=np.float64)
        return sums

    def _as_numbers(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        if not self._target.codes:
            return rows
        if self._target.floats:
            return np.ascontiguousarray(rows[:, self._target.code_bytes :]).view(np.float32)
        return np.unpackbits(rows, axis=1, count=self._target.dim).astype(np.float32) * 2 - 1


def _parts(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    for start in range(0, max(1, len(rows)), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]


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
