"""The maps of a collection."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.condition_checks import check_filter
from crossview.engine.catalog.joined import joined_view
from crossview.engine.catalog.maps import MapRecord
from crossview.engine.collections.opened import Opened
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm, field_of, filter_of
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.map import POINTS_A_PAGE, MapInfo, MapPoints, MapRequest, known_map


class Maps:
    """The maps of a collection: call it to list them."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def __call__(self) -> tuple[MapInfo, ...]:
        """Return the maps, the newest first."""
        with self._opened.read() as tx:
            there = cache(lambda view, condition: self._there(tx, view, condition))
            return tuple(_info(tx, record, there(record.view, record.condition)) for record in tx.maps.all())

    def make(self, request: MapRequest, *, progress: Progress | None = None) -> MapInfo:
        """Place the items of a space in a plane, store the map with the collection, and return its description.

        A map replaces the earlier one of the same generation, view, target, method and condition. If there is one, it
        is returned as it is, unless the request renews it. At most 50 maps are kept, the newest.

        Raises InvalidInputError, NotFoundError, NotReadyError (no items, openTSNE is missing), BusyError, StorageError.
        """
        from crossview.engine.findings.maps.making import made, planned, stored

        checked_filter = check_filter(request.filter)
        with self._opened.read() as tx:
            space = self._opened.loaded.get(tx, request.space)
            plan = planned(tx, space, request, lambda: self._matching(tx, checked_filter))
            earlier = [record for record in tx.maps.all() if record.identity == plan.record.identity]
            if earlier and not request.renew and earlier[0].summary.get("seed") == request.seed:
                return _info(tx, earlier[0], plan.ids)
        record, places = made(self._opened.catalog, plan, progress)
        with self._opened.writable.write() as tx:
            number = stored(tx, plan, record, places).id
        return self.get(number)

    def get(self, number: int) -> MapInfo:
        """Return a map by its id; NotFoundError for an unknown one."""
        with self._opened.read() as tx:
            record = _record(tx, number)
            return _info(tx, record, self._there(tx, record.view, record.condition))

    def points(
        self,
        number: int,
        *,
        field: str = "",
        filter: FilterForm = EVERY_ITEM,
        after: int = 0,
        limit: int = POINTS_A_PAGE,
    ) -> MapPoints:
        """Return a page of the points of the items on a map that still exist and pass the filter.

        ``field`` is ``label`` or an attribute, whose values colour the points. ``after`` is that of the page before.

        Raises InvalidInputError, NotFoundError, StorageError.
        """
        if not 1 <= limit <= POINTS_A_PAGE:
            raise InvalidInputError(f"a page has at least 1 and at most {POINTS_A_PAGE:,} points, not {limit:,}")
        colour, checked_filter = field_of(field) if field else None, check_filter(filter)
        if colour is not None and colour.kind not in ("label", "attribute"):
            raise InvalidInputError(f"the points of a map have the colour of label or an attribute, not of {field}")
        with self._opened.read() as tx:
            _record(tx, number)
            ids, points = tx.maps.places(number)
            there = np.flatnonzero(np.isin(ids, self._matching(tx, checked_filter), assume_unique=True) & (ids > after))
            some = there[:limit]
            keys = dict(map(tuple, tx.items.each("key", ids[some].tolist())))
            values = {} if colour is None else self._opened.columns.values(tx, colour, ids[some])
        page = ids[some].tolist()
        return MapPoints(
            keys=tuple(keys[item] for item in page),
            points=points[some],
            values=tuple(values[item][0] if item in values else None for item in page),
            after=page[-1] if len(there) > limit else 0,
        )

    def delete(self, number: int) -> None:
        """Delete a map by its id; NotFoundError for an unknown one, BusyError, StorageError."""
        with self._opened.writable.write() as tx:
            _record(tx, number)
            tx.maps.delete(number)

    def _matching(self, tx: Transaction, form: "FilterForm") -> NDArray[np.int64]:
        return self._opened.columns.matching(tx, filter_of(form).condition)

    def _there(self, tx: Transaction, view: str, condition: str) -> NDArray[np.int64]:
        """Return the ids of the items that have a view and fulfil a condition."""
        return np.intersect1d(joined_view(tx, view).ids(tx), self._matching(tx, condition), assume_unique=True)


def _info(tx: Transaction, record: MapRecord, there: NDArray[np.int64]) -> MapInfo:
    """Return the description of a stored map; ``there`` are the items that fulfil its condition today."""
    return record.info(len(np.setdiff1d(there, tx.maps.places(record.id).ids, assume_unique=True)))


def _record(tx: Transaction, number: int) -> MapRecord:
    return known_map({record.id: record for record in tx.maps.all()}, number)
