"""Random pairs of items: how alike a query and items are, as a number that all targets share, and whether any fits.

Pairs of items drawn by chance tell, without labels, how alike two items usually are: the place of a pair among them is
a number that all targets have in common, though their distances have different units. They also tell the worth of a
target: one whose nearest items are near in the others, too, is right more often. If the errors of targets are
independent, the share of common neighbours of two targets is the product of their qualities, so that three targets
determine the quality of each (as in the spectral meta-learner of Parisi, Strino, Nadler and Kluger, PNAS 2014).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import cosine_similarity

from crossview.engine.spaces.columns import (
    Column,
    Crossing,
    Evidence,
    Floats,
    distance_table,
    distances_to,
    drawn_items,
    mean_of_crossings,
    moments,
)
from crossview.engine.spaces.examples import as_numbers
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import Remembered, SearchState
from crossview.features.conse import Conse
from crossview.index.base import Ids

SAMPLE = 400
"""Maximum number of items whose pairs are compared."""
_NEIGHBOURS = 10
"""Nearest items of each item of the sample that targets have in common, or not."""
_FEWEST = 5 * _NEIGHBOURS
"""Items with all targets below which common neighbours say nothing, so that all targets weigh the same."""
_LEAST = 0.005
"""Least share of common neighbours, so that no weight is 0."""
_ODD = 0.05
"""Share of the items whose nearest item is less alike than the nearest item of a query that anything resembles."""
_POWER = 3.0
"""The weight of a target is this power of its quality. On the development sets (docs/decisions/fusion.md), smaller
powers lose to a target that is much better than the others, and greater ones to targets that are equally good."""
_TAIL = 100
"""One pair of so many tells how fast the scores of the most and of the least similar pairs change."""
_QUANTILES = 4_000  # scores that a similarity keeps at most
_KEPT = 8  # sets of crossings whose pairs are kept, and weights of each: a page asks for as many lists at once
_FIRST = 5
"""Nearest pictures that are looked at."""
_PART, _MORE = 0.5, 0.06
"""The cosine of words and the nearest pictures of what they name is at least this part of that of words and the nearest
name of a class, and this much more (docs/decisions/fusion.md)."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """The share of pairs drawn by chance that are less alike than a pair with a score, from 0 to 1."""

    scores: Floats
    """Different scores of the pairs, ascending, (n,)."""
    shares: Floats
    """The share of pairs below each, with half of those that are equal, (n,)."""
    ends: tuple[float, float]
    """Differences of scores below the first and above the last by which the share of pairs beyond falls by e."""
    least: float = 0.0
    """A similarity that the nearest item of nearly every item reaches; 0 if they are too few to tell."""

    @classmethod
    def among(cls, scores: Floats) -> Self:
        """Return the similarity by the scores of pairs, (p,), in any order."""
        ordered, few = np.sort(scores), -(-len(scores) // _TAIL)
        first = np.flatnonzero(np.diff(ordered, prepend=-np.inf))  # of each group of equal scores
        counts, values = np.diff(first, append=len(ordered)), ordered[first]
        shares = (first + counts / 2 + 0.5) / (len(ordered) + 1)
        ends = (1.0, 1.0)
        if len(values) > 1:
            usual = float(scores.std())
            below, above = float(ordered[:few].mean() - values[0]), float(values[-1] - ordered[-few:].mean())
            ends = below or usual or 1.0, above or usual or 1.0
        if len(values) > _QUANTILES:  # the most and the least similar pairs are kept one by one
            places = np.rint((len(values) - 1) * np.sin(np.linspace(0, np.pi / 2, _QUANTILES)) ** 2).astype(int)
            values, shares = values[np.unique(places)], shares[np.unique(places)]
        return cls(values, shares, ends)

    def of(self, scores: Floats) -> Floats:
        """Return the similarity of pairs by their scores, (n,); one half if there are no other pairs."""
        if not len(self.scores):
            return np.full(len(scores), 0.5)
        shares = np.interp(scores, self.scores, self.shares)
        with np.errstate(over="ignore"):  # nothing is farther beyond an end than infinitely many of its steps
            below = np.exp(-np.maximum(self.scores[0] - scores, 0) / self.ends[0])
            above = np.exp(-np.maximum(scores - self.scores[-1], 0) / self.ends[1])
        shares = np.where(scores < self.scores[0], self.shares[0] * below, shares)
        similarity: Floats = np.where(scores > self.scores[-1], 1 - (1 - self.shares[-1]) * above, shares)
        return similarity


@dataclass(frozen=True, eq=False)
class RandomPairs:
    """The scores of pairs of items in some crossings."""

    table: NDArray[np.float32]
    """The scores of items, as of columns, for queries that are items, too, (m, m, crossings); NaN without one."""
    strange: Floats
    """By how much each query is farther from items than others are, (m, crossings); NaN where this is unknown."""
    levels: Mapping[Crossing, tuple[float, float]]
    """The mean of all distances over the reaches of items, and their deviation, by crossing, in the order of the table;
    NaN for a crossing with too few items. A crossing that is alone has those of its scores."""
    weights: Mapping[Crossing, float]
    """The weight of each crossing, above 0; the greatest is 1."""
    remembered: Remembered = field(default_factory=lambda: Remembered(_KEPT))
    """The similarities by weights."""

    @classmethod
    def of(cls, evidence: Evidence, crossings: Sequence[Crossing]) -> Self:
        """Return the pairs of a sample of the items; the same items have the same sample."""
        ids = _sample(evidence.state, crossings)
        tables, strange, levels = list[NDArray[np.float32]](), list[Floats](), dict[Crossing, tuple[float, float]]()
        for crossing in crossings:
            distances, reaches = _distances(evidence, *crossing, ids)
            if len(crossings) == 1:  # one target keeps the order of its distances
                table = -distances[..., None].astype(np.float32)
                return cls(table, np.zeros((len(ids), 1)), {crossing: moments(-distances)}, {crossing: 1.0})
            ratios = distances / reaches
            has = ~np.isnan(ratios)
            few = min(has.any(axis=axis).sum() for axis in (0, 1)) < _NEIGHBOURS
            levels[crossing] = mean, deviation = (np.nan, np.nan) if few else moments(ratios)
            sums, squares, counts = (np.nansum(part, axis=1) for part in (ratios, ratios**2, has))
            usual = np.where(counts, sums / np.maximum(counts, 1), np.nan)
            apart = np.sqrt(np.maximum(squares / np.maximum(counts, 1) - usual**2, 0))
            scores = (usual[:, None] - ratios) / np.where(apart > 0, apart, 1.0)[:, None]
            tables.append(scores.astype(np.float32))
            strange.append((usual - mean) / deviation)
        table = np.stack(tables, axis=2)
        return cls(table, np.stack(strange, axis=1), levels, dict(zip(crossings, _weights(table), strict=True)))

    def similarity(self, weights: Sequence[float]) -> Similarity:
        """Return the similarity by weighted mean scores of which the strangeness of the query is subtracted."""
        means = mean_of_crossings(self.table, weights)
        rows, places = np.nonzero(np.isfinite(means))
        scores = means[rows, places] - _strangeness(self.strange, weights)[rows]
        similarity, best = Similarity.among(scores), np.full(len(means), -np.inf)
        np.maximum.at(best, rows, scores)
        best = best[np.isfinite(best)]
        if len(best) < _FEWEST:
            return similarity
        return replace(similarity, least=float(np.quantile(similarity.of(best), _ODD)))


def random_pairs(evidence: Evidence, crossings: Sequence[Crossing]) -> RandomPairs:
    """Return the pairs in some crossings, in any order, drawn once for each state of their indexes."""
    state, ordered = evidence.state, sorted(crossings, key=str)
    indexes = tuple(state.indexed.indexes[target].index for _, target in ordered)
    place = state.space.name, state.indexed.identity, tuple(ordered), indexes
    kept = state.version.remembered.value("pairs", lambda: Remembered(_KEPT))
    return kept.value(place, lambda: RandomPairs.of(evidence, ordered))


def similarities(
    evidence: Evidence, columns: Sequence[Column], weights: Sequence[float], means: Floats, usual: Sequence[float]
) -> tuple[Floats, float]:
    """Return the similarity of a query and items by their weighted mean scores in its columns, (n,), and the least one.

    The nearest item of a query that anything resembles reaches the least one; 0 if nobody can tell.
    ``usual`` are the usual distances of the query, as ``Scale.scores``. A text among rows of pictures is as far from
    them as usual, because it is farther than any picture.
    """
    weight_of = dict(zip([column.crossing for column in columns], weights, strict=True))
    pairs = random_pairs(evidence, list(weight_of))
    ordered = tuple(weight_of[crossing] for crossing in pairs.levels)
    similarity = pairs.remembered.value(ordered, lambda: pairs.similarity(ordered))
    levels = [pairs.levels[crossing] for crossing in weight_of]
    if len(columns) > 1:
        parts = [
            0.0 if column.is_foreign else (mean - level) / spread
            for column, mean, (level, spread) in zip(columns, usual, levels, strict=True)
        ]
        means = means - _strangeness(np.array([parts]), weights)
    elif columns[0].is_foreign:
        target, (level, spread) = columns[0].crossing[1], levels[0]
        mean, deviation = moments(-distances_to(target, columns[0].vector, evidence.scale(target).anchors))
        means = level + spread * (means - mean) / deviation
    foreign = any(column.is_foreign for column in columns)
    return similarity.of(means), 0.0 if foreign else similarity.least


def _strangeness(parts: Floats, weights: Sequence[float]) -> Floats:
    """Return the mean over the crossings, (q, c), where strangeness is known, not NaN, (q,); 0 without any."""
    means = mean_of_crossings(parts[:, None], weights)[:, 0]
    return np.where(np.isfinite(means), means, 0.0)


def _sample(state: SearchState, crossings: Sequence[Crossing]) -> Ids:
    """Return some items that have all targets or, if there are too few, any."""
    ids = [state.indexed.indexes[target].index.ids() for _, target in crossings]
    common = reduce(lambda some, others: some[np.isin(some, others, assume_unique=True)], ids)
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


def _weights(table: NDArray[np.float32]) -> tuple[float, ...]:
    """Return the weights of crossings by their common neighbours; equal ones if these cannot tell."""
    size, _, count = table.shape
    if count < 3 or size < _FEWEST or (np.isnan(table).sum(axis=(0, 1)) > size).any():
        return tuple([1.0] * int(count))
    nearest = np.argpartition(-np.nan_to_num(table, nan=-np.inf), _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
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


def words_fit(state: SearchState, column: Column, ids: Ids) -> bool:
    """Return whether the words of a query fit the pictures with these ids, the nearest first, or nobody can tell.

    A picture is a mean of the names of a model's classes (see ``Conse``). Words that are far from every name are far
    from every picture, too, so that the nearest name states how near pictures of what they name would be.
    """
    view, target = column.crossing
    parts = state.version.joined_view(view).parts
    if not column.is_foreign or len(parts) > 1 or not len(ids):
        return True
    extractor = state.version.loaded.extractor(parts[0])
    if not isinstance(extractor, Conse):
        return True
    place = "names", state.space.name, state.indexed.identity, view, target
    names = state.version.remembered.value(
        place, lambda: state.space.probe(view, extractor.names, [str(target)])[target]
    )
    pictures = state.indexed.indexes[target].index.get(ids[:_FIRST])
    words, names, pictures = (as_numbers(target, rows) for rows in (column.vector[None], names, pictures))
    known, near = cosine_similarity(words, names).max(), cosine_similarity(words, pictures).mean()
    return bool(near >= _PART * known + _MORE)
