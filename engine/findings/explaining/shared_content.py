"""Agreement: what the raw rows of a query and of items have in common, in parts that a person understands."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.description import RAW
from crossview.engine.catalog.views import ViewRecord
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.indexed import IndexedSpace, Selector
from crossview.engine.spaces.near_copies import Copies, near_copies
from crossview.engine.spaces.queries import query_probes
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.explanation import AgreeingPart, Agreement, Place
from crossview.engine.values.query import Query
from crossview.features.base import Extractor, ImageExtractor, Part, TextExtractor
from crossview.features.errors import ImageError
from crossview.features.pictures import PictureTask
from crossview.features.reading import points as read_points
from crossview.index.base import Ids, Neighbors, Searcher, Selection

MOST_PLACES = 20
"""Maximum number of key points of one part in one picture."""
_BYTES = 120
"""Approximate bytes of a part or a key point in an answer."""
Floats = NDArray[np.float64]
_ROUNDING = 1e-5
"""Relative error of distances, which searches among other items can round otherwise."""


class Compared(NamedTuple):
    """The raw rows of a query and of items in one view, and how far they are apart."""

    view: str
    query: NDArray[np.float32]
    """(d,)."""
    items: Mapping[int, NDArray[np.float32]]
    """The row of each item by id, (d,)."""
    squares: Mapping[int, Floats]
    """The squared difference of each column for each item, (d,); empty unless columns are those of the space."""


class Agreements:
    """Agreements of one query with items, by view."""

    def __init__(self, version: Version, query: Query, own: int | None, most: int) -> None:
        """``own`` is the id of the item of a query by key, ``most`` the maximum number of parts of a view."""
        self._version, self._query, self._own, self._most = version, query, own, most

    def of(self, compared: Compared) -> dict[int, list[Agreement]]:
        """Return the agreements of each item in a view, one for each of the view's parts that has parts of its own."""
        by_item: dict[int, list[Agreement]] = defaultdict(list)
        end = 0
        for record in self._version.joined_view(compared.view).parts:
            start, end = end, end + record.dim
            agreements = self._of_view(
                record,
                compared.query[start:end],
                {item: row[start:end] for item, row in compared.items.items()},
                {item: squares[start:end] for item, squares in compared.squares.items()},
            )
            for item, agreement in agreements.items():
                by_item[item].append(agreement)
        return by_item

    def _of_view(
        self,
        record: ViewRecord,
        query: NDArray[np.float32],
        items: Mapping[int, NDArray[np.float32]],
        squares: Mapping[int, Floats],
    ) -> dict[int, Agreement]:
        extractor = self._version.loaded.extractor(record)
        if isinstance(extractor, TextExtractor):
            return self._of_words(record.name, extractor, items)
        parts = extractor.parts()
        if not parts:
            return {}
        groups = np.zeros(record.dim, np.intp)
        for number, part in enumerate(parts):
            groups[list(part.columns)] = number
        places = self._places(record.name, extractor, items)
        agreements = {}
        for item, row in items.items():
            checkpoint()
            first, second = _shares(query), _shares(row)
            common = np.minimum(first, second)
            columns = [_summed(groups, values, len(parts)) for values in (first, second, common)]
            apart = _summed(groups, squares[item], len(parts)) if item in squares else None
            of_both = places.get(None, {}), places.get(item, {})
            agreements[item] = self._agreement(record.name, parts, columns, apart, of_both)
        return agreements

    def _agreement(
        self,
        view: str,
        parts: Sequence[Part],
        columns: Sequence[Floats],
        apart: Floats | None,
        places: Sequence[Mapping[int, tuple[Place, ...]]],
    ) -> Agreement:
        """Return the agreement of one item; ``columns`` are the shares of the query, of the item, and of both."""
        order = np.argsort(-columns[2], kind="stable")
        largest = order[: self._most]
        listed = []
        for number in largest.tolist():
            part, (first, second) = parts[number], [of_one.get(number, ()) for of_one in places]
            take_room(_BYTES * (1 + len(first) + len(second)))
            listed.append(
                AgreeingPart(
                    name=part.name,
                    query=float(columns[0][number]),
                    item=float(columns[1][number]),
                    agreement=float(columns[2][number]),
                    squared_distance=None if apart is None else float(apart[number]),
                    color=part.color,
                    box=part.box,
                    query_places=first,
                    item_places=second,
                )
            )
        return Agreement(
            view=view,
            agreement=float(columns[2].sum()),
            parts=tuple(listed),
            other_squared_distance=None if apart is None else float(apart[order[self._most :]].sum()),
        )

    def _of_words(self, view: str, extractor: TextExtractor, items: Mapping[int, Any]) -> dict[int, Agreement]:
        """Return the agreement of the words of texts; none without the text of the query, as for a vector."""
        with self._version.read() as tx:
            texts = tx.items.texts([*items, *(() if self._own is None else (self._own,))])
        text = texts.get(self._own, "") if self._own is not None else extractor.query_text(self._query.text or "")
        first, agreements = extractor.word_weights(text), {}
        for item in items if first else ():
            second = extractor.word_weights(texts.get(item, ""))
            words = [*first, *(word for word in second if word not in first)]
            shares = [np.array([weights.get(word, 0.0) for word in words]) for weights in (first, second)]
            parts = [Part(word, ()) for word in words]
            agreements[item] = self._agreement(view, parts, [*shares, np.minimum(*shares)], None, ({}, {}))
        return agreements

    def _places(
        self, view: str, extractor: Extractor, items: Mapping[int, Any]
    ) -> dict[int | None, dict[int, tuple[Place, ...]]]:
        """Return the key points in the pictures by item, None for the query, and by part; {} for other views."""
        if not isinstance(extractor, ImageExtractor) or type(extractor).points is ImageExtractor.points:
            return {}
        pictures: dict[int | None, bytes | None] = {None: self._query.image}
        with self._version.read() as tx:
            if self._own is not None:
                pictures[None] = tx.items.thumbnail(self._own)
            pictures |= {item: tx.items.thumbnail(item) for item in items}
        readable = {item: picture for item, picture in pictures.items() if picture is not None}
        tasks = [PictureTask(picture, {view: extractor}) for picture in readable.values()]
        points = self._version.loaded.pictures.run(read_points, tasks, checkpoint)
        return {
            item: _by_part(rows[view])
            for item, rows in zip(readable, points, strict=True)
            if not isinstance(rows, ImageError)
        }


