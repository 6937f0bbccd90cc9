"""Fused search: one list over several targets, exact over all items that a search may find."""

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
    Place,
    best_first,
    every_distance,
    mean_scores,
    reciprocal_ranks,
)
from crossview.engine.spaces.indexed import Selector
from crossview.engine.spaces.learned_fusion import Teacher
from crossview.engine.spaces.near_copies import Copies, near_copies
from crossview.engine.spaces.queries import Asked, described, familiarity, query_probes, views_of, words_of_queries
from crossview.engine.spaces.rankings import Ranking
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.query import Query
from crossview.engine.values.strategy import DISTANCE, LEARN, MATCH, RANK, Nearest
from crossview.features.base import QueryWords
from crossview.index.base import Ids


class Fused(NamedTuple):
    """The scores of all items that a query may find, the greatest first by ``order``."""

    way: str
    columns: Sequence[Column]
    """The columns that count."""
    weights: Sequence[float]
    """The weight of each column; an item has the weighted mean of the columns that have it."""
    ids: Ids
    """Ascending, (n,)."""
    parts: Sequence[Floats]
    """What each column says of its items, (n,): matches by match, and otherwise scores. The greatest is where a hit is
    nearest."""
    means: Floats
    """The mean of each item, (n,): of logits by match."""
    matches: Floats | None
    """The match of each item; None if nothing is calibrated."""
    order: NDArray[np.intp] = np.empty(0, np.intp)
    """The places of the first k items."""


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

    def columns(self, asked: Asked, queries: Sequence[Query]) -> list[list[Column]]:
        """Return the columns of every query of a group; ``queries`` are those of the request.

        Raises the errors of ``near_copies``.
        """
        copies = near_copies(self.state, queries, asked, self.k)
        shares = familiarity(self.state, asked, queries)
        return [
            [
                self._column(
                    (asked.view, target), vectors[row], own, copies[row], None if shares is None else shares[row]
                )
                for target, vectors in asked.probes.items()
            ]
            for row, own in enumerate(asked.own)
        ]

    def _column(
        self, place: Place, vector: NDArray[Any], own: int | None, copies: Copies, familiarity: float | None
    ) -> Column:
        target = place[1]
        only = None if self.only is None else self.only(target)
        ids, distances = every_distance(target, self.state.indexed.indexes[target].index, vector, only)
        if own is not None:
            others = ids != own
            ids, distances = ids[others], distances[others]
        return Column(place, vector, ids, distances, own, copies, familiarity)

    def ranking(self, number: int, columns: Sequence[Column], words: QueryWords | None = None) -> Ranking:
        """Return the first k items for the query with a number, each at its distance in the target that has it nearest.

        Raises the errors of ``scored``.
        """
        fused, least = self.scored(columns), self.strategy.min_match
        if least and fused.matches is None:
            raise NotReadyError(no_match(self.state.space, columns[0].place[0], str(columns[0].place[1])))
        chosen = fused.order if fused.matches is None else fused.order[fused.matches[fused.order] >= least]
        ids = fused.ids[chosen]
        best, distances = np.full(len(ids), -1, np.int32), np.zeros(len(ids))
        greatest = np.full(len(ids), -np.inf)
        for place, (column, part) in enumerate(zip(fused.columns, fused.parts, strict=True)):
            if not len(column.ids):
                continue
            at = np.minimum(np.searchsorted(column.ids, ids), len(column.ids) - 1)
            nearer = (column.ids[at] == ids) & ((part[at] > greatest) | (best < 0))
            best[nearer], greatest[nearer] = place, part[at[nearer]]
            distances[nearer] = column.distances[at[nearer]]
            for copy in np.flatnonzero(nearer & np.isin(ids, list(column.copies))) if column.copies else ():
                distances[copy] = shown_distance(column, int(ids[copy]), int(at[copy]))
        targets = [column.place[1] for column in fused.columns]
        scores = np.zeros((len(ids), len(self.state.space.axes)))
        for place, target in enumerate(targets):
            if (found := self.state.indexed.scores(target, ids[best == place])) is not None:
                scores[best == place] = found
        return Ranking(
            query=number,
            name=f"{fused.way} of {', '.join(dict.fromkeys(map(str, targets)))}",
            ids=ids,
            distances=distances,
            places=[(column.place[0], str(column.place[1])) for column in fused.columns],
            at=best,
            matches=None if fused.matches is None else fused.matches[chosen],
            scores=scores if self.state.space.axes else None,
            words=words,
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
        for view in views:
            alone = [replace(query, view=view)]
            try:
                for asked in query_probes(self.state, alone, self.strategy.targets):
                    columns += self.columns(asked, alone)[0]
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
            columns = [one for one in columns if self._evidence.match(one) is not None]
        ways = {MATCH: self._by_match, RANK: self._by_rank, DISTANCE: self._by_distance, LEARN: self._by_learning}
        return ways[way](columns)

    def _within(self, columns: Sequence[Column]) -> Sequence[Column]:
        """Return the columns with the items that are in one of them within the maximum distance."""
        most = self.strategy.max_distance
        if most is None:
            return columns
        near = np.unique(np.concatenate([one.ids[one.distances <= most] for one in columns]))
        inside = [np.isin(one.ids, near, assume_unique=True) for one in columns]
        return [
            replace(one, ids=one.ids[chosen], distances=one.distances[chosen])
            for one, chosen in zip(columns, inside, strict=True)
        ]

    def _way(self, columns: Sequence[Column]) -> str:
        """Return the way to fuse: the wanted one, or match where calibrated, and otherwise distance."""
        calibrated = any(self._evidence.match(one) is not None for one in columns)
        if not calibrated and (self.strategy.fuse == MATCH or (self.strategy.min_match and not self.strategy.fuse)):
            raise NotReadyError(no_match(self.state.space, columns[0].place[0], str(columns[0].place[1])))
        return self.strategy.fuse or (MATCH if calibrated else DISTANCE if len(columns) > 1 else RANK)

    def _by_match(self, columns: Sequence[Column]) -> Fused:
        """Fuse by the weighted logistic mean of the matches in all targets; far items, without one, by distances."""
        parts = self._evidence.matches(columns)
        far = [-one.distances / (one.first() or 1.0) for one in columns]
        weights = [match.weight for one in columns if (match := self._evidence.match(one)) is not None]
        ids, means = _means(columns, self._evidence.logits(columns), weights)
        fused = Fused(MATCH, columns, weights, ids, parts, means, expit(means))
        return self._ordered(fused, _means(columns, far, weights)[1])

    def _by_rank(self, columns: Sequence[Column]) -> Fused:
        return self._by_scores(RANK, columns, [reciprocal_ranks(one.distances) for one in columns])

    def _by_distance(self, columns: Sequence[Column]) -> Fused:
        return self._by_scores(DISTANCE, columns, self._evidence.scores(columns))

    def _by_scores(self, way: str, columns: Sequence[Column], parts: Sequence[Floats]) -> Fused:
        weights = [1.0] * len(columns)
        return self._ordered(Fused(way, columns, weights, *_with_parts(columns, parts, weights), None))

    def _by_learning(self, columns: Sequence[Column]) -> Fused:
        own = frozenset(one.own for one in columns if one.own is not None)
        places = tuple(one.place for one in columns)
        by_match = self._evidence.calibrated(places) and all(one.familiarity is not None for one in columns)
        taught = [
            Teacher(self._evidence, places, way).learned(own) for way in ((False, True) if by_match else (False,))
        ]
        learned = min(taught, key=lambda one: one.loss)
        parts = self._evidence.to_learn(columns, learned.by_match)
        weights = [learned.weights[one.place] for one in columns]
        ids, _, means = found = _with_parts(columns, parts, weights)
        matches = None if learned.match is None or not len(ids) else learned.match.of_all(-means, -means.max())
        return self._ordered(Fused(LEARN, columns, weights, *found, matches))

    def _ordered(self, fused: Fused, *further: Floats) -> Fused:
        """Return the first items by their means, and ``further`` scores among equal ones; near copies come before."""
        closest: dict[int, float] = {}
        for one in fused.columns:
            for item, distance in one.copies.items():
                closest[item] = min(distance, closest.get(item, distance))
        ids, scores = fused.ids, (fused.means, *further)
        copies = np.isin(ids, list(closest)) if closest else np.zeros(len(ids), bool)
        if not copies.any():
            return fused._replace(order=best_first(self.k, *scores))
        lead = np.full(len(ids), -np.inf)
        lead[copies] = [-closest[item] for item in ids[copies].tolist()]
        order = np.lexsort((ids, *(-one for one in reversed(scores)), -lead))[: self.k]
        matches = None if fused.matches is None else np.where(copies, 1.0, fused.matches)
        return fused._replace(order=order, matches=matches)


def _means(columns: Sequence[Column], parts: Sequence[Floats], weights: Sequence[float]) -> tuple[Ids, Floats]:
    return mean_scores([one.ids for one in columns], parts, weights)


def _with_parts(
    columns: Sequence[Column], parts: Sequence[Floats], weights: Sequence[float]
) -> tuple[Ids, Sequence[Floats], Floats]:
    ids, means = _means(columns, parts, weights)
    return ids, parts, means


def shown_distance(column: Column, item: int, place: int) -> float:
    """Return the distance of the item at a place; that of a near copy is as in ``copies_first``."""
    if item not in column.copies:
        return float(column.distances[place])
    return float(column.distances.min()) * column.copies[item]


def no_match(space: Space, view: str, target: str) -> str:
    """Return why hits have no match, and the remedy."""
    return (
        f"space {space.name!r} has no calibrated match for queries of view {view!r} and items in {target!r}: "
        "train it (again) with labels on at least 100 items, or leave min_match out"
    )
