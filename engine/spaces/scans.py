"""Scans: how each strategy finds items in one space."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.columns import Evidence
from crossview.engine.spaces.every_view import views_of
from crossview.engine.spaces.examples import scored
from crossview.engine.spaces.fusing import Fusion, no_match, set_probability
from crossview.engine.spaces.fusion import Floats, best_first, fuse, mean_scores, reciprocal_ranks
from crossview.engine.spaces.learned_fusion import Teacher
from crossview.engine.spaces.matching import Asked, Hits, Selector, familiarity, hits_of, neighbours, query_probes
from crossview.engine.spaces.near_copies import NearCopy, copies_first, near_copies
from crossview.engine.spaces.query_rows import described
from crossview.engine.spaces.scores import in_order
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Neighbor, Target, on_common_scale
from crossview.engine.spaces.version import SearchState
from crossview.engine.spaces.weighting import check_notions, nearest_by_weights, shown
from crossview.engine.values.errors import CrossviewError, InvalidInputError, NotReadyError
from crossview.engine.values.query import Hit, HitList, Query, SearchRequest
from crossview.engine.values.strategy import LEARN, RANK, Combined, Listed, Moved, Nearest, Strategy, Weighted
from crossview.index.base import Ids, Index, Selection

OVERFETCH = 3
"""Hits to find in every target for each wanted hit before a merge, which drops repeated keys."""

S = TypeVar("S", bound=Strategy)
Shares = Sequence[float] | None
"""The share of its match that each query keeps, (n,), see ``Novelty.familiarity``; None without matches."""


@dataclass(frozen=True)
class Scan(ABC, Generic[S]):
    """One search by a strategy in a space; it raises the errors of ``engine.spaces.search.answer``."""

    strategy: S
    request: SearchRequest
    state: SearchState
    only: Selector

    @staticmethod
    def check_space(space: Space) -> None:
        """Raise InvalidInputError for a space that the strategy cannot search."""

    @staticmethod
    def hidden_targets(space: Space, queries: Sequence[Query]) -> list[Target]:
        """Return the targets that a search needs besides those of its lists."""
        return []

    @abstractmethod
    def lists(self) -> list[HitList]:
        """Return the hit lists, query by query and target by target."""

    def within(self, target: Target) -> tuple[Index, Selection | None]:
        """Return the index of a target, and the selection of its items that the search may find."""
        return self.state.indexed.indexes[target].index, None if self.only is None else self.only(target)


class QueryScan(Scan[S]):
    """A search by queries that have an input."""

    def lists(self) -> list[HitList]:
        """Return the hit lists; queries with the same kind of input go through the pipeline together."""
        found: dict[int, list[HitList]] = {}
        queries = self.request.queries
        for asked in query_probes(self.state, queries, self.strategy.names):
            for number, apart in zip(asked.numbers, self.found(asked), strict=True):
                found[number] = [HitList(number, name, hits) for name, hits in apart]
        return [one for number in range(len(queries)) for one in found[number]]

    @abstractmethod
    def found(self, asked: Asked) -> list[list[tuple[str, Hits]]]:
        """Return the lists of every query, each with the name of its target, or "" for a merged list."""


N = TypeVar("N", Nearest, Moved)


class TargetScan(QueryScan[N]):
    """A search in each target; its lists can be merged and sorted."""

    def lists(self) -> list[HitList]:
        """Return the hit lists in their order."""
        return in_order(self.strategy.sort_by, super().lists())

    def found(self, asked: Asked) -> list[list[tuple[str, Hits]]]:
        """Return the lists of every query by target, or one merged list."""
        comparable, k = on_common_scale(asked.probes.keys()), self.request.k
        merged = comparable if self.strategy.merge is None else self.strategy.merge
        wanted = k * OVERFETCH if merged and not comparable else k
        shares = self.familiarity(asked)
        by_target = {
            target: self.matched(
                (asked.view, str(target)),
                shares,
                lists,
                hits_of(self.state.version, str(target), lists, self.state.indexed.scores(target, lists)),
            )
            for target, lists in self.near(asked, wanted).items()
        }
        apart = [[(str(target), hits[row]) for target, hits in by_target.items()] for row in range(len(asked.own))]
        if not merged:
            return apart
        join = _nearest if comparable else fuse
        return [[("", join([HitList(0, name, hits) for name, hits in lists], k))] for lists in apart]

    def near(self, asked: Asked, k: int) -> dict[Target, list[list[Neighbor]]]:
        """Return the items found for every query up to the maximum distance, by target."""
        found = self.neighbours(asked, k)
        return {target: up_to(self.strategy.max_distance, lists) for target, lists in found.items()}

    def familiarity(self, asked: Asked) -> Shares:
        """Return the share of its match that each query keeps; None without matches, as for moved queries."""
        return None

    def matched(
        self, names: tuple[str, str], shares: Shares, found: Sequence[Sequence[Neighbor]], lists: list[Hits]
    ) -> list[Hits]:
        """Return the lists of found items with the match of each hit; ``names`` are the query view and the target."""
        return lists

    @abstractmethod
    def neighbours(self, asked: Asked, k: int) -> dict[Target, list[list[Neighbor]]]:
        """Return the k items found for every query, by target."""


class NearestScan(TargetScan[Nearest]):
    """The nearest items, from the indexes."""

    @staticmethod
    def hidden_targets(space: Space, queries: Sequence[Query]) -> list[Target]:
        """Return the targets in which near copies are found."""
        views = dict.fromkeys([*(query.view for query in queries), space.robust_view])
        return [space.sketch_of[view].target for view in views if view in space.sketch_of]

    def lists(self) -> list[HitList]:
        """Return the hit lists, with probabilities if the request wants them."""
        found = super().lists()
        for one in found if self.strategy.probabilities else ():
            view = self.request.queries[one.query].view
            for hit in one.hits:
                set_probability(self.state, self.strategy.base_rate, view, hit)
        return found

    def found(self, asked: Asked) -> list[list[tuple[str, Hits]]]:
        """Return the lists of every query by target, or one list, by distance on a common scale or by a fusion."""
        by_distance = not self.strategy.merge or on_common_scale(asked.probes.keys())
        if by_distance and not self.strategy.fuse:
            return super().found(asked)
        fusion = Fusion(self.state, self.strategy, self.request.k, self.only)
        return [[fusion.found(columns)] for columns in fusion.columns(asked, self.request.queries)]

    def neighbours(self, asked: Asked, k: int) -> dict[Target, list[list[Neighbor]]]:
        """Return the items that the indexes find, near copies of the queries first."""
        search = partial(self.state.version.live.search, self.state.indexed, asked.view, self.request.recall)
        found = neighbours(self.state.indexed, asked.probes, asked.own, k, self.only, search)
        copies = near_copies(self.state, self.request.queries, asked, k)
        return copies_first(self.state.indexed, asked, found, copies, k, self.only)

    def familiarity(self, asked: Asked) -> Shares:
        """Return the share of its match that each query keeps; None if its match is not calibrated."""
        return familiarity(self.state, asked, self.request.queries)

    def matched(
        self, names: tuple[str, str], shares: Shares, found: Sequence[Sequence[Neighbor]], lists: list[Hits]
    ) -> list[Hits]:
        """Return the lists with the match of each hit, without hits below the minimum match; that of near copies is 1.

        Raises NotReadyError for a minimum if the query's view and the target have no calibrated match.
        """
        space, least = self.state.space, self.strategy.min_match
        match = space.match_of.get(names)
        if match is None or shares is None:
            if least:
                raise NotReadyError(no_match(space, *names))
            return lists
        for neighbors, hits, share in zip(found, lists, shares, strict=True):
            copies = sum([isinstance(one, NearCopy) for one in neighbors])
            others = match.probabilities([hit.distance for hit in hits[copies:]], share)
            for hit, probability in zip(hits, [1.0] * copies + others, strict=True):
                vars(hit)["match"] = probability
        return [tuple([hit for hit in hits if (hit.match or 0) >= least]) for hits in lists] if least else lists


class MovedScan(TargetScan[Moved]):
    """The items whose scores are nearest to the moved scores of the queries."""

    def neighbours(self, asked: Asked, k: int) -> dict[Target, list[list[Neighbor]]]:
        """Return the items with the nearest scores."""
        found = {}
        for target, vectors in asked.probes.items():
            index, chosen = self.within(target)
            found[target] = self.state.space.axes_of(target).nearest(
                self.strategy, index, vectors, asked.own, k, chosen
            )
        return found


class WeightedScan(QueryScan[Weighted]):
    """One list for every query by weighted notions; the text of the weights stands for its target."""

    @staticmethod
    def check_space(space: Space) -> None:
        """Raise InvalidInputError for a space without notions."""
        check_notions(space)

    def found(self, asked: Asked) -> list[list[tuple[str, Hits]]]:
        """Return one list for every query, with the text of the weights as its target."""
        weights = self.strategy.weights
        indexes = {target: self.state.indexed.indexes[target].index for target in asked.probes}
        nearest = nearest_by_weights(
            indexes, asked.probes, tuple(weights.values()), asked.own, self.request.k, self.only
        )
        name, near = shown(weights), up_to(self.strategy.max_distance, nearest)
        return [[(name, hits)] for hits in hits_of(self.state.version, name, near)]


class ListedScan(Scan[Listed]):
    """The first items of every target by score."""

    def lists(self) -> list[HitList]:
        """Return the first items of every target, once for each query."""
        lists, space = [], self.state.space
        for number, query in enumerate(self.request.queries):
            for target in space.targets_for(query.view, self.strategy.names):
                index, chosen = self.within(target)
                first = [space.axes_of(target).first(self.strategy.sort_by, index, self.request.k, chosen)]
                (hits,) = hits_of(self.state.version, str(target), first, self.state.indexed.scores(target, first))
                lists.append(HitList(number, str(target), hits))
        return lists


class CombinedScan(Scan[Combined]):
    """One list of all items by a score of all queries, which are examples and counter-examples of one question."""

    def lists(self) -> list[HitList]:
        """Return the list; its distance falls as the score grows."""
        gathered, own = self._gathered()
        found_in = {
            target: scored(self.strategy.combine, target, self.state.indexed.indexes[target].index, *given)
            for target, given in gathered.items()
        }
        hidden = np.array([] if self.strategy.with_examples else sorted(own), np.int64)
        for target, (ids, scores) in found_in.items():
            chosen = np.isin(ids, hidden, assume_unique=True, invert=True)
            if self.only is not None:
                chosen &= np.isin(ids, self.only(target).ids, assume_unique=True)
            found_in[target] = ids[chosen], scores[chosen]
        found, scores = self._fused(found_in, own)
        first = best_first(self.request.k, scores)
        name = f"{self.strategy.combine} of {', '.join(map(str, gathered))}"
        name += f", fused by {self.strategy.fuse}" if self.strategy.fuse else ""
        distances = np.logaddexp(0, -scores[first]).tolist()
        near = [Neighbor(*pair) for pair in zip(found[first].tolist(), distances, strict=True)]
        (hits,) = hits_of(self.state.version, name, [near])
        return [HitList(0, name, hits)]

    def _fused(self, found_in: Mapping[Target, tuple[Ids, Floats]], own: set[int]) -> tuple[Ids, Floats]:
        """Return the items that any target has, ascending, and one score for each, (n,)."""
        items, scores = [ids for ids, _ in found_in.values()], [values for _, values in found_in.values()]
        weights = [1.0] * len(items)
        if self.strategy.fuse == RANK:
            scores = [reciprocal_ranks(-values) for values in scores]
        elif self.strategy.fuse == LEARN:
            places = [(target.view, target) for target in found_in]
            learned = Teacher(Evidence(self.state), tuple(places), by_match=False).learned(frozenset(own))
            weights = [learned.weights[place] for place in places]
        return mean_scores(items, scores, weights)

    def _gathered(self) -> tuple[dict[Target, tuple[NDArray[Any], NDArray[np.float64]]], set[int]]:
        """Return the vectors of the examples and their weights by target, and the items of the examples.

        An example counts in each view that it has. Raises the error of the first example that has none.
        """
        vectors: dict[Target, list[NDArray[Any]]] = defaultdict(list)
        weights: dict[Target, list[float]] = defaultdict(list)
        own = set[int]()
        by_view: dict[str, list[tuple[int, Query]]] = defaultdict(list)
        for number, query in enumerate(self.request.queries):
            views = views_of(self.state.version, self.state.space, query, self.strategy.names)
            read = query if query.view else described(self.state.version, query, views)
            for view in views:
                by_view[view].append((number, replace(read, view=view)))
        errors: dict[int, list[CrossviewError]] = defaultdict(list)
        counted = set[int]()
        for examples in by_view.values():
            for asked, numbers in self._asked(examples, errors):
                counted.update(numbers)
                own |= {item for item in asked.own if item is not None}
                for target, found in asked.probes.items():
                    vectors[target] += list(found)
                    weights[target] += [self.request.queries[number].weight for number in numbers]
        if lacking := errors.keys() - counted:
            raise errors[min(lacking)][0]
        return {
            target: (np.stack(vectors[target]), np.array(weights[target]))
            for target in vectors
            if max(weights[target]) > 0
        }, own

    def _asked(
        self, examples: Sequence[tuple[int, Query]], errors: dict[int, list[CrossviewError]]
    ) -> Iterator[tuple[Asked, list[int]]]:
        """Yield the probes of examples of one view, with their numbers; note the errors of those that lack the view.

        All examples go through the pipeline together or, if one of them has an error, those of each half.
        """
        queries = [query for _, query in examples]
        try:
            groups = list(query_probes(self.state, queries, self.strategy.names, True))
        except CrossviewError as error:
            if len(examples) == 1:
                if not isinstance(error, InvalidInputError | NotReadyError):
                    raise
                errors[examples[0][0]].append(error)
                return
            half = len(examples) // 2
            yield from self._asked(examples[:half], errors)
            yield from self._asked(examples[half:], errors)
            return
        for asked in groups:
            yield asked, [examples[place][0] for place in asked.numbers]


SCANS: Mapping[type[Strategy], type[Scan[Any]]] = {
    Nearest: NearestScan,
    Moved: MovedScan,
    Weighted: WeightedScan,
    Listed: ListedScan,
    Combined: CombinedScan,
}


def up_to(most: float | None, lists: list[list[Neighbor]]) -> list[list[Neighbor]]:
    """Return lists of neighbours without those beyond a distance."""
    return lists if most is None else [[one for one in found if one.distance <= most] for found in lists]


def scan_of(strategy: Strategy) -> type[Scan[Any]]:
    """Return the scan of a strategy."""
    return SCANS[type(strategy)]


def _nearest(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Merge by distance; a key appears once, where it is nearest."""
    best: dict[str, Hit] = {}
    for hit in sorted((hit for one in lists for hit in one.hits), key=lambda hit: hit.distance):
        best.setdefault(hit.key, hit)
    return tuple(best.values())[:k]
