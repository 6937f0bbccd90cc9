"""The places of items for a query: their distance and their rank among all items of each target, and their codes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.description import RAW
from crossview.engine.findings.explaining.agreement import Compared
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.indexed import IndexedSpace, Selector
from crossview.engine.spaces.near_copies import Copies, near_copies
from crossview.engine.spaces.queries import query_probes
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.query import Query
from crossview.index.base import Ids, Neighbors, Searcher, Selection

_ROUNDING = 1e-5
"""Relative error of distances, which searches among other items can round otherwise."""


class Location(NamedTuple):
    """An item in one target, for one query."""

    distance: float
    """As the index has it."""
    rank: int
    copy: bool
    differing_bits: tuple[int, ...] | None


class InTarget(NamedTuple):
    """The items of one target, for one query."""

    items: int
    """Number of items that the search may find."""
    bits: int
    locations: Mapping[int, Location]
    """By item id; without the items that the search cannot find there."""


class InView(NamedTuple):
    """The items in all targets of one query view."""

    targets: Mapping[str, InTarget]
    own: int | None
    """The item of a query by key."""
    compared: Compared | None
    """The raw rows, if the query has one and is compared with its own view."""


def in_view(
    state: SearchState,
    query: Query,
    names: Sequence[str],
    items: Iterable[int],
    k: int | None,
    only: Selector,
) -> InView:
    """Return the places of items for a query of a view in the named targets; near copies as in a search for k items.

    Without k, there are no near copies. Raises the errors of ``query_probes``.
    """
    (asked,) = query_probes(state, [query], names)
    (version, indexed), (own,), wanted = state, asked.own, list(items)
    copies = {} if k is None else near_copies(state, [query], asked, k)[0]
    targets, squares = {}, {}
    for target, (probe, *_) in asked.probes.items():
        checkpoint()
        targets[str(target)] = found = _in_target(indexed, target, probe, own, wanted, copies, only)
        if indexed.space.name == RAW and found.locations:
            vectors = indexed.indexes[target].index.get(list(found.locations))
            squares = dict(zip(found.locations, (vectors.astype(np.float64) - probe) ** 2, strict=True))
    if asked.rows is None or all(target.view != query.view for target in asked.probes):
        return InView(targets, own, None)
    with version.read() as tx:
        stored = version.joined_view(query.view).rows(tx, wanted)
    rows = dict(zip(stored.ids.tolist(), stored.rows, strict=True))
    return InView(targets, own, Compared(query.view, asked.rows[0], rows, squares))


def _in_target(
    indexed: IndexedSpace,
    target: Target,
    probe: NDArray[np.generic],
    own: int | None,
    wanted: Sequence[int],
    copies: Copies,
    only: Selector,
) -> InTarget:
    """Return the places of the wanted items by an exact search of the target; near copies come before all others."""
    chosen = None if only is None else only(target)
    found = _up_to(indexed.searcher(target), probe, np.unique([*wanted, *copies]).astype(np.int64), chosen)
    keep = (found.ids[0] >= 0) & (found.ids[0] != (-1 if own is None else own))
    ids, distances = found.ids[0][keep], found.distances[0][keep]
    near = np.isin(ids, list(copies))
    closeness = np.array([copies[item] for item in ids[near].tolist()])
    place_of = {item: place for place, item in enumerate(ids.tolist())}
    locations = {}
    for item in wanted:
        if item not in place_of:
            continue
        distance, copy = distances[place_of[item]], item in copies
        nearer = (closeness < copies[item]).sum() if copy else near.sum() + (distances[~near] < distance).sum()
        bits = _differing(indexed, target, probe, item) if target.codes else None
        locations[item] = Location(float(distance), 1 + int(nearer), copy, bits)
    present = indexed.indexes[target].index.ids()
    if chosen is not None:
        present = np.intersect1d(present, chosen.ids)
    return InTarget(len(present) - (own in present), target.dim if target.codes else 0, locations)


def _up_to(searcher: Searcher, probe: NDArray[np.generic], ids: Ids, chosen: Selection | None) -> Neighbors:
    """Return all chosen items up to the farthest of those with these ids, the nearest first."""
    if not searcher.capabilities.exact:
        return searcher.search(probe[None], max(1, len(searcher)), chosen)
    among = ids if chosen is None else np.intersect1d(ids, chosen.ids)
    distances = searcher.search(probe[None], max(1, len(among)), among).distances
    radius = float(distances[np.isfinite(distances)].max(initial=0))
    return searcher.within(probe[None], radius * (1 + _ROUNDING), chosen)


def _differing(indexed: IndexedSpace, target: Target, probe: NDArray[np.generic], item: int) -> tuple[int, ...]:
    """Return the positions of the bits in which the code of an item differs from that of the query."""
    (vector,) = indexed.indexes[target].index.get([item])
    differing = np.unpackbits(np.bitwise_xor(vector[: target.code_bytes], probe[: target.code_bytes]))
    return tuple(np.flatnonzero(differing[: target.dim]).tolist())
