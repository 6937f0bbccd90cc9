"""Fused search: one list over several targets, exact over all items, in the order of a match or of a similarity."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crossview.engine.spaces.columns import (
    Column,
    Evidence,
    Floats,
    best_first,
    every_distance,
    mean_scores,
    reciprocal_ranks,
)
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
from crossview.engine.spaces.random_pairs import random_pairs, similarities, words_fit
from crossview.engine.spaces.rankings import Ranking
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.teaching import Teacher
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.query import Query
from crossview.engine.values.strategy import DISTANCE, LEARN, MATCH, Nearest
from crossview.features.base import QueryWords
from crossview.index.base import Ids

_NEAR = 20
"""One in so many of a target's items that the search may find: a hit among the nearest of them names the target."""


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
