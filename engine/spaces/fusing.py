"""Fused search: one list over several targets, exact over all items that a search may find."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from crossview.engine.spaces.columns import Column, Evidence, Place
from crossview.engine.spaces.fusion import Floats, best_first, mean_scores, reciprocal_ranks
from crossview.engine.spaces.item_distances import every_distance
from crossview.engine.spaces.learned_fusion import Teacher
from crossview.engine.spaces.matching import Asked, Hits, Selector, familiarity, hits_of
from crossview.engine.spaces.near_copies import Copies, near_copies
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Neighbor, Target
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.errors import NotReadyError
from crossview.engine.values.query import Hit, Query
from crossview.engine.values.strategy import DISTANCE, LEARN, MATCH, RANK, Nearest
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

    def found(self, columns: Sequence[Column]) -> tuple[str, Hits]:
        """Return the name of the fusion, and the first k hits by it; raises the errors of ``scored``."""
        fused = self.scored(columns)
        least = self.strategy.min_match
        if least and fused.matches is None:
            raise NotReadyError(no_match(self.state.space, columns[0].place[0], str(columns[0].place[1])))
        return fused_name(fused.way, [one.place[1] for one in fused.columns]), self._hits(fused, least)

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

    def _hits(self, fused: Fused, least: float) -> Hits:
        """Return the first hits, each with its distance in the target in which it is nearest."""
        columns = fused.columns
        chosen = fused.order if fused.matches is None else fused.order[fused.matches[fused.order] >= least]
        items = fused.ids[chosen].tolist()
        near: dict[int, dict[int, tuple[float, float]]] = {item: {} for item in items}
        for number, (column, part) in enumerate(zip(columns, fused.parts, strict=True)):
            places = np.searchsorted(column.ids, fused.ids[chosen])
            for item, place in zip(items, places.tolist(), strict=True):
                if place < len(column.ids) and column.ids[place] == item:
                    near[item][number] = float(part[place]), shown_distance(column, item, place)
        best = {item: max(of_item, key=lambda number: (of_item[number][0], -number)) for item, of_item in near.items()}
        made: dict[int, Hit] = {}
        for number in sorted(set(best.values())):
            target = columns[number].place[1]
            some = [Neighbor(item, near[item][number][1]) for item in items if best[item] == number]
            (hits,) = hits_of(self.state.version, str(target), [some], self.state.indexed.scores(target, [some]))
            made |= dict(zip([one.item for one in some], hits, strict=True))
        if fused.matches is not None:
            for item, match in zip(items, fused.matches[chosen].tolist(), strict=True):
                vars(made[item])["match"] = match
        if self.strategy.probabilities:
            for item in items:
                view = columns[best[item]].place[0]
                set_probability(self.state, self.strategy.base_rate, view, made[item])
        return tuple([made[item] for item in items])


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


def fused_name(way: str, targets: Sequence[Target]) -> str:
    """Return the name of a list by several targets, such as ``match of color, sift``."""
    return f"{way} of {', '.join(dict.fromkeys(map(str, targets)))}"


def no_match(space: Space, view: str, target: str) -> str:
    """Return why hits have no match, and the remedy."""
    return (
        f"space {space.name!r} has no calibrated match for queries of view {view!r} and items in {target!r}: "
        "train it (again) with labels on at least 100 items, or leave min_match out"
    )


def set_probability(state: SearchState, base_rate: float | None, view: str, hit: Hit) -> None:
    """Set the probability of a new hit: that the hit and its query are the same.

    Raises NotReadyError if the query's view and the hit's target have no threshold.
    """
    threshold = state.version.threshold(state.space, view, hit.target)
    rate = threshold.base_rate if base_rate is None else base_rate
    vars(hit).update(probability=threshold.probability(hit.distance, rate), base_rate=rate)
