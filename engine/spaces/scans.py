"""Scans: how each strategy finds items in one space."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.columns import Evidence, best_first, mean_scores, reciprocal_ranks
from crossview.engine.spaces.examples import scored
from crossview.engine.spaces.fusing import Fusion, no_match
from crossview.engine.spaces.indexed import Selector
from crossview.engine.spaces.near_copies import copies_first, near_copies
from crossview.engine.spaces.queries import Asked, described, familiarity, query_probes, views_of
from crossview.engine.spaces.rankings import Floats, Ranking, by_distance, by_rank
from crossview.engine.spaces.space import Space, Vectors
from crossview.engine.spaces.target import Near, Target, on_common_scale
from crossview.engine.spaces.teaching import Teacher
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.errors import Argument, CrossviewError, InvalidInputError, NotReadyError
from crossview.engine.values.query import Query
from crossview.engine.values.strategy import LEARN, RANK, Combined, Listed, Moved, Nearest, Strategy, Weighted
from crossview.features.stages import stage
from crossview.index.base import Ids, Index, Selection

OVERFETCH = 3
"""Hits to find in every target for each wanted hit before a merge, which drops repeated items."""
_FIRST_DEPTH = 4
"""Items that each notion gives in the first round, as a multiple of k, and the growth in each further round."""
_CLEARLY = 1 - 1e-6
"""Relative error of distances, which indexes round to float32."""

S = TypeVar("S", bound=Strategy)


@dataclass(frozen=True)
class Scan(ABC, Generic[S]):
    """A search by a strategy in a space."""

    state: SearchState
    strategy: S
    only: Selector
    recall: float
    """The recall of searches in approximate indexes [default: 0, the promised one]."""

    @staticmethod
    def check_space(space: Space) -> None:
        """Raise InvalidInputError for a space that the strategy cannot search."""

    @staticmethod
    def hidden_targets(space: Space, queries: Sequence[Query]) -> list[Target]:
        """Return the targets that a search needs besides those of its lists."""
        return []

    @abstractmethod
    def rankings(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return lists of up to k items, query by query and target by target.

        Raises the errors of ``query_probes`` and ``Space.probe``, and StaleError as ``Version.read``.
        """

    def within(self, target: Target) -> tuple[Index, Selection | None]:
        """Return the index of a target, and the selection of its items that the search may find."""
        return self.state.indexed.indexes[target].index, None if self.only is None else self.only(target)

    def ranking(self, number: int, view: str, target: Target, near: Near, matches: Floats | None = None) -> Ranking:
        """Return the list of the items that a query with a number and a view finds in a target."""
        scores = self.state.indexed.scores(target, near.ids)
        crossings = [(view, str(target))]
        return Ranking(number, str(target), near.ids, near.distances, crossings, matches=matches, scores=scores)


