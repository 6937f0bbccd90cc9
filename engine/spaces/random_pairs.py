"""Pairs of items drawn by chance: how alike two items usually are, and what a target is worth, without labels.

A pair's place among them is a number that all targets have in common, whatever the unit of their distances. Targets
whose nearest items are also near in the others are right more often: if errors of targets are independent, the share of
common neighbours of two targets is the product of their qualities (the spectral meta-learner of Parisi, Strino, Nadler
and Kluger, PNAS 2014, for neighbours), so that three targets determine the quality of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Self

import numpy as np

from crossview.engine.spaces.columns import (
    Column,
    Crossing,
    Evidence,
    Floats,
    distance_table,
    drawn_items,
    mean_of_crossings,
)
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState
from crossview.index.base import Ids

SAMPLE = 400
"""Maximum number of items whose pairs are compared."""
_NEIGHBOURS = 10
"""Nearest items of each item of the sample that targets have in common, or not."""
_FEWEST = 5 * _NEIGHBOURS
"""Items with all targets below which common neighbours say nothing, so that all targets weigh the same."""
_LEAST = 0.005
"""Least share of common neighbours, so that no weight is 0."""
_POWER = 3.0
"""The weight of a target is this power of its quality. On the development sets (docs/benchmarks/fusion.md), smaller
powers lose to a target that is much better than the others, and greater ones to targets that are equally good."""
_TAIL = 100
"""One pair of so many tells how fast the scores of the most and of the least similar pairs change."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """The share of pairs drawn by chance that are less alike than a pair with a score, from 0 to 1."""

    scores: Floats
    """Different scores of the pairs, ascending, (n,)."""
    shares: Floats
    """The share of pairs below each, with half of those that are equal, (n,)."""
    ends: tuple[float, float]
    """Differences of scores below the first and above the last by which the share of pairs beyond falls by e."""

    @classmethod
    def among(cls, scores: Floats) -> Self:
        """Return the similarity by the scores of pairs, (p,), in any order."""
        values, counts = np.unique(scores, return_counts=True)
        shares = (np.cumsum(counts) - counts / 2 + 0.5) / (len(scores) + 1)
        few, ends = -(-len(scores) // _TAIL), (1.0, 1.0)
        if len(values) > 1:
            ordered = np.sort(scores)
            ends = float(ordered[:few].mean() - values[0]), float(values[-1] - ordered[-few:].mean())
        usual = float(scores.std()) if len(scores) else 0.0
        return cls(values, shares, (ends[0] or usual or 1.0, ends[1] or usual or 1.0))

    def of(self, scores: Floats) -> Floats:
        """Return the similarity of pairs by their scores, (n,); one half if there are no other pairs."""
        if not len(self.scores):
            return np.full(len(scores), 0.5)
        shares = np.interp(scores, self.scores, self.shares)
        least, most = self.scores[0] - scores, scores - self.scores[-1]
        shares = np.where(least > 0, self.shares[0] * np.exp(-np.maximum(least, 0) / self.ends[0]), shares)
        above = (1 - self.shares[-1]) * np.exp(-np.maximum(most, 0) / self.ends[1])
        similarity: Floats = np.where(most > 0, 1 - above, shares)
        return similarity


@dataclass(frozen=True, eq=False)
class RandomPairs:
    """The scores of pairs of items in some crossings."""

    table: Floats
    """The scores of items, as of columns, for queries that are items, too, (m, m, crossings); NaN without one."""
    strange: Floats
    """By how much each query is farther from items than others are, (m, crossings); NaN without a row."""
    levels: Sequence[tuple[float, float]]
    """The mean of all distances over the reaches of items, and their deviation, by crossing."""
    weights: tuple[float, ...]
    """The weight of each crossing, above 0; the greatest is 1."""

    @classmethod
    def of(cls, evidence: Evidence, crossings: Sequence[Crossing]) -> Self:
        """Return the pairs of a sample of the items; the same items have the same sample."""
        ids = _sample(evidence.state, crossings)
        tables, strange, levels = list[Floats](), list[Floats](), list[tuple[float, float]]()
        for view, target in crossings:
            distances, reaches = _distances(evidence, view, target, ids)
            if len(crossings) == 1:  # one target keeps the order of its distances
                return cls(-distances[..., None], np.zeros((len(ids), 1)), [(0.0, 1.0)], (1.0,))
            ratios = distances / reaches
            mean, deviation = _moments(ratios.ravel())
            usual = np.array([_moments(row) for row in ratios])
            tables.append((usual[:, :1] - ratios) / usual[:, 1:])
            strange.append(np.where(np.isnan(ratios).all(axis=1), np.nan, (usual[:, 0] - mean) / deviation))
            levels.append((mean, deviation))
        table = np.stack(tables, axis=2)
        return cls(table, np.stack(strange, axis=1), levels, _weights(table))

    def similarity(self, weights: Sequence[float]) -> Similarity:
        """Return the similarity by weighted mean scores of which the strangeness of the query is subtracted."""
        means = mean_of_crossings(self.table, weights)
        rows, places = np.nonzero(np.isfinite(means))
        return Similarity.among(means[rows, places] - mean_of_crossings(self.strange[:, None], weights)[rows, 0])

    def strangeness(self, usual: Sequence[float], weights: Sequence[float]) -> float:
        """Return by how much a query is farther from items than others are; ``usual`` are its usual distances."""
        parts = [(mean - level) / spread for mean, (level, spread) in zip(usual, self.levels, strict=True)]
        return float(np.average(parts, weights=weights))


def random_pairs(evidence: Evidence, crossings: Sequence[Crossing]) -> RandomPairs:
    """Return the pairs in some crossings, drawn once for each state of their indexes."""
    state = evidence.state
    indexes = tuple(state.indexed.indexes[target].index for _, target in crossings)
    place = "pairs", state.space.name, state.indexed.identity, tuple(crossings), indexes
    return state.version.remembered.value(place, lambda: RandomPairs.of(evidence, crossings))


def similarities(evidence: Evidence, columns: Sequence[Column], weights: Sequence[float], means: Floats) -> Floats:
    """Return the similarity of a query and items by their weighted mean scores in its columns, (n,)."""
    pairs = random_pairs(evidence, [column.crossing for column in columns])
    place = "similarity", pairs, tuple(weights)
    similarity = evidence.state.version.remembered.value(place, lambda: pairs.similarity(weights))
    return similarity.of(means - (pairs.strangeness(evidence.usual(columns), weights) if len(columns) > 1 else 0.0))


def _sample(state: SearchState, crossings: Sequence[Crossing]) -> Ids:
    """Return some items that have all targets or, if there are too few, any."""
    ids = [state.indexed.indexes[target].index.ids() for _, target in crossings]
    common = reduce(np.intersect1d, ids)
    return drawn_items(common if len(common) >= _FEWEST else reduce(np.union1d, ids), SAMPLE)


def _distances(evidence: Evidence, view: str, target: Target, ids: Ids) -> tuple[Floats, Floats]:
    """Return the distances between items, (m, m), and the reaches of items, (m,); NaN without a row or a vector."""
    state, index = evidence.state, evidence.state.indexed.indexes[target].index
    distances, reaches = np.full((len(ids), len(ids)), np.nan), np.full(len(ids), np.nan)
    with state.version.read() as tx:
        stored = state.version.joined_view(view).rows(tx, ids.tolist())
    has = np.isin(ids, index.ids(), assume_unique=True)
    if len(stored.ids) and has.any():
        vectors = state.space.probe(view, stored.rows, [str(target)])[target]
        table = distance_table(target, vectors, index.get(ids[has]))
        distances[np.ix_(np.searchsorted(ids, stored.ids), np.flatnonzero(has))] = table
        reaches[has] = evidence.scale(target).reach(ids[has])
    np.fill_diagonal(distances, np.nan)
    return distances, reaches


def _moments(values: Floats) -> tuple[float, float]:
    """Return the mean and the deviation of the values that are not NaN; the latter is 1 if all are equal."""
    values = values[~np.isnan(values)]
    return (float(values.mean()), float(values.std()) or 1.0) if len(values) else (0.0, 1.0)


def _weights(table: Floats) -> tuple[float, ...]:
    """Return the weights of crossings by their common neighbours; equal ones if these cannot tell."""
    size, _, count = table.shape
    if count < 3 or size < _FEWEST or (np.isnan(table).sum(axis=(0, 1)) > size).any():
        return (1.0,) * count
    nearest = np.argsort(-np.nan_to_num(table, nan=-np.inf), axis=1, kind="stable")[:, :_NEIGHBOURS]
    near = np.zeros(table.shape, bool)
    np.put_along_axis(near, nearest, True, axis=1)
    pairs, chance = list(combinations(range(count), 2)), _NEIGHBOURS / (size - 1)
    common = np.array([(near[..., a] & near[..., b]).sum() for a, b in pairs]) / (size * _NEIGHBOURS)
    # The logarithm of a product of two qualities is the sum of their logarithms: one equation for each pair.
    equations = np.zeros((len(pairs), count))
    for row, pair in zip(equations, pairs, strict=True):
        row[list(pair)] = 1
    logs = np.linalg.lstsq(equations, np.log(np.maximum((common - chance) / (1 - chance), _LEAST)))[0]
    weights: list[float] = np.exp(_POWER * (logs - logs.max())).tolist()
    return tuple(weights)
