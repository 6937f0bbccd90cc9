"""Near copies: items whose raw row nearly equals that of a query come first in its lists, the equal ones at distance 0.

A space that ranks classes can place a picture far from its own copy. Near copies belong to items, not to targets, so a
search finds them once for each query, among the raw rows of the items.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from crossview.engine.spaces.indexed import IndexedSpace, Selector
from crossview.engine.spaces.queries import Asked, query_rows
from crossview.engine.spaces.sketches import Rows
from crossview.engine.spaces.space import Vectors
from crossview.engine.spaces.target import Near, Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.query import Query
from crossview.features.stages import stage
from crossview.index.base import EXACT

Copies = Mapping[int, float]
"""The near copies of a query: the distance of their rows by item id, from 0 for equal rows to 1, ascending."""
_SPARE = 16
"""Codes to look at beyond the wanted number of items."""


def near_copies(state: SearchState, queries: Sequence[Query], group: Asked, k: int) -> list[Copies]:
    """Return the near copies of every query, about k at most, without its own item.

    They are near in the view of the queries. If the space has a robust view, in which a query by picture or by key has
    a row, they are near in that view, or equal in the query's own.

    Raises the errors of ``query_rows``, and StaleError as ``Version.read``.
    """
    if group.rows is None:
        return [{}] * len(group.own)
    copies = copies_in_view(state, group.view, group.rows, group.own, k)
    robust = state.space.robust_view
    if robust and robust != group.view:
        places, rows = _robust_rows(state.version, robust, queries, group)
        own = [group.own[place] for place in places]
        for place, near in zip(places, copies_in_view(state, robust, rows, own, k), strict=True):
            equal = {item: distance for item, distance in copies[place].items() if not distance}
            copies[place] = {**equal, **{item: distance for item, distance in near.items() if item not in equal}}
    return copies


def _robust_rows(version: Version, view: str, queries: Sequence[Query], group: Asked) -> tuple[list[int], Rows]:
    """Return the places of the queries that have a row of a view other than their own, and these rows, (n, d)."""
    places = [place for place, number in enumerate(group.numbers) if queries[number].image is not None]
    rows = [np.empty((0, version.joined_view(view).dim), np.float32)]
    if places:
        rows.append(query_rows(version, view, queries, [group.numbers[place] for place in places]).rows)
    by_key = [(item, place) for place, item in enumerate(group.own) if item is not None]
    if by_key:
        stored = version.rows(view, {item for item, _ in by_key})
        row_of = dict(zip(stored.ids.tolist(), stored.rows, strict=True))
        places += [place for item, place in by_key if item in row_of]
        rows += [row_of[item][None] for item, _ in by_key if item in row_of]
    return places, np.concatenate(rows)


def copies_in_view(state: SearchState, view: str, rows: Rows, own: Sequence[int | None], k: int) -> list[Copies]:
    """Return the near copies of queries with raw rows of a view, (n, d): codes find candidates, and rows decide."""
    sketch = state.space.sketch_of.get(view)
    if sketch is None or not len(rows):
        return [{}] * len(rows)
    points, searcher = sketch.points(rows), state.indexed.searcher(sketch.target)
    with stage("search near copies", view=view):
        most = min(k + _SPARE, max(1, len(searcher)))
        # Near copies have nearly equal codes, which approximate searches do not miss.
        hits = searcher.search(sketch.codes(points), most, effort=max(searcher.efforts(most), default=EXACT))
    close = hits.distances <= sketch.radii(points)[:, None]
    if not close.any():
        return [{}] * len(rows)
    stored = state.version.rows(view, np.unique(hits.ids[close]).tolist())
    candidates, copies = sketch.points(stored.rows), list[Copies]()
    for point, ids, inside, item in zip(points, hits.ids, close, own, strict=True):
        places = np.arange(len(stored.ids)) if len(points) == 1 else np.flatnonzero(np.isin(stored.ids, ids[inside]))
        distances = np.sqrt(((candidates[places].astype(np.float64) - point) ** 2).sum(axis=1))
        near = [
            (distance / sketch.reach if distance else 0.0, copy)
            for copy, distance in zip(stored.ids[places].tolist(), distances.tolist(), strict=True)
            if distance <= sketch.reach and copy != item
        ]
        copies.append({copy: distance for distance, copy in sorted(near)})
    return copies


def copies_first(
    indexed: IndexedSpace,
    group: Asked,
    lists: Mapping[Target, list[Near]],
    copies: Sequence[Copies],
    k: int,
    only: Selector,
) -> dict[Target, list[Near]]:
    """Return lists of k items in which near copies come first, if the target has them and ``only`` selects them.

    The distance of a near copy is that of the list's first item, times the distance of the rows, from 0 to 1.
    """
    if not any(copies):
        return dict(lists)
    return {
        target: [
            _first(near, {item: of_query[item] for item in of_query if item in present}, k)
            for near, of_query in zip(of_queries, copies, strict=True)
        ]
        for target, of_queries in lists.items()
        for present in [_present(indexed, target, group.probes[target][:1], copies, only)]
    }


def _present(
    indexed: IndexedSpace, target: Target, vector: Vectors, copies: Sequence[Copies], only: Selector
) -> set[int]:
    """Return the near copies in a target that ``only`` selects; ``vector`` is any one vector, (1, width)."""
    ids = np.unique([item for near in copies for item in near]).astype(np.int64)
    return indexed.present(target, vector, ids, None if only is None else only(target)) if len(ids) else set()


def _first(near: Near, copies: Copies, k: int) -> Near:
    if not copies:
        return near
    first, closeness = np.array(list(copies), np.int64), np.array(list(copies.values()))
    mask = ~np.isin(near.ids, first)
    ids = np.concatenate([first, near.ids[mask]])
    distances = np.concatenate([closeness * (near.distances[0] if len(near.ids) else 0.0), near.distances[mask]])
    return Near(ids[:k], distances[:k], min(len(first), k))
