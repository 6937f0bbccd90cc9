"""One search: inputs to rows, rows to probes, probes to neighbours, neighbours to hits."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.catalog import Transaction, ViewRecord
from engine.errors import InvalidInputError, NotFoundError
from engine.item import Item
from engine.live import LiveSpace
from engine.query import Filter, Hit, HitList, Query
from engine.views import check_fitted, find_view
from features import Extractor, decode

_RANK_CONSTANT = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""
_OVERFETCH = 3
"""Hits asked of every target for each one wanted, before lists are merged."""

Extractors = Callable[[Transaction, ViewRecord], Extractor]


class _StaleError(Exception):
    """The index knows of a change that this transaction does not see yet."""


def check_queries(queries: Sequence[Query], k: int) -> None:
    """Raise InvalidInputError for what no collection could answer."""
    if k < 1:
        raise InvalidInputError(f"k must be at least 1, not {k}")
    if not queries:
        raise InvalidInputError("a search needs at least one query")
    for number, query in enumerate(queries):
        if sum(value is not None for value in (query.image, query.vector, query.key)) != 1:
            raise InvalidInputError(f"query {number}: give exactly one of an image, a vector and an item key")


def answer(
    tx: Transaction,
    live: LiveSpace,
    extractors: Extractors,
    queries: Sequence[Query],
    targets: Sequence[str],
    k: int,
    chosen: Filter,
    merge: bool,
) -> list[HitList] | None:
    """Return the hit lists, query by query and target by target; None if the index is ahead of the transaction.

    Raises InvalidInputError, NotFoundError, NotReadyError, or ImageError for a picture that cannot be read.
    """
    only = tx.items.matching(chosen) if chosen else None
    wanted = k * _OVERFETCH if merge else k
    lists: dict[int, list[HitList]] = defaultdict(list)
    for view, numbers in _by_view(queries).items():
        rows = _rows(tx, extractors, view, [queries[number] for number in numbers])
        own = [_own_id(tx, queries[number]) for number in numbers]
        probes = live.space.probe(view, rows, targets)
        live.follow(tx, probes)
        for target, vectors in probes.items():
            found = live.search(target, vectors, wanted + any(one is not None for one in own), only)
            try:
                hit_lists = _hits(tx, target, found.ids, found.distances, own, wanted)
            except _StaleError:
                return None
            for number, hits in zip(numbers, hit_lists, strict=True):
                lists[number].append(HitList(number, target, hits))
    if merge:
        return [HitList(number, "", _fuse(lists[number], k)) for number in range(len(queries))]
    return [one for number in range(len(queries)) for one in lists[number]]


def _by_view(queries: Sequence[Query]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for number, query in enumerate(queries):
        groups[query.view].append(number)
    return groups


def _rows(tx: Transaction, extractors: Extractors, view_name: str, queries: Sequence[Query]) -> NDArray[np.float32]:
    view = find_view(tx, view_name)
    check_fitted(tx, view)
    return np.stack([_row(tx, extractors, view, query) for query in queries])


def _row(tx: Transaction, extractors: Extractors, view: ViewRecord, query: Query) -> NDArray[np.float32]:
    if query.image is not None:
        return extractors(tx, view).extract(decode(query.image).image)
    if query.vector is not None:
        return check_row(query.vector, view)
    key = str(query.key)
    found = tx.rows.get(view, tx.items.ids_of([key]).values())
    if not len(found.ids):
        _own_id(tx, query)  # an unknown key is the likelier mistake
        raise InvalidInputError(f"item {key!r} has no row of view {view.name!r}")
    row: NDArray[np.float32] = found.rows[0]
    return row


def check_row(values: "NDArray[np.float32] | Sequence[float]", view: ViewRecord) -> NDArray[np.float32]:
    """Return a feature row as (d,) float32; InvalidInputError unless it is finite and of the view's dimension."""
    try:
        row = np.asarray(values, np.float32)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"a row of view {view.name!r} must be numbers: {error}") from error
    if row.shape != (view.dim,):
        raise InvalidInputError(f"a row of view {view.name!r} has {view.dim} values, not {row.size}")
    if not np.isfinite(row).all():
        raise InvalidInputError(f"a row of view {view.name!r} holds NaN or infinity")
    return row


def _own_id(tx: Transaction, query: Query) -> int | None:
    if query.key is None:
        return None
    found = tx.items.ids_of([query.key])
    if not found:
        raise NotFoundError(f"no item {query.key!r} in collection {tx.name()!r}")
    return found[query.key]


def _hits(
    tx: Transaction,
    target: str,
    ids: NDArray[np.int64],
    distances: NDArray[np.float32],
    own: Sequence[int | None],
    k: int,
) -> Iterable[tuple[Hit, ...]]:
    items = tx.items.by_id(np.unique(ids[ids >= 0]).tolist())
    lists = []
    for row, row_distances, mine in zip(ids.tolist(), distances.tolist(), own, strict=True):
        pairs = [(item, distance) for item, distance in zip(row, row_distances, strict=True) if item not in (-1, mine)]
        if any(item not in items for item, _ in pairs):
            raise _StaleError
        lists.append(tuple(_hit(items[item], distance, target) for item, distance in pairs[:k]))
    return lists


def _hit(item: Item, distance: float, target: str) -> Hit:
    return Hit(item.key, distance, target, item.labels, item.attributes)


def _fuse(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Merge by reciprocal rank, since distances of different targets have no common scale; a key appears once.

    A hit keeps the distance and target of the list where it ranked best.
    """
    scores: dict[str, float] = defaultdict(float)
    best: dict[str, tuple[int, Hit]] = {}
    for one in lists:
        for rank, hit in enumerate(one.hits, 1):
            scores[hit.key] += 1 / (_RANK_CONSTANT + rank)
            if hit.key not in best or rank < best[hit.key][0]:
                best[hit.key] = (rank, hit)
    return tuple(best[key][1] for key in sorted(scores, key=lambda key: (-scores[key], key))[:k])
