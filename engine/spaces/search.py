"""One search: inputs to rows, rows to probes, probes to neighbours, neighbours to hits; and the embeddings alone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.catalog.catalog import Transaction
from engine.catalog.joined import joined_view
from engine.catalog.lookup import item_id
from engine.errors import InvalidInputError, NotReadyError
from engine.item import Item
from engine.query import TEXT_SHOWN, Embedding, Hit, HitList, Query, SearchRequest
from engine.spaces.fusion import fuse
from engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings
from engine.spaces.live import LiveSpace
from engine.spaces.query_rows import Extractors, query_rows
from engine.spaces.space import Space, Vectors
from engine.spaces.target import Target, on_common_scale

_OVERFETCH = 3
"""Hits searched for in every target for each one wanted, before lists are merged."""

_PAGE_BYTES = 1 << 23
"""Memory that the rows or the vectors of a page take at most, where one item does not take more."""


class StaleError(Exception):
    """An index holds a change that this transaction does not see yet, or is gone."""


class Neighbor(NamedTuple):
    """An item near a query."""

    item: int
    distance: float


def check_queries(queries: Sequence[Query], k: int = 1) -> None:
    """Raise InvalidInputError for what no collection could answer."""
    if k < 1:
        raise InvalidInputError(f"k must be at least 1, not {k}")
    if not queries:
        raise InvalidInputError("a search needs at least one query")
    for number, query in enumerate(queries):
        if len(query.inputs()) != 1:
            raise InvalidInputError(f"query {number}: give exactly one of an image, a text, a vector and an item key")


def answer(tx: Transaction, live: LiveSpace, extractors: Extractors, request: SearchRequest) -> list[HitList] | None:
    """Return the hit lists, query by query and target by target; None if the search has to begin again,
    because an index is ahead of the transaction or gone.

    Raises InvalidInputError, NotFoundError, NotReadyError, or ImageError for a picture that cannot be read.
    """
    queries, k = request.queries, request.k
    only = tx.items.matching(request.filter) if request.filter else None
    lists: dict[int, list[HitList]] = {}
    for view, numbers in by_view(queries).items():
        rows = query_rows(tx, extractors, view, queries, numbers)
        keys = [queries[number].key for number in numbers]
        own = [None if key is None else item_id(tx, key) for key in keys]
        probes = live.space.probe(view, rows, request.targets)
        comparable = on_common_scale(probes.keys())
        merged = comparable if request.merge is None else request.merge
        wanted = k * _OVERFETCH if merged and not comparable else k
        try:
            found = {
                target: _hits(tx, str(target), lists)
                for target, lists in neighbours(tx, live, probes, own, wanted, only).items()
            }
        except StaleError:
            return None
        join = _nearest if comparable else fuse
        for row, number in enumerate(numbers):
            apart = [HitList(number, str(target), hits[row]) for target, hits in found.items()]
            lists[number] = [HitList(number, "", join(apart, k))] if merged else apart
    return [one for number in range(len(queries)) for one in lists[number]]


def neighbours(
    tx: Transaction,
    live: LiveSpace,
    probes: Mapping[Target, Vectors],
    own: Sequence[int | None],
    k: int,
    only: NDArray[np.int64] | None,
) -> dict[Target, list[list[Neighbor]]]:
    """Return, by target, the k nearest items of every query among the ids in ``only``, without the query's own item.

    Raises StaleError where an index is gone.
    """
    live.follow(tx, probes)
    lists = {}
    for target, vectors in probes.items():
        found = live.search(target, vectors, k + any(one is not None for one in own), only)
        if found is None:
            raise StaleError
        lists[target] = [
            [Neighbor(*pair) for pair in zip(ids, distances, strict=True) if pair[0] not in (-1, query)][:k]
            for ids, distances, query in zip(found.ids.tolist(), found.distances.tolist(), own, strict=True)
        ]
    return lists


def embed(
    tx: Transaction, space: Space, extractors: Extractors, queries: Sequence[Query], targets: Sequence[str]
) -> list[Embedding]:
    """Return what a space makes of queries, query by query and target by target; errors as in ``answer``."""
    space.check_revisions(tx.views.all())
    found: dict[int, list[Embedding]] = defaultdict(list)
    for view, numbers in by_view(queries).items():
        rows = query_rows(tx, extractors, view, queries, numbers)
        for target, vectors in space.probe(view, rows, targets).items():
            bits = target.dim if target.codes else 0
            for number, vector in zip(numbers, vectors, strict=True):  # floats to re-rank by stand behind a code
                found[number].append(Embedding(number, str(target), vector[: target.code_bytes], bits))
    return [one for number in range(len(queries)) for one in found[number]]


def embed_items(tx: Transaction, space: Space, view: str, target: str, after: str, limit: int) -> ItemEmbeddings:
    """Return one page; see ``Collection.embed_items``."""
    if limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")
    space.check_revisions(tx.views.all())
    chosen, record = _target_of(space, view, target), joined_view(tx, view)
    if not after and not len(record.ids(tx)):
        raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index some first")
    size = max(1, min(limit, ITEMS_AT_ONCE, _PAGE_BYTES // (4 * max(record.dim, chosen.dim))))
    keys = tx.items.keys_after(after, size)
    found = record.rows(tx, keys)
    places = {item: place for place, item in enumerate(found.ids.tolist())}
    having = [item for item in keys if item in places]
    vectors = space.probe(view, found.rows[[places[item] for item in having]], [str(chosen)], items=True)[chosen]
    return ItemEmbeddings(
        space=space.name,
        generation=space.generation,
        keys=tuple(keys[item] for item in having),
        vectors=vectors[:, : chosen.code_bytes],  # floats to re-rank by stand behind a code
        bits=chosen.dim if chosen.codes else 0,
        after=next(reversed(keys.values())) if len(keys) == size else "",
    )


def _target_of(space: Space, view: str, name: str) -> Target:
    """Return the target of a name, by default the view itself."""
    if name:
        return space.targets_for(view, [name])[0]
    found = {str(target): target for target in space.targets_for(view) if target.view == view}
    if view not in found:
        raise InvalidInputError(
            f"space {space.name!r} has several metrics of view {view!r}: choose the target, of {', '.join(found)}"
        )
    return found[view]


def by_view(queries: Sequence[Query]) -> dict[str, list[int]]:
    """Return the positions of queries by their view."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, query in enumerate(queries):
        groups[query.view].append(number)
    return groups


def _hits(tx: Transaction, target: str, lists: Sequence[Sequence[Neighbor]]) -> list[tuple[Hit, ...]]:
    """Return the hits of every query; StaleError where one is not in the catalog."""
    items = tx.items.by_id(sorted({one.item for found in lists for one in found}))
    try:
        return [tuple(_hit(items[one.item], one.distance, target) for one in found) for found in lists]
    except KeyError:
        raise StaleError from None


def _hit(item: Item, distance: float, target: str) -> Hit:
    shared = {name: getattr(item, name) for name in ("key", "labels", "attributes", "source")}
    return Hit(**shared, text=item.text[:TEXT_SHOWN], distance=distance, target=target)


def _nearest(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Merge by distance; a key appears once, where it is nearest."""
    best: dict[str, Hit] = {}
    for hit in sorted((hit for one in lists for hit in one.hits), key=lambda hit: hit.distance):
        best.setdefault(hit.key, hit)
    return tuple(best.values())[:k]
