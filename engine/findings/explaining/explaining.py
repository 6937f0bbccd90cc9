"""Explanations of searches: the contribution of each view and target to the place of an item, and what agrees most.

The lists are those of the search itself, so that their matches and distances are its own. Only ranks need a scan of all
items of each target.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from crossview.engine.findings.explaining.shared_content import Agreements, InView, in_view
from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.columns import Column, Evidence
from crossview.engine.spaces.fusing import Fused, Fusion, shown_distance
from crossview.engine.spaces.queries import described, views_of, without_row
from crossview.engine.spaces.search import answer, check_search, passing
from crossview.engine.spaces.target import on_common_scale, view_of
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.explanation import Agreement, Contribution, ExplainRequest, Explanation
from crossview.engine.values.query import Hit, HitList, Query, SearchRequest
from crossview.engine.values.strategy import MATCH, Nearest, Weighted

CERTAIN = 800.0
"""The logit of a match of 1, whose logistic function is exactly 1 in floating point; that of its negative is 0."""
_BYTES = 200
"""Approximate bytes of a contribution in an answer, without differing bits."""


class _Crossing(NamedTuple):
    """A query view and the name of a target that it is compared with."""

    view: str
    target: str


Amounts = Mapping[_Crossing, float]
"""The contributions of crossings to the total of an item; those of other crossings are 0."""


def check_explained(request: ExplainRequest) -> None:
    """Raise InvalidInputError for a request that no collection can answer."""
    check_search(request.search)
    if len(request.search.queries) > 1:
        raise InvalidInputError(
            f"an explanation is of one query, not {len(request.search.queries):,}: explain them one by one"
        )
    if not isinstance(request.search.strategy, Nearest | Weighted):
        raise InvalidInputError(
            "only searches for the nearest items, or by weighted notions, can be explained: leave out examples, moves "
            "along attributes and lists by a score"
        )


def explain(state: SearchState, request: ExplainRequest) -> list[Explanation]:
    """Return the explanations, list by list, each in the order of the list or of the given keys.

    Raises the errors of ``answer``, NotFoundError for an unknown key, and InvalidInputError for an item that the
    search cannot find: because of its filter, or because no target has the item.
    """
    search, alone = request.search, partial(answer, state)
    lists = alone(search)
    keys = {hit_list.target: request.keys or [hit.key for hit in hit_list.hits[: request.hits]] for hit_list in lists}
    asked_keys = tuple(dict.fromkeys(chain(*keys.values())))
    with state.version.read() as tx:
        ids = tx.items.ids_of(asked_keys)
    fused = _fused(state, search)
    places = _places(state, search, ids.values(), fused)
    _check_found(state.version, search, ids, asked_keys, places)
    if fused is not None:
        judgement: _Judgement = _OfColumns(fused, Evidence(state))
    else:
        judgement = _OfLists(search, asked_keys, alone)
    agreements = _agreements(state.version, search.queries[0], places, request.parts)
    explained = []
    for hit_list in lists:
        ranks = {hit.key: rank for rank, hit in enumerate(hit_list.hits, 1)}
        for key in keys[hit_list.target]:
            item = ids[key]
            measure, amounts = judgement.amounts(hit_list, key, item, places)
            if not amounts:  # the target of this list lacks the item
                continue
            explained.append(
                Explanation(
                    key=key,
                    target=hit_list.target,
                    rank=ranks.get(key),
                    measure=measure,
                    total=sum(amounts.values()),
                    contributions=tuple(_contributions(judgement, places, key, item, amounts)),
                    agreements=tuple(agreements.get(item, ())),
                )
            )
    return explained


def _fused(state: SearchState, search: SearchRequest) -> Fused | None:
    """Return the scores of all items if the search fuses several targets in one list; None otherwise."""
    (query,), strategy = search.queries, search.strategy
    if not isinstance(strategy, Nearest):
        return None
    if query.view and not strategy.fuse and not (strategy.merge and not _on_common_scale(state, search)):
        return None
    only = passing(state, search.filter)
    fusion = Fusion(state, strategy, search.k, only)
    return fusion.scored(fusion.columns_of(query)[0])


def _on_common_scale(state: SearchState, search: SearchRequest) -> bool:
    return on_common_scale(state.space.targets_for(search.queries[0].view, search.strategy.names))


def _places(state: SearchState, search: SearchRequest, items: Iterable[int], fused: Fused | None) -> dict[str, InView]:
    """Return the places of items in each view by which the search asks."""
    (query,) = search.queries
    views = views_of(state.version, state.space, query, search.strategy.names)
    if fused is not None:
        views = {view: names for view, names in views.items() if view in {of.crossing[0] for of in fused.columns}}
    read = query if query.view else described(state.version, query, views)
    k, only = None if isinstance(search.strategy, Weighted) else search.k, passing(state, search.filter)
    return {view: in_view(state, replace(read, view=view), names, items, k, only) for view, names in views.items()}


def _check_found(
    version: Version, search: SearchRequest, ids: Mapping[str, int], keys: Iterable[str], places: Mapping[str, InView]
) -> None:
    """Raise an error for a key that the search cannot find in any target, with the reason."""
    for key in keys:
        if any(ids.get(key) in target.locations for place in places.values() for target in place.targets.values()):
            continue
        if any(place.own == ids.get(key) for place in places.values() if place.own is not None):
            raise InvalidInputError(f"item {key!r} is the query, which is never its own hit")
        views = dict.fromkeys(view_of(name) for place in places.values() for name in place.targets)
        errors = [without_row(version, view, [key]).get(key) for view in views]
        if errors and errors[0] is not None and None not in errors:
            raise errors[0]
        raise InvalidInputError(f"item {key!r} does not fulfil the condition of the search: {search.filter}")


class _Judgement(ABC):
    """The scores or lists that decide the places of items."""

    @abstractmethod
    def amounts(self, hit_list: HitList, key: str, item: int, places: Mapping[str, InView]) -> tuple[str, Amounts]:
        """Return the measure of the place of an item in a list, and what each crossing adds to it."""

    @abstractmethod
    def of(self, crossing: _Crossing, key: str, item: int) -> tuple[float | None, float | None]:
        """Return the distance and the match of an item in a target, as a hit shows them; None without one."""


@dataclass(frozen=True)
class _OfColumns(_Judgement):
    """A list that several targets make: an item has the weighted mean of the targets that have it."""

    fused: Fused
    evidence: Evidence

    def amounts(self, hit_list: HitList, key: str, item: int, places: Mapping[str, InView]) -> tuple[str, Amounts]:
        """Return the logits of matches, or the scores, each times its share of the weights."""
        by_match = self.fused.way == MATCH
        terms: dict[_Crossing, tuple[float, float]] = {}
        for column, part, weight in zip(self.fused.columns, self.fused.parts, self.fused.weights, strict=True):
            if (at := _at(column, item)) is not None:
                match = self.evidence.match(column) if by_match else None
                value = part[at : at + 1] if match is None else match.evidence(part[at : at + 1])
                terms[_crossing(column)] = weight, float(value[0])
        copies = [_crossing(column) for column in self.fused.columns if item in column.copies]
        if by_match and copies:
            return "match", dict.fromkeys(copies, CERTAIN / len(copies))
        whole, (offset, slope) = sum(weight for weight, _ in terms.values()), self.fused.line
        return "match" if by_match else "score", {
            crossing: weight * (offset + slope * value) / whole for crossing, (weight, value) in terms.items()
        }

    def of(self, crossing: _Crossing, key: str, item: int) -> tuple[float | None, float | None]:
        """Return the distance and the match in a column."""
        for column in self.fused.columns:
            if _crossing(column) == crossing and (at := _at(column, item)) is not None:
                calibrated = self.evidence.match(column) is not None
                match = float(self.evidence.matches([column])[0][at]) if calibrated else None
                return shown_distance(column, item, at), 1.0 if calibrated and item in column.copies else match
        return None, None


def _crossing(column: Column) -> _Crossing:
    return _Crossing(column.crossing[0], str(column.crossing[1]))


def _at(column: Column, item: int) -> int | None:
    """Return the place of an item in a column; None if the column lacks it."""
    at = int(np.searchsorted(column.ids, item))
    return at if at < len(column.ids) and column.ids[at] == item else None


@dataclass(frozen=True)
class _OfLists(_Judgement):
    """The lists of single targets, or of targets whose distances have a common scale."""

    search: SearchRequest
    wanted: Sequence[str]
    """The keys to explain, found or not."""
    alone: Callable[[SearchRequest], list[HitList]]

    @cached_property
    def hits(self) -> Mapping[_Crossing, Mapping[str, Hit]]:
        """The hits by crossing and key: those of the search by target, and those of further items as if found."""
        (query,), strategy = self.search.queries, self.search.strategy
        if not isinstance(strategy, Nearest):
            return {}
        apart = replace(self.search, merge=False, probabilities=False, base_rate=None, sort_by="")
        every = Nearest(targets=strategy.names, merge=False)
        hits: dict[_Crossing, dict[str, Hit]] = defaultdict(dict)
        lists = self.alone(apart)
        hit_keys = tuple(dict.fromkeys(hit.key for hit_list in lists for hit in hit_list.hits))
        for keys in dict.fromkeys([hit_keys, tuple(dict.fromkeys([*hit_keys, *self.wanted]))]):
            if keys:
                among = SearchRequest([query], every, k=len(keys), space=self.search.space, filter=Filter(keys=keys))
                lists += self.alone(among)
        for hit in (hit for hit_list in lists for hit in hit_list.hits):
            hits[_Crossing(query.view, hit.target)].setdefault(hit.key, hit)
        return hits

    def of(self, crossing: _Crossing, key: str, item: int) -> tuple[float | None, float | None]:
        """Return the distance and the match of a hit."""
        hit = self.hits.get(crossing, {}).get(key)
        return (None, None) if hit is None else (hit.distance, hit.match)

    def amounts(self, hit_list: HitList, key: str, item: int, places: Mapping[str, InView]) -> tuple[str, Amounts]:
        """Return the logit of the match, or the squared distance; of weighted notions, what each adds."""
        strategy, view = self.search.strategy, self.search.queries[0].view
        if isinstance(strategy, Weighted):
            located = places[view].targets.items()
            return "distance", {
                _Crossing(view, name): weight * target.locations[item].distance ** 2
                for (name, target), weight in zip(located, strategy.weights.values(), strict=True)
                if item in target.locations
            }
        crossing = self._only_crossing(hit_list, key)
        distance, match = (None, None) if crossing is None else self.of(crossing, key, item)
        if crossing is None or distance is None:
            return "distance", {}
        return ("match", {crossing: _logit(match)}) if match is not None else ("distance", {crossing: distance**2})

    def _only_crossing(self, hit_list: HitList, key: str) -> _Crossing | None:
        """Return the target in which a list of one view has an item: its own or, in a merged list, the nearest."""
        view = self.search.queries[0].view
        if hit_list.target:
            return _Crossing(view, hit_list.target)
        listed = [hit for hit in hit_list.hits if hit.key == key]
        among_targets = listed or [by_key[key] for by_key in self.hits.values() if key in by_key]
        nearest = min(among_targets, key=lambda hit: hit.distance, default=None)
        return None if nearest is None else _Crossing(view, nearest.target)


def _logit(match: float) -> float:
    """Return the logit of the match of a search by one view, which is not clipped as in the mean of several views."""
    return CERTAIN if match == 1 else max(float(logit(match)), -CERTAIN)


def _contributions(
    judgement: _Judgement, places: Mapping[str, InView], key: str, item: int, amounts: Amounts
) -> list[Contribution]:
    contributions = []
    for view, view_places in places.items():
        for name, target in view_places.targets.items():
            crossing, located = _Crossing(view, name), target.locations.get(item)
            distance, match = judgement.of(crossing, key, item)
            take_room(_BYTES + 2 * len((located and located.differing_bits) or ()))
            contributions.append(
                Contribution(
                    view=view,
                    target=name,
                    distance=located and located.distance if distance is None else distance,
                    rank=located and located.rank,
                    items=target.items,
                    match=match,
                    copy=bool(located and located.copy),
                    contribution=amounts.get(crossing, 0.0),
                    differing_bits=located and located.differing_bits,
                    bits=target.bits,
                )
            )
    return contributions


def _agreements(
    version: Version, read: Query, places: Mapping[str, InView], most: int
) -> Mapping[int, Sequence[Agreement]]:
    """Return what agrees most, by item, in each view that the search compares with itself."""
    by_item: dict[int, list[Agreement]] = defaultdict(list)
    for view in places.values():
        if view.compared is not None:
            of_view = Agreements(version, read, view.own, most).of(view.compared)
            for item, agreements in of_view.items():
                by_item[item] += agreements
    return by_item