def _shares(row: NDArray[np.float32]) -> Floats:
    """Return the shares of a row without negative values, (d,), which sum to 1; zeros for zeros."""
    values = np.maximum(row.astype(np.float64), 0)
    return np.asarray(values / max(values.sum(), np.finfo(np.float64).tiny))


def _summed(groups: NDArray[np.intp], values: Floats, count: int) -> Floats:
    """Return the sums of values, (d,), over the columns of each of ``count`` groups."""
    return np.asarray(np.bincount(groups, values, count), np.float64)


def _by_part(rows: NDArray[np.float32]) -> dict[int, tuple[Place, ...]]:
    """Return the key points of each part, the largest first, from rows of x, y, diameter and part."""
    by_part: dict[int, list[Place]] = defaultdict(list)
    for x, y, size, part in rows[np.argsort(-rows[:, 2], kind="stable")].tolist():
        if len(by_part[int(part)]) < MOST_PLACES:
            by_part[int(part)].append(Place(x=x, y=y, size=size))
    return {part: tuple(places) for part, places in by_part.items()}


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
    (group,) = query_probes(state, [query], names)
    (version, indexed), (own,), items = state, group.own, list(items)
    copies = {} if k is None else near_copies(state, [query], group, k)[0]
    targets, squares = {}, {}
    for target, (probe, *_) in group.probes.items():
        checkpoint()
        targets[str(target)] = located = _in_target(indexed, target, probe, own, items, copies, only)
        if indexed.space.name == RAW and located.locations:
            vectors = indexed.indexes[target].index.get(list(located.locations))
            squares = dict(zip(located.locations, (vectors.astype(np.float64) - probe) ** 2, strict=True))
    if group.rows is None or all(target.view != query.view for target in group.probes):
        return InView(targets, own, None)
    with version.read() as tx:
        stored = version.joined_view(query.view).rows(tx, items)
    rows = dict(zip(stored.ids.tolist(), stored.rows, strict=True))
    return InView(targets, own, Compared(query.view, group.rows[0], rows, squares))


def _in_target(
    indexed: IndexedSpace,
    target: Target,
    probe: NDArray[np.generic],
    own: int | None,
    items: Sequence[int],
    copies: Copies,
    only: Selector,
) -> InTarget:
    """Return the places of the wanted items by an exact search of the target; near copies come before all others."""
    selection = None if only is None else only(target)
    neighbours = _up_to(indexed.searcher(target), probe, np.unique([*items, *copies]).astype(np.int64), selection)
    keep = (neighbours.ids[0] >= 0) & (neighbours.ids[0] != (-1 if own is None else own))
    ids, distances = neighbours.ids[0][keep], neighbours.distances[0][keep]
    near = np.isin(ids, list(copies))
    closeness = np.array([copies[item] for item in ids[near].tolist()])
    place_of = {item: place for place, item in enumerate(ids.tolist())}
    locations = {}
    for item in items:
        if item not in place_of:
            continue
        distance, copy = distances[place_of[item]], item in copies
        nearer = (closeness < copies[item]).sum() if copy else near.sum() + (distances[~near] < distance).sum()
        bits = _differing(indexed, target, probe, item) if target.codes else None
        locations[item] = Location(float(distance), 1 + int(nearer), copy, bits)
    present = indexed.indexes[target].index.ids()
    if selection is not None:
        present = np.intersect1d(present, selection.ids)
    return InTarget(len(present) - (own in present), target.dim if target.codes else 0, locations)


def _up_to(searcher: Searcher, probe: NDArray[np.generic], ids: Ids, selection: Selection | None) -> Neighbors:
    """Return all chosen items up to the farthest of those with these ids, the nearest first."""
    if not searcher.capabilities.exact:
        return searcher.search(probe[None], max(1, len(searcher)), selection)
    among = ids if selection is None else np.intersect1d(ids, selection.ids)
    distances = searcher.search(probe[None], max(1, len(among)), among).distances
    radius = float(distances[np.isfinite(distances)].max(initial=0))
    return searcher.within(probe[None], radius * (1 + _ROUNDING), selection)


def _differing(indexed: IndexedSpace, target: Target, probe: NDArray[np.generic], item: int) -> tuple[int, ...]:
    """Return the positions of the bits in which the code of an item differs from that of the query."""
    (vector,) = indexed.indexes[target].index.get([item])
    differing = np.unpackbits(np.bitwise_xor(vector[: target.code_bytes], probe[: target.code_bytes]))
    return tuple(np.flatnonzero(differing[: target.dim]).tolist())
