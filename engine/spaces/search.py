"""A search: its checks, its plan in one state of a collection, its lists of hits, and the pages of all its hits."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.spaces.arranging import GROUPED, MOST_COMPARED, MOST_IN_POOL, arranged, is_arranged
from crossview.engine.spaces.indexed import Selector
from crossview.engine.spaces.queries import by_view, check_inputs, views_of, words_of_queries
from crossview.engine.spaces.rankings import Ranking, read_hits
from crossview.engine.spaces.scans import SCANS, Scan
from crossview.engine.spaces.scores import check_axes
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, StaleError, Version
from crossview.engine.spaces.versions import TargetsOf, Versions
from crossview.engine.values.conditions.filter import Filter, field_of
from crossview.engine.values.conditions.tree import EVERY, Field, FieldTest, Not
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError, call
from crossview.engine.values.index_choice import check_recall
from crossview.engine.values.numbers import check_count
from crossview.engine.values.query import (
    PER_DUPLICATE,
    HitList,
    Query,
    SearchRequest,
)
from crossview.engine.values.strategy import Combined, Nearest
from crossview.index.base import Selection


def check_queries(queries: Sequence[Query], k: int = 1, listing: bool = False) -> None:
    """Raise InvalidInputError for queries that no collection can answer; queries of a ``listing`` have no input."""
    check_count("k", k)
    if not queries:
        raise InvalidInputError("a search needs at least one query")
    for number, query in enumerate(queries):
        if len(query.inputs()) != (0 if listing else 1):
            inputs = "an image, a text, a vector, an item key and a label"
            raise InvalidInputError(f"query {number}: give exactly one of {inputs}")


def check_weights(request: SearchRequest) -> None:
    """Raise InvalidInputError for weights of queries that are not examples, and for examples that say nothing."""
    weights = [query.weight for query in request.queries]
    if not isinstance(request.strategy, Combined):
        if any(weight != 1 for weight in weights):
            raise InvalidInputError(
                "queries have weights only as examples of one question: give ", Argument("combine"), ", too"
            )
        return
    if not all(math.isfinite(weight) and weight for weight in weights):
        raise InvalidInputError("the weight of an example is a number other than 0: below 0 for a counter-example")
    if max(weights) < 0:
        raise InvalidInputError("counter-examples alone say what not to find: give at least one example")


def check_arrangement(request: SearchRequest) -> None:
    """Raise InvalidInputError for a group or an order that no hit can have."""
    if request.per and field_of(request.per).kind not in GROUPED:
        raise InvalidInputError(f"hits are grouped by label, duplicate or an attribute, not by {request.per}")
    check_count("hits_per", request.hits_per)
    if request.hits_per > 1 and not request.per:
        raise InvalidInputError("hits_per limits the hits of a group: also give ", Argument("per"))
    if not 0 <= request.diversity <= 1:
        raise InvalidInputError(f"diversity must be between 0 and 1, not {request.diversity:g}")
    if request.diversity and request.k > MOST_IN_POOL:
        raise InvalidInputError(f"diversity chooses at most {MOST_IN_POOL:,} hits, not {request.k:,}: lower k")
    if request.per == PER_DUPLICATE and request.k > MOST_COMPARED:
        raise InvalidInputError(f"without copies, there are at most {MOST_COMPARED:,} hits, not {request.k:,}: lower k")
    if (request.per or request.diversity) and request.strategy.lists_items:
        raise InvalidInputError("a list of items by score has no groups and no diversity: give a query")


def check_without_view(request: SearchRequest) -> None:
    """Raise InvalidInputError for a query without a view that needs one."""
    strategy = request.strategy
    for number, query in enumerate(request.queries):
        if query.view:
            continue
        if strategy.lists_items:
            raise InvalidInputError(
                "a list of items by a score needs the ",
                Argument("view"),
                " of the score; to list items by an attribute, use ",
                call("collection.items", sort_by=strategy.sort_by),
            )
        if query.vector is not None or query.label is not None:
            raise InvalidInputError(f"query {number}: a vector or a class needs a view: give the view that it is of")
        if not isinstance(strategy, Nearest | Combined) or strategy.max_distance is not None:
            raise InvalidInputError(
                "give the query a view: a search by every view takes no other options than targets, k, a filter, "
                "min_match and fuse"
            )


def check_search(request: SearchRequest) -> None:
    """Raise InvalidInputError for a request that no collection can answer."""
    check_queries(request.queries, request.k, request.strategy.lists_items)
    check_weights(request)
    check_without_view(request)
    request.strategy.check()
    check_arrangement(request)
    check_filter(request.filter)
    if request.recall:
        check_recall(request.recall)


def check_pages(request: SearchRequest) -> None:
    """Raise InvalidInputError for a request that has no pages."""
    check_search(request)
    if request.diversity:
        raise InvalidInputError("diversity chooses k hits, and pages have all: leave one of the two out")


def searched_targets(request: SearchRequest) -> TargetsOf:
    """Return a function that checks the queries of a search against a space and returns its targets, with hidden ones.

    A query without a view asks by all views by which it can.
    """
    scan = SCANS[type(request.strategy)]

    def targets(version: Version, space: Space) -> list[Target]:
        asked = list[tuple[Query, Sequence[str]]]()
        for query in request.queries:
            views = views_of(version, space, query, request.strategy.names)
            asked += [(replace(query, view=view), names) for view, names in views.items()]
        scan.check_space(space)
        queries = [query for query, _ in asked]
        no_targets(queries)(version, space)
        searched = dict[Target, None]()
        for query, names in asked:
            searched |= dict.fromkeys(space.targets_for(query.view, names))
        return [*searched, *scan.hidden_targets(space, queries)]

    return targets


def no_targets(queries: Sequence[Query]) -> TargetsOf:
    """Return a function that only checks the queries, for calls that need no index."""

    def targets(version: Version, space: Space) -> list[Target]:
        for view, numbers in by_view(queries).items():
            check_inputs(version, view, queries, numbers)
        return []

    return targets


_PRESENT = Not(FieldTest(Field("missing"), "exists"))


@dataclass(frozen=True)
class SearchPlan:
    """A search that is ready to be carried out in one state of a collection."""

    state: SearchState
    request: SearchRequest
    scan: Scan[Any]

    @classmethod
    def of(cls, state: SearchState, request: SearchRequest) -> "SearchPlan":
        """Return the plan of a checked request; raise NotFoundError or InvalidInputError for axes that are not axes of
        the space."""
        check_axes(state.space.axes, state.space.name, request)
        skips_missing = state.version.missing and not request.include_missing
        only = passing(state, request.filter.also(_PRESENT) if skips_missing else request.filter)
        strategy = request.strategy
        return cls(state, request, SCANS[type(strategy)](state, strategy, only, request.recall))

    def arranged(self) -> list[Ranking]:
        """Return the lists before the content of their items is read; raises the errors of ``Scan.rankings``."""
        request, state, targets = self.request, self.state, list[Target]()
        if request.diversity:
            searched = searched_targets(request)(state.version, state.space)
            targets = [target for target in searched if not target.hidden]
        rankings = arranged(state, request, targets, partial(self.scan.rankings, request.queries))
        return [ranking.judged() for ranking in rankings]

    def hit_lists(self, rankings: Sequence[Ranking]) -> list[HitList]:
        """Return rankings as lists of hits; raises the errors of ``read_hits``."""
        words = words_of_queries(self.state.version, self.request.queries)
        return read_hits(self.state, self.request.strategy, rankings, words)


def answer(state: SearchState, request: SearchRequest) -> list[HitList]:
    """Return the hit lists, query by query and target by target.

    Raises InvalidInputError, NotFoundError, NotReadyError, ImageError for an unreadable picture, and StaleError if the
    search must start again with the next version.
    """
    plan = SearchPlan.of(state, request)
    return plan.hit_lists(plan.arranged())


def passing(state: SearchState, where: Filter) -> Selector:
    """Return a function that selects the items of a target that pass a filter."""
    (version, indexed), stored, scored = state, where.stored, where.scored
    selection = partial(version.selection, stored, indexed) if stored != EVERY else None
    if scored == EVERY:
        return selection

    def chosen_of(target: Target) -> Selection:
        index, some = indexed.indexes[target].index, None if selection is None else selection(target)
        return indexed.space.axes_of(target).passing(scored, index, some, version.ids)

    return chosen_of


def answer_at_hand(versions: Versions, request: SearchRequest, most_bytes: int, most_hits: int) -> list[HitList] | None:
    """Return the hit lists if everything needed is in memory; see ``Collection.memory.search``."""
    if request.filter.stored != EVERY or any(query.vector is None for query in request.queries):
        return None
    strategy = request.strategy
    if strategy.combine or strategy.fuse or vars(strategy).get("merge"):  # it may learn, and scores all items
        return None
    check_search(request)
    state = versions.at_hand(request.space)
    if state is None:
        return None
    try:
        if (state.version.missing and not request.include_missing) or is_arranged(request, state.space.axes):
            return None
        targets = searched_targets(request)(state.version, state.space)
        if any(target not in state.indexed.indexes for target in targets):
            return None
        hits = request.k * sum(not target.hidden for target in targets)
        if len(request.queries) * sum(state.indexed.read_bytes(request, target) for target in targets) > most_bytes:
            return None
        if len(request.queries) * hits > most_hits:
            return None
        return answer(state, request)
    except StaleError:
        return None


MOST_HITS = 1 << 21
"""Maximum number of hits of the pages of a search."""


class Pages:
    """All hits of a search; threads may read pages in turn. ``close`` gives up the state of the collection."""

    def __init__(self, plan: SearchPlan, rankings: Sequence[Ranking], close: Callable[[], None]) -> None:
        self._plan, self._rankings, self._close = plan, rankings, close
        self._lock = threading.Lock()
        self._closed = False

    def __len__(self) -> int:
        return sum(len(ranking.ids) for ranking in self._rankings)

    def page(self, first: int, size: int) -> list[HitList]:
        """Return up to ``size`` hits from place ``first`` of all lists in a row, each list with its ``total``.

        The first page has every list. Raises NotReadyError after ``close``.
        """
        with self._lock:
            if self._closed:
                raise NotReadyError("the pages of this search are closed: search again")
            begins = accumulate((len(ranking.ids) for ranking in self._rankings), initial=0)
            lists = list[HitList]()
            for begin, ranking in zip(begins, self._rankings, strict=False):
                some = ranking.take(slice(max(0, first - begin), max(0, first + size - begin)))
                if len(some.ids) or not first:
                    lists += [replace(hits, total=len(ranking.ids)) for hits in self._plan.hit_lists([some])]
            return lists

    def each(self, size: int) -> Iterator[list[HitList]]:
        """Yield all pages."""
        for first in range(0, max(1, len(self)), size):
            yield self.page(first, size)

    def close(self) -> None:
        """Give up the state of the collection."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._close()


def pages_of(versions: Versions, request: SearchRequest) -> Pages:
    """Return the pages of a request, whose k does not count; raises the errors of a search, and InvalidInputError for
    more than MOST_HITS hits."""
    state, close = versions.kept(request.space, searched_targets(request))
    try:
        most = max(1, MOST_HITS // (max(1, len(request.queries)) * max(1, len(state.indexed.indexes))))
        plan = SearchPlan.of(state, replace(request, k=most + 1))
        rankings = plan.arranged()
        if any(len(ranking.ids) > most for ranking in rankings):
            raise InvalidInputError(
                f"all pages of a search may have {MOST_HITS:,} hits, and these have more: give a filter, a target, or "
                "a maximum distance"
            )
        return Pages(plan, rankings, close)
    except BaseException:
        close()
        raise
