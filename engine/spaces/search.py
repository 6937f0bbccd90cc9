"""A search: from inputs to rows, to probes, to neighbours, to hits; and the embeddings of queries and items."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.joined import joined_view
from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.arranging import GROUPED, MOST_IN_POOL, Ranking, is_arranged, ranked
from crossview.engine.spaces.copies import MOST_COMPARED
from crossview.engine.spaces.every_view import by_every_view, check_without_view, in_each_view
from crossview.engine.spaces.fusing import Fusion
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.loaded import LoadedSpaces
from crossview.engine.spaces.matching import Selector, by_view, query_probes
from crossview.engine.spaces.query_rows import check_inputs, words_of_queries
from crossview.engine.spaces.scans import scan_of
from crossview.engine.spaces.scores import check_axes
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import StaleError, Version
from crossview.engine.spaces.versions import TargetsOf, Versions
from crossview.engine.values.conditions.filter import Filter, field_of
from crossview.engine.values.conditions.tree import EVERY, Field, FieldTest, Not
from crossview.engine.values.errors import Argument, InvalidInputError, NotReadyError
from crossview.engine.values.index_choice import check_recall
from crossview.engine.values.numbers import check_count
from crossview.engine.values.query import (
    ITEMS_AT_ONCE,
    PER_DUPLICATE,
    Embedding,
    HitList,
    ItemEmbeddings,
    Query,
    SearchRequest,
)
from crossview.engine.values.strategy import Combined, Nearest
from crossview.index.base import Ids, Selection

_PAGE_BYTES = 1 << 23
"""Maximum number of bytes of the rows or vectors of a page, unless one item needs more."""


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


def check_request(request: SearchRequest) -> None:
    """Raise InvalidInputError for a request that no collection can answer."""
    check_queries(request.queries, request.k, request.strategy.lists_items)
    check_weights(request)
    check_without_view(request, isinstance(request.strategy, Nearest | Combined))
    request.strategy.check()
    check_arrangement(request)
    check_filter(request.filter)
    if request.recall:
        check_recall(request.recall)


def check_pages(request: SearchRequest) -> None:
    """Raise InvalidInputError for a request that has no pages."""
    check_request(request)
    if request.diversity:
        raise InvalidInputError("diversity chooses k hits, and pages have all: leave one of the two out")


def targets_of(
    queries: Sequence[Query], names: Sequence[str], check_space: Callable[[Space], None] | None = None
) -> TargetsOf:
    """Return a function that checks the queries against a space and returns the targets to search.

    ``check_space`` raises InvalidInputError for a space that does not suit the search.
    """

    def targets(version: Version, space: Space) -> list[Target]:
        if check_space is not None:
            check_space(space)
        groups = by_view(queries)
        for view, numbers in groups.items():
            check_inputs(version, view, queries, numbers)
        return list(dict.fromkeys(target for view in groups for target in space.targets_for(view, names)))

    return targets


def searched_targets(request: SearchRequest) -> TargetsOf:
    """Return the function that checks a search and returns its targets, with the hidden ones."""
    scan = scan_of(request.strategy)

    def targets(version: Version, space: Space) -> list[Target]:
        queries = in_each_view(version, space, request.queries, request.strategy.names)
        shown = targets_of(queries, request.strategy.names, scan.check_space)(version, space)
        return [*shown, *scan.hidden_targets(space, queries)]

    return targets


def no_targets(queries: Sequence[Query]) -> TargetsOf:
    """Return a function that only checks the queries, for calls that need no index."""

    def targets(version: Version, space: Space) -> list[Target]:
        for view, numbers in by_view(queries).items():
            check_inputs(version, view, queries, numbers)
        return []

    return targets


def without_missing(version: Version, request: SearchRequest) -> SearchRequest:
    """Return a request that finds no item whose file is missing, unless it asks for such items."""
    if request.include_missing or not version.missing:
        return request
    return replace(request, filter=request.filter.also(_PRESENT), include_missing=True)


_PRESENT = Not(FieldTest(Field("missing"), "exists"))


def answer(version: Version, indexed: IndexedSpace, loaded: LoadedSpaces, request: SearchRequest) -> list[HitList]:
    """Return the hit lists, query by query and target by target.

    Raises InvalidInputError, NotFoundError, NotReadyError, ImageError for an unreadable picture, and StaleError if the
    search must start again with the next version.
    """
    request = without_missing(version, request)
    check_axes(indexed.space.axes, indexed.space.name, request)
    if is_arranged(request, indexed.space.axes):
        return ranking_of(version, indexed, loaded, request).read(version)
    if not isinstance(request.strategy, Combined) and any(not query.view for query in request.queries):
        strategy = cast(Nearest, request.strategy)  # see ``check_without_view``
        only = passing(version, indexed, request.filter)
        fusion = Fusion(version, indexed, loaded, strategy, request.k, only)
        return by_every_view(fusion, request, partial(answer, version, indexed, loaded))
    only = passing(version, indexed, request.filter)
    found = scan_of(request.strategy)(request.strategy, request, version, indexed, loaded, only).lists()
    words = words_of_queries(version, loaded, request.queries)
    return [replace(one, words=words[one.query]) if one.query in words else one for one in found]


def ranking_of(version: Version, indexed: IndexedSpace, loaded: LoadedSpaces, request: SearchRequest) -> Ranking:
    """Return the lists of ``answer`` without the content of the items."""
    targets = [one for one in searched_targets(request)(version, indexed.space) if not one.hidden]
    request = without_missing(version, request)
    return ranked(version, indexed, targets, request, lambda some, plain: answer(some, indexed, loaded, plain))


def passing(version: Version, indexed: IndexedSpace, chosen: Filter) -> Selector:
    """Return a function that selects the items of a target that pass a filter."""
    stored, scored = chosen.stored, chosen.scored
    selection = partial(version.selection, stored, indexed) if stored != EVERY else None
    if scored == EVERY:
        return selection

    def chosen_of(target: Target) -> Selection:
        index, some = indexed.indexes[target].index, None if selection is None else selection(target)
        return indexed.space.axes_of(target).passing(scored, index, some, version.ids)

    return chosen_of


def answer_at_hand(
    versions: Versions, loaded: LoadedSpaces, request: SearchRequest, most_bytes: int, most_hits: int
) -> list[HitList] | None:
    """Return the hit lists if everything needed is in memory; see ``Collection.memory.search``."""
    if request.filter.stored != EVERY or any(query.vector is None for query in request.queries):
        return None
    if request.combine or request.merge or request.fuse:  # it may learn, and scores all items
        return None
    check_request(request)
    found = versions.at_hand(request.space)
    if found is None:
        return None
    version, space = found
    try:
        if version.missing and not request.include_missing:
            return None
        if is_arranged(request, space.space.axes):
            return None
        targets = searched_targets(request)(version, space.space)
        if any(target not in space.indexes for target in targets):
            return None
        hits = request.k * sum(not target.hidden for target in targets)
        if len(request.queries) * sum(space.read_bytes(request, target) for target in targets) > most_bytes:
            return None
        if len(request.queries) * hits > most_hits:
            return None
        return answer(version, space, loaded, request)
    except StaleError:
        return None


def embed(
    version: Version, space: Space, loaded: LoadedSpaces, queries: Sequence[Query], targets: Sequence[str]
) -> list[Embedding]:
    """Return the embeddings of queries, query by query and target by target; raises the errors of ``answer``."""
    space.check_revisions(version.views)
    found: dict[int, list[Embedding]] = defaultdict(list)
    for asked in query_probes(version, space, loaded, queries, targets):
        for target, vectors in asked.probes.items():
            take_room(vectors.nbytes)
            bits = target.dim if target.codes else 0
            for number, vector in zip(
                asked.numbers, vectors, strict=True
            ):  # a code is followed by floats for re-ranking
                found[number].append(Embedding(number, str(target), vector[: target.code_bytes], bits))
    return [one for number in range(len(queries)) for one in found[number]]


class Page(NamedTuple):
    """A page of items in the order of keys."""

    after: str
    limit: int
    among: Ids | None
    """The items that the pages have; None: all."""


def embed_items(tx: Transaction, space: Space, view: str, target: str, page: Page) -> ItemEmbeddings:
    """Return one page; see ``Collection.items.embed``."""
    check_count("limit", page.limit)
    space.check_revisions(tx.views.all())
    chosen, record = target_of(space, view, target), joined_view(tx, view)
    if not page.after and not len(record.ids(tx)):
        raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index items first")
    size = max(1, min(page.limit, ITEMS_AT_ONCE, _PAGE_BYTES // (4 * max(record.dim, chosen.dim))))
    keys = tx.items.keys_after(page.after, size, page.among)
    found = record.rows(tx, keys)
    places = {item: place for place, item in enumerate(found.ids.tolist())}
    having = [item for item in keys if item in places]
    vectors = space.probe(view, found.rows[[places[item] for item in having]], [str(chosen)], items=True)[chosen]
    labels = tx.items.labels(having)
    return ItemEmbeddings(
        space=space.name,
        generation=space.generation,
        keys=tuple(keys[item] for item in having),
        vectors=vectors[:, : chosen.code_bytes],  # a code is followed by floats for re-ranking
        bits=chosen.dim if chosen.codes else 0,
        labels=tuple(labels.get(item, ()) for item in having),
        after=next(reversed(keys.values())) if len(keys) == size else "",
    )


def target_of(space: Space, view: str, name: str) -> Target:
    """Return the target of a name [default: the view itself]."""
    if name:
        return space.targets_for(view, [name])[0]
    found = {str(target): target for target in space.targets_for(view) if target.view == view}
    if view not in found:
        raise InvalidInputError(
            f"space {space.name!r} has several metrics of view {view!r}: choose one of the targets {', '.join(found)}"
        )
    return found[view]
