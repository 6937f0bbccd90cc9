"""Columns: the distances of one query to all items of one target, with scores and matches, and means over targets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.examples import as_numbers
from crossview.engine.spaces.match import Familiarity, Match
from crossview.engine.spaces.near_copies import Copies
from crossview.engine.spaces.rankings import CONSTANT
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState
from crossview.index.base import Ids, Index, Selection
from crossview.index.scan import euclidean, hamming

Floats = NDArray[np.float64]
Crossing = tuple[str, Target]
"""The view of a query, and a target in which it finds items."""
ANCHORS = 100
"""Items of a target whose distances to a query state how far items usually are from it."""
_READ_BELOW = 0.3
"""Share of the items up to which reading those that a filter passes is faster than a scan."""
_AT_ONCE = 4096
"""Rows that are compared with their mean at a time, which stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Column:
    """The distances of a query of one view to all items of a target that the search may find, without its own item."""

    crossing: Crossing
    vector: NDArray[Any]
    """The query's vector or code, (width,)."""
    ids: Ids
    """Ascending, (n,)."""
    distances: Floats
    """(n,)."""
    own: int | None
    """The item that the query names; None for other queries."""
    copies: Copies
    familiarity: Familiarity | None
    """That of the query's row; None without matches."""
    is_foreign: bool = False
    """Whether the query is a text among rows of pictures, which are farther from it than from each other."""

    def first(self) -> float:
        """Return the distance of the nearest item that is not a near copy, or of the nearest."""
        mask = ~np.isin(self.ids, list(self.copies)) if self.copies else np.ones(len(self.ids), bool)
        return float(self.distances[mask if mask.any() else ~mask].min(initial=np.inf))


def drawn_items(ids: Ids, count: int) -> Ids:
    """Return up to ``count`` of some ids, ascending, as if by chance; others that come or go change few of them."""
    mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) ^ (mixed >> np.uint64(32))
    return ids if len(ids) <= count else np.sort(ids[np.argpartition(mixed, count)[:count]])


def distances_to(target: Target, query: NDArray[Any], rows: NDArray[Any]) -> Floats:
    """Return the distances, as a search states them, of a query's vector or code to those of items, (n,)."""
    if not target.codes:
        return euclidean(query, rows).astype(np.float64)
    if not target.floats:
        return hamming(query, rows).astype(np.float64)
    floats = (np.ascontiguousarray(vectors[..., target.code_bytes :]).view(np.float32) for vectors in (query, rows))
    return euclidean(*floats).astype(np.float64)


def distance_table(target: Target, queries: NDArray[Any], rows: NDArray[Any]) -> Floats:
    """Return the distances, up to rounding, of vectors or codes of queries to those of items, (q, n)."""
    first, second = (_compared(target, vectors).astype(np.float64) for vectors in (queries, rows))
    squares = np.vecdot(first, first)[:, None] + np.vecdot(second, second) - 2 * first @ second.T
    squares = np.maximum(squares, 0)
    distances: Floats = squares / 4 if target.codes and not target.floats else np.sqrt(squares)
    return distances


def moments(values: Floats) -> tuple[float, float]:
    """Return the mean and the deviation of the values that are not NaN; the latter is 1 if all are equal."""
    values = values[~np.isnan(values)]
    return (float(values.mean()), float(values.std()) or 1.0) if len(values) else (0.0, 1.0)


def every_distance(target: Target, index: Index, query: NDArray[Any], only: Selection | None) -> tuple[Ids, Floats]:
    """Return the ids, ascending, of the items of a target that ``only`` selects, and their distances, (n,)."""
    if only is not None and len(only.ids) < _READ_BELOW * len(index):
        ids = np.intersect1d(only.ids, index.ids(), assume_unique=True)
        return ids, distances_to(target, query, index.get(ids)) if len(ids) else np.empty(0)
    blocks = [(ids, distances_to(target, query, rows)) for ids, rows in _blocks(index)]
    ids, distances = _ascending(blocks)
    if only is None:
        return ids, distances
    mask = np.isin(ids, only.ids, assume_unique=True)
    return ids[mask], distances[mask]


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
        drawn = drawn_items(ids, ANCHORS)
        sums = [_compared(target, rows).sum(axis=0, dtype=np.float64) for _, rows in _blocks(index)]
        mean = (sum(sums) / max(len(ids), 1)).astype(np.float32) if sums else np.zeros(0, np.float32)
        sorted_ids, squares = _ascending([(block, _squares(target, rows, mean)) for block, rows in _blocks(index)])
        # n times the squared distance to the mean, plus those of all items to it, is the sum over all items.
        gaps = (len(ids) * squares + squares.sum()) / max(len(ids) - 1, 1)
        reaches = gaps / 4 if target.codes and not target.floats else np.sqrt(gaps)
        return cls(target, sorted_ids, np.where(reaches > 0, reaches, 1.0), index.get(drawn), drawn)

    def scores(self, column: Column) -> tuple[Floats, float]:
        """Return how near the items of a column are, (n,): 0 like the anchors, in their deviations.

        The second value is the mean distance of the anchors, without the query's item, over their reaches.
        """
        mask = self.anchor_ids != (-1 if column.own is None else column.own)
        apart = distances_to(self.target, column.vector, self.anchors[mask])
        mean, deviation = moments(apart / self.reach(self.anchor_ids[mask]))
        return (mean - column.distances / self.reach(column.ids)) / deviation, mean

    def reach(self, ids: Ids) -> Floats:
        """Return the reaches of some of the items, (n,)."""
        if len(ids) == len(self.ids):  # all of them: ``ids`` are ascending items of the target
            return self.reaches
        if len(ids) and self.ids[-1] - self.ids[0] == len(self.ids) - 1:  # without gaps, a place is a difference
            places = ids - self.ids[0]
        else:
            places = np.searchsorted(self.ids, ids)
        reaches: Floats = self.reaches[places]
        return reaches


