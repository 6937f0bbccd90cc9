"""Scans: how each strategy finds items in one space."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from crossview.engine.query import Hit, HitList, SearchRequest
from crossview.engine.spaces.fusion import fuse
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.loaded import LoadedSpaces
from crossview.engine.spaces.matching import Hits, Only, Own, Probes, hits_of, neighbours, query_probes
from crossview.engine.spaces.neighbor import Neighbor
from crossview.engine.spaces.scores import in_order
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target, on_common_scale
from crossview.engine.spaces.version import Version
from crossview.engine.spaces.weighting import check_notions, nearest_by_weights, shown
from crossview.engine.strategy import Listed, Moved, Nearest, Strategy, Weighted
from crossview.index.base import Index, Selection

_OVERFETCH = 3
"""Hits searched for in every target for each one wanted, before lists are merged."""

S = TypeVar("S", bound=Strategy)


@dataclass(frozen=True)
class Scan(ABC, Generic[S]):
    """One search by a strategy in a space; errors as in ``engine.spaces.search.answer``."""

    strategy: S
    request: SearchRequest
    version: Version
    indexed: IndexedSpace
    loaded: LoadedSpaces
    only: Only

    @staticmethod
    def check_space(space: Space) -> None:
        """Raise InvalidInputError for a space that cannot be searched by the strategy."""

    @abstractmethod
    def lists(self) -> list[HitList]:
        """Return the hit lists, query by query and target by target."""

    def within(self, target: Target) -> tuple[Index, Selection | None]:
        """Return the index of a target, and which of its items may be found."""
        return self.indexed.indexes[target].index, None if self.only is None else self.only(target)

    def scores(self, target: Target, lists: Sequence[Sequence[Neighbor]]) -> Mapping[int, Mapping[str, float]]:
        """Return the scores of the items in some lists of a target, by id; none in a space without axes."""
        if not self.indexed.space.axes:
            return {}
        return self.indexed.space.axes_of(target).scores_of(self.indexed.indexes[target].index, lists)


class QueryScan(Scan[S]):
    """A search by queries that have an input."""

    def lists(self) -> list[HitList]:
        """Return the hit lists, of queries that are described alike at once."""
        found: dict[int, list[HitList]] = {}
        queries, space = self.request.queries, self.indexed.space
        for numbers, probes, own in query_probes(self.version, space, self.loaded, queries, self.strategy.names):
            for number, apart in zip(numbers, self.found(probes, own), strict=True):
                found[number] = [HitList(number, name, hits) for name, hits in apart]
        return [one for number in range(len(queries)) for one in found[number]]

    @abstractmethod
    def found(self, probes: Probes, own: Own) -> list[list[tuple[str, Hits]]]:
        """Return the lists of every query, each with the name of its target, or "" where it is merged."""


N = TypeVar("N", Nearest, Moved)


class TargetScan(QueryScan[N]):
    """A search in each target, whose lists may be merged and sorted."""

    def lists(self) -> list[HitList]:
        """Return the hit lists in their order."""
        return in_order(self.strategy.sort_by, super().lists())

    def found(self, probes: Probes, own: Own) -> list[list[tuple[str, Hits]]]:
        """Return the lists of every query by target, or where they are merged the one list."""
        comparable, k = on_common_scale(probes.keys()), self.request.k
        merged = comparable if self.strategy.merge is None else self.strategy.merge
        wanted = k * _OVERFETCH if merged and not comparable else k
        by_target = {
            target: hits_of(self.version, str(target), lists, self.scores(target, lists))
            for target, lists in self.neighbours(probes, own, wanted).items()
        }
        apart = [[(str(target), hits[row]) for target, hits in by_target.items()] for row in range(len(own))]
        if not merged:
            return apart
        join = _nearest if comparable else fuse
        return [[("", join([HitList(0, name, hits) for name, hits in lists], k))] for lists in apart]

    @abstractmethod
    def neighbours(self, probes: Probes, own: Own, k: int) -> dict[Target, list[list[Neighbor]]]:
        """Return, by target, the k items that are found for every query."""


class NearestScan(TargetScan[Nearest]):
    """The nearest items, from the indexes."""

    def lists(self) -> list[HitList]:
        """Return the hit lists, with probabilities where they are wanted."""
        found = super().lists()
        if self.strategy.probabilities:
            self._add_probabilities(found)
        return found

    def neighbours(self, probes: Probes, own: Own, k: int) -> dict[Target, list[list[Neighbor]]]:
        """Return the items that the indexes find."""
        return neighbours(self.indexed, probes, own, k, self.only)

    def _add_probabilities(self, found: Sequence[HitList]) -> None:
        """Write into fresh hits how probable it is that they and their query are the same.

        Raises NotReadyError where no threshold of the query's view and a hit's target is known.
        """
        for one in found:
            view = self.request.queries[one.query].view
            for hit in one.hits:
                threshold = self.version.threshold(self.indexed.space, view, hit.target)
                rate = threshold.base_rate if self.strategy.base_rate is None else self.strategy.base_rate
                vars(hit).update(probability=threshold.probability(hit.distance, rate), base_rate=rate)


class MovedScan(TargetScan[Moved]):
    """The items that are nearest in scores to where queries are moved."""

    def neighbours(self, probes: Probes, own: Own, k: int) -> dict[Target, list[list[Neighbor]]]:
        """Return the items that are nearest in scores."""
        found = {}
        for target, vectors in probes.items():
            index, chosen = self.within(target)
            found[target] = self.indexed.space.axes_of(target).nearest(self.strategy, index, vectors, own, k, chosen)
        return found


class WeightedScan(QueryScan[Weighted]):
    """One list of every query by weighted notions; the weights are the name of its target."""

    @staticmethod
    def check_space(space: Space) -> None:
        """Raise InvalidInputError for a space without notions."""
        check_notions(space)

    def found(self, probes: Probes, own: Own) -> list[list[tuple[str, Hits]]]:
        """Return the one list of every query, and the weights as its name."""
        weights = self.strategy.weights
        indexes = {target: self.indexed.indexes[target].index for target in probes}
        nearest = nearest_by_weights(indexes, probes, tuple(weights.values()), own, self.request.k, self.only)
        name = shown(weights)
        return [[(name, hits)] for hits in hits_of(self.version, name, nearest)]


class ListedScan(Scan[Listed]):
    """The first items of every target by score."""

    def lists(self) -> list[HitList]:
        """Return the first items of every target, once for each query."""
        lists, space = [], self.indexed.space
        for number, query in enumerate(self.request.queries):
            for target in space.targets_for(query.view, self.strategy.names):
                index, chosen = self.within(target)
                first = [space.axes_of(target).first(self.strategy.sort_by, index, self.request.k, chosen)]
                (hits,) = hits_of(self.version, str(target), first, self.scores(target, first))
                lists.append(HitList(number, str(target), hits))
        return lists


SCANS: Mapping[type[Strategy], type[Scan[Any]]] = {
    Nearest: NearestScan,
    Moved: MovedScan,
    Weighted: WeightedScan,
    Listed: ListedScan,
}


def scan_of(strategy: Strategy) -> type[Scan[Any]]:
    """Return how a strategy finds items."""
    return SCANS[type(strategy)]


def _nearest(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Merge by distance; a key appears once, where it is nearest."""
    best: dict[str, Hit] = {}
    for hit in sorted((hit for one in lists for hit in one.hits), key=lambda hit: hit.distance):
        best.setdefault(hit.key, hit)
    return tuple(best.values())[:k]
