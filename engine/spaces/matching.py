"""The steps of a search: from queries to vectors, to neighbours, to hits."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.extractors import item_inputs_of
from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.query_rows import query_rows
from crossview.engine.spaces.space import Vectors
from crossview.engine.spaces.target import Neighbor, Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.query import Hit, Query
from crossview.features.stages import stage
from crossview.index.base import Neighbors, Selection

Probes = Mapping[Target, Vectors]
OwnItems = Sequence[int | None]
"""The item behind each query; the query must not find it."""
Selector = Callable[[Target], Selection] | None
"""A function that selects the items of a target that a search may find; None: every item."""
Search = Callable[[Target, Vectors, int, Selection | None], Neighbors]
"""A search of the index of a target for the k nearest of some vectors."""
Hits = tuple[Hit, ...]


class Asked(NamedTuple):
    """A group of queries of one view with one kind of input."""

    view: str
    numbers: list[int]
    """The positions of the queries in the request, (n,)."""
    rows: NDArray[np.float32] | None
    """Their raw rows, (n, d); None for queries by a class, which have none."""
    probes: Probes
    own: OwnItems


def familiarity(state: SearchState, asked: Asked, queries: Sequence[Query]) -> list[float] | None:
    """Return the share of its match that each query of a group keeps, by its raw row; ``queries`` are all queries.

    None if their match is not calibrated: that of queries by a class, and of texts in a view with the rows of pictures,
    whose calibration had pictures as queries.
    """
    novelty = state.space.novelty_of.get(asked.view)
    if novelty is None or asked.rows is None:
        return None
    parts = state.version.joined_view(asked.view).parts
    if queries[asked.numbers[0]].text is not None and any("image" in item_inputs_of(part) for part in parts):
        return None
    found: list[float] = novelty.familiarity(asked.rows).tolist()
    return found


_NO_SCORES: Mapping[int, Mapping[str, float]] = {}


def by_view(queries: Sequence[Query]) -> dict[str, list[int]]:
    """Return the positions of queries by their view."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, query in enumerate(queries):
        groups[query.view].append(number)
    return groups


def query_probes(
    state: SearchState, queries: Sequence[Query], names: Sequence[str], as_items: bool = False
) -> Iterator[Asked]:
    """Yield each group of queries with one kind of input, with their vectors by target: those that the queries would
    have ``as_items``, or those that search the items, which can differ."""
    for view, numbers in by_view(queries).items():
        by_class = [number for number in numbers if queries[number].label is not None]
        others = [number for number in numbers if queries[number].label is None] if by_class else numbers
        if by_class:
            labels = [queries[number].label or "" for number in by_class]
            yield Asked(view, by_class, None, state.space.probe_classes(view, labels, names), [None] * len(labels))
        if others:
            found = query_rows(state.version, view, queries, others)
            with stage("map queries", view=view):
                probes = state.space.probe(view, found.rows, names, items=as_items)
            yield Asked(view, others, found.rows, probes, found.own)


def neighbours(
    indexed: IndexedSpace,
    probes: Probes,
    own: OwnItems,
    k: int,
    only: Selector,
    search: Search | None = None,
) -> dict[Target, list[list[Neighbor]]]:
    """Return the k nearest items of every query by target, among those that ``only`` selects, without the own item.

    ``search`` searches an index [default: exactly].
    """
    lists = {}
    for target, vectors in probes.items():
        searcher = indexed.searcher(target)
        most = min(k + any(one is not None for one in own), max(1, len(searcher)))
        chosen = None if only is None else only(target)
        with stage("search an index", target=target):
            found = search(target, vectors, most, chosen) if search else searcher.search(vectors, most, chosen)
        lists[target] = [
            [Neighbor(*pair) for pair in zip(ids, distances, strict=True) if pair[0] not in (-1, query)][:k]
            for ids, distances, query in zip(found.ids.tolist(), found.distances.tolist(), own, strict=True)
        ]
    return lists


def hits_of(
    version: Version,
    target: str,
    lists: Sequence[Sequence[Neighbor]],
    scores: Mapping[int, Mapping[str, float]] = _NO_SCORES,
) -> list[Hits]:
    """Return the hits of every query, with the scores of their items."""
    with stage("read hits"):
        items = version.shown({item for found in lists for item, _ in found})
    take_room(sum([items[item].size for found in lists for item, _ in found]))
    if not scores:
        return [tuple([items[item].hit(distance, target) for item, distance in found]) for found in lists]
    return [tuple([items[item].hit(distance, target, scores[item]) for item, distance in found]) for found in lists]
