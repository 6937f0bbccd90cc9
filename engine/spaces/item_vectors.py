"""Vectors of queries and items in a space, and the nearest other items of each item, by pages in the order of keys."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.queries import query_probes
from crossview.engine.spaces.search import passing
from crossview.engine.spaces.space import Space
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.numbers import check_count
from crossview.engine.values.query import ITEMS_AT_ONCE, Embedding, ItemEmbeddings, ItemNeighbors, Query
from crossview.index.base import Ids

_PAGE_BYTES = 1 << 23
"""Maximum number of bytes of the rows or vectors of a page, unless one item needs more."""
_ROW_BYTES = 1 << 24
"""Maximum bytes of the raw rows of a page of neighbours."""
_NEIGHBORS = 50_000
"""Maximum number of neighbours in a page, so that the page fits into a message."""


def embed(state: SearchState, queries: Sequence[Query], targets: Sequence[str]) -> list[Embedding]:
    """Return the embeddings of queries, query by query and target by target; raises the errors of ``answer``."""
    state.space.check_revisions(state.version.views)
    by_number: dict[int, list[Embedding]] = defaultdict(list)
    for group in query_probes(state, queries, targets):
        for target, vectors in group.probes.items():
            take_room(vectors.nbytes)
            bits = target.dim if target.codes else 0
            for number, vector in zip(
                group.numbers, vectors, strict=True
            ):  # a code is followed by floats for re-ranking
                by_number[number].append(Embedding(number, str(target), vector[: target.code_bytes], bits))
    return [embedding for number in range(len(queries)) for embedding in by_number[number]]


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
    chosen_target, record = target_of(space, view, target), joined_view(tx, view)
    if not page.after and not len(record.ids(tx)):
        raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index items first")
    size = max(1, min(page.limit, ITEMS_AT_ONCE, _PAGE_BYTES // (4 * max(record.dim, chosen_target.dim))))
    keys = tx.items.keys_after(page.after, size, page.among)
    stored = record.rows(tx, keys)
    places = {item: place for place, item in enumerate(stored.ids.tolist())}
    having = [item for item in keys if item in places]
    rows = stored.rows[[places[item] for item in having]]
    vectors = space.probe(view, rows, [str(chosen_target)], items=True)[chosen_target]
    labels = tx.items.labels(having)
    return ItemEmbeddings(
        space=space.name,
        generation=space.generation,
        keys=tuple(keys[item] for item in having),
        vectors=vectors[:, : chosen_target.code_bytes],  # a code is followed by floats for re-ranking
        bits=chosen_target.dim if chosen_target.codes else 0,
        labels=tuple(labels.get(item, ()) for item in having),
        after=next(reversed(keys.values())) if len(keys) == size else "",
    )


def target_of(space: Space, view: str, name: str) -> Target:
    """Return the target of a name [default: the view itself]."""
    if name:
        return space.targets_for(view, [name])[0]
    by_name = {str(target): target for target in space.targets_for(view) if target.view == view}
    if view not in by_name:
        raise InvalidInputError(
            f"space {space.name!r} has several metrics of view {view!r}: choose one of the targets {', '.join(by_name)}"
        )
    return by_name[view]


def neighbors_of(state: SearchState, view: str, target: Target, k: int, page: Page, where: Filter) -> ItemNeighbors:
    """Return one page; see ``Collection.items.neighbors``. Raises StaleError as ``Version.read``."""
    (version, indexed), space = state, state.space
    record = version.joined_view(view)
    space.check_revisions(version.views)
    size = max(1, min(page.limit, ITEMS_AT_ONCE, _ROW_BYTES // (4 * record.dim), _NEIGHBORS // k))
    with version.read() as tx:
        if not page.after and not len(record.ids(tx)):
            raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index items first")
        keys = tx.items.keys_after(page.after, size, page.among)
        stored = record.rows(tx, keys)
    own = stored.ids.tolist()
    probes = space.probe(view, stored.rows, [str(target)])
    (lists,) = indexed.neighbours(probes, own, k, passing(state, where)).values()
    of_item = dict(zip(own, lists, strict=True))
    having = [item for item in keys if item in of_item]
    with version.read() as tx:
        items = sorted({item for near in lists for item in near.ids.tolist()})
        key_of: dict[int, str] = dict(map(tuple, tx.items.each("key", items)))
    return ItemNeighbors(
        space=space.name,
        generation=space.generation,
        target=str(target),
        keys=tuple(keys[item] for item in having),
        neighbors=tuple(tuple(key_of[near] for near in of_item[item].ids.tolist()) for item in having),
        distances=tuple(tuple(of_item[item].distances.tolist()) for item in having),
        exact=indexed.searcher(target).capabilities.exact,
        after=next(reversed(keys.values())) if len(keys) == size else "",
    )
