"""Explanations of searches: the contribution of each view and target to the place of an item, and what agrees most.

The lists are those of the search itself, so that their matches and distances are its own. Only ranks need a scan of all
items of each target.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from scipy.special import logit

from crossview.engine.errors import InvalidInputError
from crossview.engine.explaining.agreement import Agreements
from crossview.engine.explaining.located import InView, in_view
from crossview.engine.explanation import Agreement, Contribution, ExplainRequest, Explanation
from crossview.engine.query import Hit, HitList, Query, SearchRequest
from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.every_view import Answer, Lists, among, best_of_view, judged, lists_of_views, logit_of
from crossview.engine.spaces.fusion import ranked_hits, reciprocal
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.loaded import LoadedSpaces
from crossview.engine.spaces.query_rows import without_row
from crossview.engine.spaces.scans import OVERFETCH
from crossview.engine.spaces.search import answer, check_request, passing
from crossview.engine.spaces.target import on_common_scale, view_of
from crossview.engine.spaces.version import Version
from crossview.engine.strategy import Nearest, Weighted

CERTAIN = 800.0
"""The logit of a match of 1, whose logistic function is exactly 1 in floating point; that of its negative is 0."""
_BYTES = 200
"""Approximate bytes of a contribution in an answer, without differing bits."""


class _Place(NamedTuple):
    """A query view and the name of a target that it is compared with."""

    view: str
    target: str


Amounts = Mapping[_Place, float]
"""The contributions of places to the total of an item; those of other places are 0."""


def check_explained(request: ExplainRequest) -> None:
    """Raise InvalidInputError for a request that no collection can answer."""
    check_request(request.search)
    if len(request.search.queries) > 1:
        raise InvalidInputError(
            f"an explanation is of one query, not {len(request.search.queries):,}: explain them one by one"
        )
    if not isinstance(request.search.strategy, Nearest | Weighted):
        raise InvalidInputError(
            "only searches for the nearest items, or by weighted notions, can be explained: leave out examples, moves "
            "along attributes and lists by a score"
        )


def explain(
    version: Version, indexed: IndexedSpace, loaded: LoadedSpaces, request: ExplainRequest
) -> list[Explanation]:
    """Return the explanations, list by list, each in the order of the list or of the given keys.

    Raises the errors of ``answer``, NotFoundError for an unknown key, and InvalidInputError for an item that the
    search cannot find: because of its filter, or because no target has the item.
    """
    search, alone = request.search, partial(answer, version, indexed, loaded)
    lists = alone(search)
    keys = {one.target: request.keys or [hit.key for hit in one.hits[: request.hits]] for one in lists}
    wanted = tuple(dict.fromkeys(chain(*keys.values())))
    with version.read() as tx:
        ids = tx.items.ids_of(wanted)
    read, of_views = lists_of_views(version, loaded, indexed.space, _apart(indexed, search), alone)
    names, only = search.strategy.names, passing(version, indexed, search.filter)
    k = None if isinstance(search.strategy, Weighted) else search.k
    places = {
        view: in_view(version, indexed, loaded, replace(read, view=view), names, ids.values(), k, only)
        for view in of_views
    }
    _check_found(version, search, ids, wanted, places)
    by_rank = bool(search.queries[0].view) and _by_rank(indexed, search)
    judgement = _Judgement(search, read, of_views, wanted, alone, by_rank)
    agreements = _agreements(version, loaded, read, places, request.parts)
    explained = []
    for one in lists:
        ranks = {hit.key: rank for rank, hit in enumerate(one.hits, 1)}
        for key in keys[one.target]:
            item = ids[key]
            measure, amounts = judgement.amounts(one, key, places, item)
            if not amounts:  # the target of this list lacks the item
                continue
            explained.append(
                Explanation(
                    key=key,
                    target=one.target,
                    rank=ranks.get(key),
                    measure=measure,
                    total=sum(amounts.values()),
                    contributions=tuple(_contributions(judgement, places, key, item, amounts)),
                    agreements=tuple(agreements.get(item, ())),
                )
            )
    return explained


def _apart(indexed: IndexedSpace, search: SearchRequest) -> SearchRequest:
    """Return the search that gives the lists behind a merged list: by target, as many hits as the merge reads."""
    query, strategy, k = search.queries[0], search.strategy, search.k
    if not isinstance(strategy, Nearest):
        strategy = Nearest(targets=strategy.names)
    elif query.view:
        if _by_rank(indexed, search):
            k *= OVERFETCH
        strategy = replace(strategy, merge=False)
    plain = replace(strategy, probabilities=False, base_rate=None, sort_by="")
    return SearchRequest([query], plain, k=k, space=search.space, filter=search.filter)


def _by_rank(indexed: IndexedSpace, search: SearchRequest) -> bool:
    """Return whether a search by one view merges its lists by rank."""
    targets = indexed.space.targets_for(search.queries[0].view, search.strategy.names)
    return bool(getattr(search.strategy, "merge", False)) and not on_common_scale(targets)


def _check_found(
    version: Version, search: SearchRequest, ids: Mapping[str, int], wanted: Iterable[str], places: Mapping[str, InView]
) -> None:
    """Raise an error for a key that the search cannot find in any target, with the reason."""
    for key in wanted:
        if any(ids.get(key) in target.locations for one in places.values() for target in one.targets.values()):
            continue
        if any(one.own == ids.get(key) for one in places.values() if one.own is not None):
            raise InvalidInputError(f"item {key!r} is the query, which is never its own hit")
        views = dict.fromkeys(view_of(name) for one in places.values() for name in one.targets)
        errors = [without_row(version, view, [key]).get(key) for view in views]
        if errors and errors[0] is not None and None not in errors:
            raise errors[0]
        raise InvalidInputError(f"item {key!r} does not fulfil the condition of the search: {search.filter}")


@dataclass(frozen=True)
class _Judgement:
    """The lists that decide the places of items, and what they say of each item."""

    search: SearchRequest
    read: Query
    of_views: Lists
    """The lists of each view, apart from each other."""
    wanted: Sequence[str]
    """The keys to explain, found or not."""
    alone: Answer
    by_rank: bool
    """Whether ranks order the only list."""

    @cached_property
    def every_view(self) -> bool:
        """Whether the search asks by every view."""
        return not self.search.queries[0].view

    @cached_property
    def calibrated(self) -> bool:
        """Whether any hit of any view has a match."""
        return any(hit.match is not None for one in chain(*self.of_views.values()) for hit in one.hits)

    @cached_property
    def deciding(self) -> Lists:
        """The lists whose matches count: if several views judge, those of the items that any view finds."""
        if self.every_view and self.calibrated and len(self.of_views) > 1:
            return judged(self.search, self.read, self.of_views, self.alone)
        return self.of_views

    @cached_property
    def hits(self) -> Mapping[_Place, Mapping[str, Hit]]:
        """The hits by place and key: those of the deciding lists, and those of further items as if they were found."""
        hits: dict[_Place, dict[str, Hit]] = defaultdict(dict)
        found = tuple(dict.fromkeys(hit.key for one in chain(*self.deciding.values()) for hit in one.hits))
        for view, lists in self.deciding.items():
            query, searches = replace(self.read, view=view), [lists]
            for keys in dict.fromkeys([found, tuple(dict.fromkeys([*found, *self.wanted]))]):
                if keys:
                    searches.append(self.alone(among(self.search, query, keys, merge=False)))
            for hit in (hit for lists in searches for one in lists for hit in one.hits):
                hits[_Place(view, hit.target)].setdefault(hit.key, hit)
        return hits

    def hit(self, place: _Place, key: str) -> Hit | None:
        """Return the hit of an item in a target; None for weighted notions, and if the target lacks the item."""
        return None if isinstance(self.search.strategy, Weighted) else self.hits.get(place, {}).get(key)

    def amounts(self, one: HitList, key: str, places: Mapping[str, InView], item: int) -> tuple[str, Amounts]:
        """Return the measure of the place of an item in a list, and what each place adds to it.

        Raises InvalidInputError for an item without a view that has a calibrated match: it is never found.
        """
        strategy, view = self.search.strategy, self.search.queries[0].view
        if isinstance(strategy, Weighted):
            located = places[view].targets.items()
            return "distance", {
                _Place(view, name): weight * target.locations[item].distance ** 2
                for (name, target), weight in zip(located, strategy.weights.values(), strict=True)
                if item in target.locations
            }
        if self.by_rank or (self.every_view and not self.calibrated):
            return "rank", self._by_ranks(key, places)
        if self.every_view:
            return "match", self._by_matches(key)
        place = self._only_place(one, key)
        hit = None if place is None else self.hit(place, key)
        if place is None or hit is None:
            return "distance", {}
        if hit.match is not None:
            return "match", {place: _logit(hit.match)}
        return "distance", {place: hit.distance**2}

    def _only_place(self, one: HitList, key: str) -> _Place | None:
        """Return the target in which a list of one view has an item: its own or, in a merged list, the nearest."""
        view = self.search.queries[0].view
        if one.target:
            return _Place(view, one.target)
        shown = [hit for hit in one.hits if hit.key == key]
        among_targets = shown or [found[key] for found in self.hits.values() if key in found]
        nearest = min(among_targets, key=lambda hit: hit.distance, default=None)
        return None if nearest is None else _Place(view, nearest.target)

    def _by_ranks(self, key: str, places: Mapping[str, InView]) -> Amounts:
        """Return the reciprocal ranks of an item in the lists of all views; see ``fuse``."""
        lists = [(view, one) for view, of_view in self.of_views.items() for one in of_view]
        found, last = ranked_hits([one for _, one in lists])
        amounts: dict[_Place, float] = defaultdict(float)
        for number, (view, one) in enumerate(lists):
            if number in last:
                rank, hit = found.get(key, {}).get(number, (last[number], None))
                target = hit.target if hit is not None else one.target or next(iter(places[view].targets))
                amounts[_Place(view, target)] += reciprocal(rank)
        return amounts

    def _by_matches(self, key: str) -> Amounts:
        """Return the logits of the matches of an item in each view, divided by the number of views."""
        best = [(view, best_of_view(lists).get(key)) for view, lists in self.deciding.items()]
        if not any(hit for _, hit in best):
            further = [(view, [found[key]]) for (view, _), found in self.hits.items() if key in found]
            by_view: dict[str, list[Hit]] = defaultdict(list)
            for view, hits in further:
                by_view[view] += hits
            best = [(view, best_of_view([HitList(0, "", tuple(hits))]).get(key)) for view, hits in by_view.items()]
        matches = {_Place(view, hit.target): hit.match for view, hit in best if hit and hit.match is not None}
        if not matches:
            raise InvalidInputError(f"item {key!r} has no view with a calibrated match, so this search never finds it")
        if copies := [place for place, match in matches.items() if match == 1]:
            return dict.fromkeys(copies, CERTAIN / len(copies))
        return {place: logit_of(match) / len(matches) for place, match in matches.items()}


def _logit(match: float) -> float:
    """Return the logit of the match of a search by one view, which is not clipped as in the mean of several views."""
    return CERTAIN if match == 1 else max(float(logit(match)), -CERTAIN)


def _contributions(
    judgement: _Judgement, places: Mapping[str, InView], key: str, item: int, amounts: Amounts
) -> list[Contribution]:
    """Return a contribution for each view and target."""
    made = []
    for view, found in places.items():
        for name, target in found.targets.items():
            place, located = _Place(view, name), target.locations.get(item)
            hit = judgement.hit(place, key)
            take_room(_BYTES + 2 * len((located and located.differing_bits) or ()))
            made.append(
                Contribution(
                    view=view,
                    target=name,
                    distance=hit.distance if hit is not None else located and located.distance,
                    rank=located and located.rank,
                    items=target.items,
                    match=None if hit is None else hit.match,
                    copy=bool(located and located.copy),
                    contribution=amounts.get(place, 0.0),
                    differing_bits=located and located.differing_bits,
                    bits=target.bits,
                )
            )
    return made


def _agreements(
    version: Version, loaded: LoadedSpaces, read: Query, places: Mapping[str, InView], most: int
) -> Mapping[int, Sequence[Agreement]]:
    """Return what agrees most, by item, in each view that the search compares with itself."""
    found: dict[int, list[Agreement]] = defaultdict(list)
    for view in places.values():
        if view.compared is not None:
            of_view = Agreements(version, loaded, read, view.own, most).of(view.compared)
            for item, agreements in of_view.items():
                found[item] += agreements
    return found
