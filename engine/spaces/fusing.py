"""Fused search: one list over several targets, exact over all items, in the order of a match or of a similarity.

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
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crossview.engine.spaces.columns import (
    Column,
    Crossing,
    Evidence,
    Floats,
    best_first,
    distance_table,
    distances_to,
    drawn_items,
    every_distance,
    mean_of_crossings,
    mean_scores,
    moments,
    reciprocal_ranks,
)
from crossview.engine.spaces.doubt import words_fit
from crossview.engine.spaces.indexed import Selector
from crossview.engine.spaces.match import FEWEST_LABELLED
from crossview.engine.spaces.near_copies import near_copies
from crossview.engine.spaces.queries import (
    Asked,
    described,
    familiarity,
    is_foreign,
    query_probes,
    views_of,
    words_of_queries,
)
from crossview.engine.spaces.rankings import Ranking
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.teaching import Teacher
from crossview.engine.spaces.version import Remembered, SearchState
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.query import Query
from crossview.engine.values.strategy import DISTANCE, LEARN, MATCH, Nearest
from crossview.features.base import QueryWords
from crossview.index.base import Ids

_NEAR = 20
"""One in so many of a target's items that the search may find: a hit among the nearest of them names the target."""


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
        return (
            similarity
            if len(best) < _FEWEST
            else replace(similarity, least=float(np.quantile(similarity.of(best), _ODD)))
        )


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


class Fused(NamedTuple):
    """The scores of all items that a query may find, the greatest first by ``order``."""

    way: str
    columns: Sequence[Column]
    """The columns that count."""
    weights: Sequence[float]
    """The weight of each column; an item has the weighted mean of the columns that have it."""
    parts: Sequence[Floats]
    """The evidence of each column for its items, (n,): matches by match, and otherwise scores. The greatest is where a
    hit is nearest."""
    ids: Ids
    """Ascending, (n,)."""
    means: Floats
    """The mean of each item, (n,): of logits by match."""
    matches: Floats | None = None
    """The match of each item; None if nothing is calibrated."""
    order: NDArray[np.intp] = np.empty(0, np.intp)
    """The places of the first k items."""
    similarities: Floats | None = None
    """The similarities of the first k items, in their order, (k,); None with matches, and if ranks make the list."""
    line: tuple[float, float] = (0.0, 1.0)
    """The offset and the slope of the logits of ``matches`` by ``means``."""
    is_doubtful: bool = False
    """Whether even the first item resembles the query no more than chance would have it."""