class QueryScan(Scan[S]):
    """A search by queries that have an input."""

    def rankings(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return the lists; queries with the same kind of input go through the pipeline together."""
        lists: dict[int, list[Ranking]] = {}
        for group in query_probes(self.state, queries, self.strategy.names):
            lists.update(zip(group.numbers, self.of_group(group, queries, k), strict=True))
        return [ranking for number in range(len(queries)) for ranking in lists[number]]

    @abstractmethod
    def of_group(self, group: Asked, queries: Sequence[Query], k: int) -> list[list[Ranking]]:
        """Return the lists of every query of a group; ``queries`` are all queries."""


N = TypeVar("N", Nearest, Moved)


class TargetScan(QueryScan[N]):
    """A search in each target, whose lists can be merged."""

    def of_group(self, group: Asked, queries: Sequence[Query], k: int) -> list[list[Ranking]]:
        """Return the lists of every query by target, or one merged list."""
        comparable = on_common_scale(group.probes.keys())
        merged = comparable if self.strategy.merge is None else self.strategy.merge
        by_target = self.in_targets(group, queries, k * OVERFETCH if merged and not comparable else k)
        lists = [[rankings[row] for rankings in by_target] for row in range(len(group.own))]
        if not merged:
            return lists
        if comparable:
            return [[by_distance(apart, k)] for apart in lists]
        items = self.state.version.shown(
            {item for apart in lists for ranking in apart for item in ranking.ids.tolist()}
        )
        return [[by_rank(apart, k, lambda item: items[item].key)] for apart in lists]

    @abstractmethod
    def in_targets(self, group: Asked, queries: Sequence[Query], k: int) -> list[list[Ranking]]:
        """Return the list of every query in each target, up to the maximum distance."""


class NearestScan(TargetScan[Nearest]):
    """The nearest items, from the indexes."""

    @staticmethod
    def hidden_targets(space: Space, queries: Sequence[Query]) -> list[Target]:
        """Return the targets in which near copies are found."""
        views = dict.fromkeys([*(query.view for query in queries), space.robust_view])
        return [space.sketch_of[view].target for view in views if view in space.sketch_of]

    def rankings(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return the lists; a query without a view gets one list, fused over all views and targets."""
        if all(query.view for query in queries):
            return super().rankings(queries, k)
        fusion, lists = Fusion(self.state, self.strategy, k, self.only), list[Ranking]()
        for number, query in enumerate(queries):
            if query.view:
                lists += [ranking._replace(query=number) for ranking in super().rankings([query], k)]
            else:
                lists.append(fusion.of_every_view(number, query))
        return lists

    def of_group(self, group: Asked, queries: Sequence[Query], k: int) -> list[list[Ranking]]:
        """Return the lists of every query by target, or one list, by distance on a common scale or by a fusion."""
        by_distance = not self.strategy.merge or on_common_scale(group.probes.keys())
        if by_distance and not self.strategy.fuse:
            return super().of_group(group, queries, k)
        fusion = Fusion(self.state, self.strategy, k, self.only)
        columns = fusion.columns(group, queries)
        return [[fusion.ranking(number, some)] for number, some in zip(group.numbers, columns, strict=True)]

    def in_targets(self, group: Asked, queries: Sequence[Query], k: int) -> list[list[Ranking]]:
        """Return the items that the indexes find, near copies of the queries first, each with its match.

        The match of near copies is 1. Raises NotReadyError for a minimum match if the query's view and the target have
        no calibrated match.
        """
        indexed, space, least = self.state.indexed, self.state.space, self.strategy.min_match
        search = partial(self.state.version.live.search, indexed, group.view, self.recall)
        lists = indexed.neighbours(group.probes, group.own, k, self.only, search)
        copies = near_copies(self.state, queries, group, k)
        familiar, by_target = familiarity(self.state, group, queries), []
        for target, of_queries in copies_first(indexed, group, lists, copies, k, self.only).items():
            match = None if familiar is None else space.match_of.get((group.view, str(target)))
            if match is None and least:
                raise NotReadyError(no_match(space, group.view, str(target)))
            rankings = []
            for row, (number, near) in enumerate(zip(group.numbers, of_queries, strict=True)):
                near, matches = near.up_to(self.strategy.max_distance), None
                if match is not None and familiar is not None:
                    distances = near.distances[near.copies :]
                    matches = np.ones(len(near.ids))
                    if len(distances):
                        matches[near.copies :] = match.of_all(distances, float(distances[0]), familiar[row])
                ranking = self.ranking(number, group.view, target, near, matches)
                rankings.append(ranking.take(matches >= least) if least and matches is not None else ranking)
            by_target.append(rankings)
        return by_target


class MovedScan(TargetScan[Moved]):
    """The items whose scores are nearest to the moved scores of the queries."""

    def in_targets(self, group: Asked, queries: Sequence[Query], k: int) -> list[list[Ranking]]:
        """Return the items with the nearest scores."""
        by_target = []
        for target, vectors in group.probes.items():
            index, selection = self.within(target)
            lists = self.state.space.axes_of(target).nearest(self.strategy, index, vectors, group.own, k, selection)
            rows = zip(group.numbers, lists, strict=True)
            most = self.strategy.max_distance
            by_target.append([self.ranking(number, group.view, target, near.up_to(most)) for number, near in rows])
        return by_target


class WeightedScan(QueryScan[Weighted]):
    """One list for every query by weighted notions; the text of the weights stands for its target."""

    @staticmethod
    def check_space(space: Space) -> None:
        """Raise InvalidInputError for a space without notions."""
        if not space.pipeline.capabilities.notions:
            raise InvalidInputError(
                f"space {space.name!r} has no notions of similarity to weigh: train a space with ",
                Argument("spec", "joint"),
            )

    def of_group(self, group: Asked, queries: Sequence[Query], k: int) -> list[list[Ranking]]:
        """Return one list for every query, with the text of the weights as its target."""
        weights = self.strategy.weights
        indexes = {target: self.state.indexed.indexes[target].index for target in group.probes}
        lists = nearest_by_weights(indexes, group.probes, tuple(weights.values()), group.own, k, self.only)
        name = text_of_weights(weights)
        within = [near.up_to(self.strategy.max_distance) for near in lists]
        rows = zip(group.numbers, within, strict=True)
        return [[Ranking(number, name, near.ids, near.distances, [(group.view, name)])] for number, near in rows]


def text_of_weights(weights: Mapping[str, float]) -> str:
    """Return weights as a text such as ``head=2,wing=1``, which hits have instead of a target."""
    return ",".join(f"{name}={weight:g}" for name, weight in sorted(weights.items()))


def nearest_by_weights(
    indexes: Mapping[Target, Index],
    probes: Mapping[Target, Vectors],
    weights: Sequence[float],
    own: Sequence[int | None],
    k: int,
    only: Selector,
) -> list[Near]:
    """Return the k nearest items of every query by sqrt(sum of w_t d_t^2), among those that ``only`` selects.

    ``probes`` has the (q, D_t) vectors of the queries by target, each with its weight; ``own`` has the item behind each
    query, which the query must not find.

    Each notion gives more and more of its nearest items, until no unseen item can be among the k: an unseen item is
    further away, in every notion, than the last item of that notion (the threshold algorithm of Fagin, Lotem and Naor,
    2003).
    """
    if len(probes) < len(weights):
        raise InvalidInputError("a notion has two weights: name each notion once")
    parts = [
        (indexes[target], vectors.astype(np.float64), weight, None if only is None else only(target))
        for (target, vectors), weight in zip(probes.items(), weights, strict=True)
        if weight
    ]
    lists: dict[int, Near] = {}
    waiting, depth, size = list(range(len(own))), _FIRST_DEPTH * (k + 1), max(1, *(len(part[0]) for part in parts))
    while waiting:
        checkpoint()
        with stage("search indexes", targets=len(parts)):
            results = [
                index.search(vectors[waiting].astype(np.float32), min(depth, size), selection)
                for index, vectors, _, selection in parts
            ]
        unseen = np.zeros(len(waiting))
        for (_, _, weight, _), result in zip(parts, results, strict=True):
            unseen += weight * result.distances[:, -1].astype(np.float64) ** 2
        for row, query in enumerate(waiting):
            ids = np.unique(np.concatenate([result.ids[row] for result in results]))
            ids = ids[(ids >= 0) & (ids != (-1 if own[query] is None else own[query]))]
            squares = np.zeros(len(ids))
            for index, vectors, weight, _ in parts:
                gaps = index.get(ids) - vectors[query]
                squares += weight * np.vecdot(gaps, gaps)
            order = np.lexsort((ids, squares))[:k]
            if depth >= size or (len(order) == k and squares[order[-1]] <= _CLEARLY * unseen[row]):
                lists[query] = Near(ids[order], np.sqrt(squares[order]))
        waiting, depth = [query for query in waiting if query not in lists], depth * _FIRST_DEPTH
    return [lists[query] for query in range(len(own))]


class ListedScan(Scan[Listed]):
    """The first items of every target by score."""

    def rankings(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return the first items of every target, once for each query."""
        lists, space = [], self.state.space
        for number, query in enumerate(queries):
            for target in space.targets_for(query.view, self.strategy.names):
                index, selection = self.within(target)
                near = space.axes_of(target).first(self.strategy.sort_by, index, k, selection)
                lists.append(self.ranking(number, query.view, target, near))
        return lists


class CombinedScan(Scan[Combined]):
    """One list of all items by a score of all queries, which are examples and counter-examples of one question."""

    def rankings(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return the list; its distance falls as the score grows."""
        examples, own = self._gathered(queries)
        items = {
            target: scored(self.strategy.combine, target, self.state.indexed.indexes[target].index, *of_target)
            for target, of_target in examples.items()
        }
        hidden = np.array([] if self.strategy.with_examples else sorted(own), np.int64)
        for target, (ids, scores) in items.items():
            mask = np.isin(ids, hidden, assume_unique=True, invert=True)
            if self.only is not None:
                mask &= np.isin(ids, self.only(target).ids, assume_unique=True)
            items[target] = ids[mask], scores[mask]
        ids, scores = self._fused(items, own)
        first = best_first(k, scores)
        name = f"{self.strategy.combine} of {', '.join(map(str, examples))}"
        name += f", fused by {self.strategy.fuse}" if self.strategy.fuse else ""
        return [Ranking(0, name, ids[first], np.logaddexp(0, -scores[first]), [("", name)])]

    def _fused(self, items_in: Mapping[Target, tuple[Ids, Floats]], own: set[int]) -> tuple[Ids, Floats]:
        """Return the items that any target has, ascending, and one score for each, (n,)."""
        items, scores = [ids for ids, _ in items_in.values()], [values for _, values in items_in.values()]
        weights = [1.0] * len(items)
        if self.strategy.fuse == RANK:
            scores = [reciprocal_ranks(-values) for values in scores]
        elif self.strategy.fuse == LEARN:
            crossings = [(target.view, target) for target in items_in]
            learned = Teacher(Evidence(self.state), tuple(crossings), by_match=False).learned(frozenset(own))
            weights = [learned.weights[crossing] for crossing in crossings]
        return mean_scores(items, scores, weights)

    def _gathered(self, queries: Sequence[Query]) -> tuple[dict[Target, tuple[NDArray[Any], Floats]], set[int]]:
        """Return the vectors of the examples and their weights by target, and the items of the examples.

        An example counts in each view that it has. Raises the error of the first example that has none.
        """
        vectors: dict[Target, list[NDArray[Any]]] = defaultdict(list)
        weights: dict[Target, list[float]] = defaultdict(list)
        own, names = set[int](), dict[str, Sequence[str]]()
        by_view: dict[str, list[tuple[int, Query]]] = defaultdict(list)
        for number, query in enumerate(queries):
            views = views_of(self.state.version, self.state.space, query, self.strategy.names)
            read = query if query.view else described(self.state.version, query, views)
            names |= views
            for view in views:
                by_view[view].append((number, replace(read, view=view)))
        errors: dict[int, list[CrossviewError]] = defaultdict(list)
        counted = set[int]()
        for view, examples in by_view.items():
            for group, numbers in self._asked(examples, names[view], errors):
                counted.update(numbers)
                own |= {item for item in group.own if item is not None}
                for target, rows in group.probes.items():
                    vectors[target] += list(rows)
                    weights[target] += [queries[number].weight for number in numbers]
        if lacking := errors.keys() - counted:
            raise errors[min(lacking)][0]
        return {
            target: (np.stack(vectors[target]), np.array(weights[target]))
            for target in vectors
            if max(weights[target]) > 0
        }, own

    def _asked(
        self, examples: Sequence[tuple[int, Query]], names: Sequence[str], errors: dict[int, list[CrossviewError]]
    ) -> Iterator[tuple[Asked, list[int]]]:
        """Yield the probes of examples of one view, with their numbers; note the errors of those that lack the view.

        All examples go through the pipeline together or, if one of them has an error, those of each half.
        """
        queries = [query for _, query in examples]
        try:
            groups = list(query_probes(self.state, queries, names, True))
        except CrossviewError as error:
            if len(examples) == 1:
                if not isinstance(error, InvalidInputError | NotReadyError):
                    raise
                errors[examples[0][0]].append(error)
                return
            half = len(examples) // 2
            yield from self._asked(examples[:half], names, errors)
            yield from self._asked(examples[half:], names, errors)
            return
        for group in groups:
            yield group, [examples[place][0] for place in group.numbers]


SCANS: Mapping[type[Strategy], type[Scan[Any]]] = {
    Nearest: NearestScan,
    Moved: MovedScan,
    Weighted: WeightedScan,
    Listed: ListedScan,
    Combined: CombinedScan,
}