def _squares(target: Target, rows: NDArray[Any], mean: NDArray[np.float32]) -> Floats:
    """Return the squared distance of each row, (n, width), to the mean of all, (n,)."""
    parts = [_compared(target, rows[start : start + _AT_ONCE]) - mean for start in range(0, len(rows), _AT_ONCE)]
    return np.concatenate([np.empty(0), *(np.vecdot(part, part).astype(np.float64) for part in parts)])


def _compared(target: Target, rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return what distances compare, (n, D): floats, also those behind codes, and otherwise bits as 1 or -1."""
    if target.codes and target.floats:  # a view in another type needs contiguous bytes
        return np.ascontiguousarray(rows[:, target.code_bytes :]).view(np.float32)
    numbers: NDArray[np.float32] = as_numbers(target, rows)
    return numbers


def _blocks(index: Index) -> Iterator[tuple[Ids, Any]]:
    for ids, rows in index.blocks():
        checkpoint()
        yield ids, rows


def _ascending(blocks: list[tuple[Ids, Floats]]) -> tuple[Ids, Floats]:
    """Return ids and values of blocks together, in the order of ids."""
    ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in blocks)])
    values = np.concatenate([np.empty(0), *(values for _, values in blocks)])
    if (ids[1:] > ids[:-1]).all():
        return ids, values
    order = np.argsort(ids)
    return ids[order], values[order]


@dataclass(frozen=True)
class Evidence:
    """The matches and scores of the items of columns, in one state of a space."""

    state: SearchState

    def match(self, column: Column) -> Match | None:
        """Return the calibrated match of a column; None without one."""
        if column.familiarity is None:
            return None
        return self.state.space.match_of.get((column.crossing[0], str(column.crossing[1])))

    def matches(self, columns: Sequence[Column]) -> list[Floats]:
        """Return the match of each item of every column that has one, (n,)."""
        pairs = [(column, self.match(column)) for column in columns]
        return [
            match.of_all(column.distances, column.first(), column.familiarity)
            for column, match in pairs
            if match is not None and column.familiarity is not None
        ]

    def logits(self, columns: Sequence[Column]) -> list[Floats]:
        """Return the bounded logits of the matches of every column that has them, (n,)."""
        matches = [match for column in columns if (match := self.match(column)) is not None]
        return [match.evidence(values) for match, values in zip(matches, self.matches(columns), strict=True)]

    def scores(self, columns: Sequence[Column]) -> list[tuple[Floats, float]]:
        """Return how near each item of every column is, (n,), and how far items usually are, as ``Scale.scores``."""
        return [self.scale(column.crossing[1]).scores(column) for column in columns]

    def calibrated(self, crossings: Sequence[Crossing]) -> bool:
        """Return whether all crossings have a match, and their views what its familiarity needs."""
        space = self.state.space
        return all((view, str(target)) in space.match_of and view in space.novelty_of for view, target in crossings)

    def to_learn(self, columns: Sequence[Column], by_match: bool) -> list[Floats]:
        """Return what learned weights weigh, (n,) for each column: logits of the matches, or the scores."""
        return self.logits(columns) if by_match else [scores for scores, _ in self.scores(columns)]

    def scale(self, target: Target) -> Scale:
        """Return the scale of a target's items, computed once for each state of its index."""
        index = self.state.indexed.indexes[target].index
        return self.state.version.remembered.value(("scale", index), lambda: Scale.of(target, index))


def reciprocal_ranks(distances: Floats) -> Floats:
    """Return 1 / (60 + rank) for each distance, (n,); equal distances have equal ranks, from 1."""
    order = np.argsort(distances)
    apart = np.diff(distances[order], prepend=-np.inf) > 0
    ranks = np.maximum.accumulate(np.where(apart, np.arange(1, len(order) + 1), 1))
    reciprocals = np.empty(len(order))
    reciprocals[order] = 1 / (CONSTANT + ranks)
    return reciprocals


def mean_scores(items: Sequence[Ids], scores: Sequence[Floats], weights: Sequence[float]) -> tuple[Ids, Floats]:
    """Return the ids of all items, ascending, and their weighted mean scores, (n,).

    ``items`` and ``scores`` belong to targets, with positive ``weights``. An item has the mean over the targets that
    have it, so that lacking a view neither helps nor harms.
    """
    size = 1 + max((int(ids.max(initial=-1)) for ids in items), default=-1)
    totals, counts = np.zeros(size), np.zeros(size)
    for ids, values, weight in zip(items, scores, weights, strict=True):
        totals[ids] += weight * values
        counts[ids] += weight
    all_ids = np.flatnonzero(counts)
    return all_ids, totals[all_ids] / counts[all_ids]


def mean_of_crossings(scores: Floats | NDArray[np.float32], weights: Sequence[float]) -> Floats:
    """Return the weighted mean over the crossings that have a score, (q, n); least for items without any."""
    present = np.where(np.isnan(scores), 0.0, weights)
    total = present.sum(axis=2)
    means = np.nansum(scores * present, axis=2) / np.maximum(total, 1e-12)
    return np.where(total > 0, means, -np.inf)


def best_first(k: int, *scores: Floats) -> NDArray[np.intp]:
    """Return the places of the k greatest scores, (n,); later scores decide between equal ones, then the place."""
    places = np.arange(len(scores[0]))
    if len(places) > 4 * k:  # sorting a few is several times as fast as sorting all
        least = np.partition(scores[0], len(places) - k)[len(places) - k]
        places = np.flatnonzero(scores[0] >= least)
    order = np.lexsort((places, *(-values[places] for values in reversed(scores))))
    return places[order[:k]]