@dataclass(frozen=True)
class Fusion:
    """How one search fuses the targets of each query."""

    state: SearchState
    strategy: Nearest
    k: int
    only: Selector

    @property
    def _evidence(self) -> Evidence:
        return Evidence(self.state)

    def columns(self, group: Asked, queries: Sequence[Query]) -> list[list[Column]]:
        """Return the columns of every query of a group; ``queries`` are those of the request.

        Raises the errors of ``near_copies``.
        """
        copies = near_copies(self.state, queries, group, self.k)
        familiar, foreign = familiarity(self.state, group, queries), is_foreign(self.state.version, group, queries)
        return [
            [
                Column(
                    (group.view, target),
                    vectors[row],
                    *self._distances(target, vectors[row], own),
                    own,
                    copies[row],
                    None if familiar is None else familiar[row],
                    foreign,
                )
                for target, vectors in group.probes.items()
            ]
            for row, own in enumerate(group.own)
        ]

    def _distances(self, target: Target, vector: NDArray[Any], own: int | None) -> tuple[Ids, Floats]:
        only = None if self.only is None else self.only(target)
        ids, distances = every_distance(target, self.state.indexed.indexes[target].index, vector, only)
        mask = np.ones(len(ids), bool) if own is None else ids != own
        return ids[mask], distances[mask]

    def ranking(self, number: int, columns: Sequence[Column], words: QueryWords | None = None) -> Ranking:
        """Return the first k items for the query with a number, each at its distance in the target that has it nearest.

        Raises the errors of ``scored``.
        """
        fused, least = self.scored(columns), self.strategy.min_match
        if least and fused.matches is None:
            raise NotReadyError(no_match(self.state.space, columns[0].crossing[0], str(columns[0].crossing[1])))
        places = fused.order if fused.matches is None else fused.order[fused.matches[fused.order] >= least]
        ids = fused.ids[places]
        best, distances = np.full(len(ids), -1, np.int32), np.zeros(len(ids))
        near = np.zeros((len(ids), len(fused.columns)), bool)
        greatest = np.full(len(ids), -np.inf)
        for place, (column, part) in enumerate(zip(fused.columns, fused.parts, strict=True)):
            if not len(column.ids):
                continue
            at = np.minimum(np.searchsorted(column.ids, ids), len(column.ids) - 1)
            first = -(-len(part) // _NEAR)
            near[:, place] = (column.ids[at] == ids) & (part[at] >= np.partition(part, -first)[-first])
            nearer = (column.ids[at] == ids) & ((part[at] > greatest) | (best < 0))
            best[nearer], greatest[nearer] = place, part[at[nearer]]
            distances[nearer] = column.distances[at[nearer]]
            for copy in np.flatnonzero(nearer & np.isin(ids, list(column.copies))) if column.copies else ():
                distances[copy] = shown_distance(column, int(ids[copy]), int(at[copy]))
        near[np.arange(len(ids)), best] = True
        targets = [column.crossing[1] for column in fused.columns]
        scores = np.zeros((len(ids), len(self.state.space.axes)))
        for place, target in enumerate(targets):
            if (values := self.state.indexed.scores(target, ids[best == place])) is not None:
                scores[best == place] = values
        return Ranking(
            query=number,
            name=f"{fused.way} of {', '.join(dict.fromkeys(map(str, targets)))}",
            ids=ids,
            distances=distances,
            crossings=[(column.crossing[0], str(column.crossing[1])) for column in fused.columns],
            at=best,
            near=near,
            matches=None if fused.matches is None else fused.matches[places],
            similarities=fused.similarities,
            scores=scores if self.state.space.axes else None,
            words=words,
            is_doubtful=fused.is_doubtful,
        )

    def of_every_view(self, number: int, query: Query) -> Ranking:
        """Return the list of a query without a view, fused over all views by which it can ask, and all targets."""
        columns, words = self.columns_of(query)
        return self.ranking(number, columns, words[0] if words else None)

    def columns_of(self, query: Query) -> tuple[list[Column], list[QueryWords]]:
        """Return the columns of a query in each view by which it can ask, and the words of a text.

        A view without a row for the query, such as one that finds nothing in the picture, is left out, and so is a
        target without matches if others have one. Raises the error of the first view if every view is left out.
        """
        version, space = self.state.version, self.state.space
        views = views_of(version, space, query, self.strategy.targets)
        if not query.view:
            query = described(version, query, dict.fromkeys([*views, *filter(None, [space.robust_view])]))
        columns, words, errors = list[Column](), list[QueryWords](), list[InvalidInputError | NotReadyError]()
        for view, names in views.items():
            alone = [replace(query, view=view)]
            try:
                for group in query_probes(self.state, alone, names):
                    columns += self.columns(group, alone)[0]
                words += words_of_queries(version, alone).values()
            except (InvalidInputError, NotReadyError) as error:
                errors.append(error)
        if not columns:
            raise errors[0]
        return columns, words

    def scored(self, columns: Sequence[Column]) -> Fused:
        """Return the scores of all items.

        Raises NotReadyError if nothing is calibrated, or states what to learn, and the search needs it.
        """
        way = self._way(columns)
        columns = self._within(columns)
        if way == MATCH:
            return self._by_match([column for column in columns if self._evidence.match(column) is not None])
        if way == LEARN:
            return self._by_learning(columns)
        if way == DISTANCE:
            pairs = random_pairs(self._evidence, [column.crossing for column in columns])
            return self._by_scores(way, columns, [pairs.weights[column.crossing] for column in columns])
        ranks, weights = [reciprocal_ranks(column.distances) for column in columns], [1.0] * len(columns)
        return self._ordered(Fused(way, columns, weights, ranks, *_means(columns, ranks, weights)))

    def _by_scores(self, way: str, columns: Sequence[Column], weights: Sequence[float]) -> Fused:
        """Fuse by weighted mean scores; one target alone keeps the order of its distances."""
        scored = self._evidence.scores(columns) if len(columns) > 1 else [(-columns[0].distances, 0.0)]
        parts, usual = [scores for scores, _ in scored], [mean for _, mean in scored]
        fused = self._ordered(Fused(way, columns, weights, parts, *_means(columns, parts, weights)))
        ids = fused.ids[fused.order]
        alike, least = similarities(self._evidence, columns, weights, fused.means[fused.order], usual)
        alike = np.where(np.isin(ids, [item for column in columns for item in column.copies]), 1.0, alike)
        fits = any(words_fit(self.state, column, ids) for column in columns)
        return fused._replace(similarities=alike, is_doubtful=bool(len(ids) and (not fits or alike[0] < least)))

    def _within(self, columns: Sequence[Column]) -> Sequence[Column]:
        """Return the columns with the items that are in one of them within the maximum distance."""
        most = self.strategy.max_distance
        if most is None:
            return columns
        near = np.unique(np.concatenate([column.ids[column.distances <= most] for column in columns]))
        inside = [np.isin(column.ids, near, assume_unique=True) for column in columns]
        return [
            replace(column, ids=column.ids[mask], distances=column.distances[mask])
            for column, mask in zip(columns, inside, strict=True)
        ]

    def _way(self, columns: Sequence[Column]) -> str:
        """Return the way to fuse: the wanted one, or match where calibrated, and otherwise distance."""
        calibrated = any(self._evidence.match(column) is not None for column in columns)
        if not calibrated and (self.strategy.fuse == MATCH or (self.strategy.min_match and not self.strategy.fuse)):
            raise NotReadyError(no_match(self.state.space, columns[0].crossing[0], str(columns[0].crossing[1])))
        return self.strategy.fuse or (MATCH if calibrated else DISTANCE)

    def _by_match(self, columns: Sequence[Column]) -> Fused:
        """Fuse by the weighted logistic mean of the matches in all targets; far items, without one, by distances."""
        parts = self._evidence.matches(columns)
        far = [-column.distances / (column.first() or 1.0) for column in columns]
        weights = [match.weight for column in columns if (match := self._evidence.match(column)) is not None]
        ids, means = _means(columns, self._evidence.logits(columns), weights)
        every, line = self.state.space.match_of.get(("", "")), (0.0, 1.0)
        if every is not None and len(ids) and len(columns) == len(self.state.space.matches) - 1:
            others = ~np.isin(ids, [item for column in columns for item in column.copies])
            line = every.line(float(means[others if others.any() else ~others].max()))
        fused = Fused(MATCH, columns, weights, parts, ids, means, expit(line[0] + line[1] * means), line=line)
        return self._ordered(fused, _means(columns, far, weights)[1])

    def _by_learning(self, columns: Sequence[Column]) -> Fused:
        own = frozenset(column.own for column in columns if column.own is not None)
        crossings = tuple(column.crossing for column in columns)
        by_match = self._evidence.calibrated(crossings) and all(column.familiarity is not None for column in columns)
        taught = [
            Teacher(self._evidence, crossings, way).learned(own) for way in ((False, True) if by_match else (False,))
        ]
        learned = min(taught, key=lambda fusion: fusion.loss)
        weights = [learned.weights[column.crossing] for column in columns]
        if learned.match is None and not learned.by_match:
            return self._by_scores(LEARN, columns, weights)
        parts = self._evidence.to_learn(columns, learned.by_match)
        ids, means = _means(columns, parts, weights)
        matches = None if learned.match is None or not len(ids) else learned.match.of_all(-means, -means.max())
        return self._ordered(Fused(LEARN, columns, weights, parts, ids, means, matches))

    def _ordered(self, fused: Fused, *further: Floats) -> Fused:
        """Return the first items by their means, and ``further`` scores among equal ones; near copies come before."""
        closest: dict[int, float] = {}
        for column in fused.columns:
            for item, distance in column.copies.items():
                closest[item] = min(distance, closest.get(item, distance))
        ids, scores = fused.ids, (fused.means, *further)
        copies = np.isin(ids, list(closest)) if closest else np.zeros(len(ids), bool)
        if not copies.any():
            return fused._replace(order=best_first(self.k, *scores))
        lead = np.full(len(ids), -np.inf)
        lead[copies] = [-closest[item] for item in ids[copies].tolist()]
        order = np.lexsort((ids, *(-part for part in reversed(scores)), -lead))[: self.k]
        matches = None if fused.matches is None else np.where(copies, 1.0, fused.matches)
        return fused._replace(order=order, matches=matches)


def _means(columns: Sequence[Column], parts: Sequence[Floats], weights: Sequence[float]) -> tuple[Ids, Floats]:
    return mean_scores([column.ids for column in columns], parts, weights)


def shown_distance(column: Column, item: int, place: int) -> float:
    """Return the distance of the item at a place; that of a near copy is as in ``copies_first``."""
    if item not in column.copies:
        return float(column.distances[place])
    return float(column.distances.min()) * column.copies[item]


def no_match(space: Space, view: str, target: str) -> str:
    """Return why hits have no match, and the remedy."""
    return (
        f"space {space.name!r} has no calibrated match for queries of view {view!r} and items in {target!r}: "
        f"train it (again) with labels on at least {FEWEST_LABELLED} items, or leave min_match out"
    )
