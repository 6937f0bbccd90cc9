"""The row store: float32 feature rows by view and item."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from crossview.engine.catalog import bulk
from crossview.engine.catalog.bulk import MOST_PARAMETERS, batches, listed
from crossview.engine.catalog.schema import rows, suspect_rows
from crossview.engine.catalog.views import ViewRecord

_BYTES_AT_ONCE = 1 << 22
"""Bytes of feature rows in one row of a result."""


class ViewRows(NamedTuple):
    """Feature rows of one view."""

    ids: NDArray[np.int64]
    """Item ids, shape (n,), ascending."""
    rows: NDArray[np.float32]
    """Shape (n, d)."""


class RowStore:
    """The feature rows of one transaction, by view and item id; reads return only rows of a view's current revision."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def put(self, view: ViewRecord, ids: Sequence[int], values: NDArray[np.float32]) -> None:
        """Store rows, shape (n, d); they replace the rows of the same items."""
        width, data = 4 * view.dim, np.ascontiguousarray(values, "<f4").tobytes()
        records = (
            (view.id, item, view.revision, data[width * place : width * (place + 1)]) for place, item in enumerate(ids)
        )
        columns = ("view_id", "item_id", "revision", "data")
        bulk.insert(self._connection, rows, columns, records, replacing=columns[:2])

    def get(self, view: ViewRecord, ids: Iterable[int] | None = None) -> ViewRows:
        """Return the rows of all items, or of those in ``ids``; items without a row are left out."""
        if ids is not None:
            return self._among(view, sorted(ids))
        records = self._connection.execute(self._current(view, rows.c.item_id, rows.c.data)).all()
        values = np.frombuffer(b"".join(row.data for row in records), "<f4").astype(np.float32, copy=False)
        return ViewRows(np.array([row.item_id for row in records], np.int64), values.reshape(len(records), view.dim))

    def _among(self, view: ViewRecord, ids: Sequence[int]) -> ViewRows:
        """Return the rows of the given items, packed into few rows of the result.

        For each row of a result Python's driver releases the interpreter lock, and waits to get it back from threads
        that compute.
        """
        parts, data = list[NDArray[np.int64]](), list[bytes]()
        at_once = max(1, min(MOST_PARAMETERS, _BYTES_AT_ONCE // (4 * view.dim)))
        query = _joined(view.id, view.revision)
        for numbers, digits in bulk.select_among(self._connection, query, rows.c.item_id, ids, at_once):
            if numbers is not None:
                parts.append(np.array(numbers.split(","), np.int64))
                data.append(bytes.fromhex(digits))
        numbers = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])
        order = np.argsort(numbers)
        values = np.frombuffer(b"".join(data), "<f4").astype(np.float32, copy=False).reshape(len(numbers), view.dim)
        return ViewRows(numbers[order], values[order])

    def ids(self, view: ViewRecord) -> NDArray[np.int64]:
        """Return the ids of the items that have a row, ascending."""
        return np.sort(self._ids(self._current(view, sa.func.group_concat(rows.c.item_id)).order_by(None)))

    def with_view(self, view: ViewRecord) -> NDArray[np.int64]:
        """Return the ids of the items that have a row of any revision."""
        return self._ids(sa.select(sa.func.group_concat(rows.c.item_id)).where(rows.c.view_id == view.id))

    def _ids(self, query: "sa.Select[Any]") -> NDArray[np.int64]:
        """Return the ids that a query gives as one text: a row of the result for each takes several times as long."""
        return np.fromstring(self._connection.scalar(query) or "", np.int64, sep=",")

    def views_of(self, ids: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Return, by item, the ids of the views for which it has a row of any revision."""
        by_item: dict[int, list[int]] = defaultdict(list)
        for batch in batches(ids):
            query = (
                sa.select(rows.c.item_id, rows.c.view_id)
                .where(rows.c.item_id.in_(listed(batch)))
                .order_by(rows.c.view_id)
            )
            for item, view in self._connection.execute(query):
                by_item[item].append(view)
        return {item: tuple(views) for item, views in by_item.items()}

    def suspects(self, view: ViewRecord) -> list[int]:
        """Return the ids of items whose rows of a view may have too large values, which earlier versions accepted."""
        query = sa.select(suspect_rows.c.item_id).where(suspect_rows.c.view_id == view.id)
        return list(self._connection.scalars(query))

    def misfits(self, view: ViewRecord) -> bool:
        """Return whether a current row has another dimension than its view."""
        wrong = self._current(view, rows.c.item_id).where(sa.func.length(rows.c.data) != 4 * view.dim)
        return self._connection.execute(wrong.limit(1)).one_or_none() is not None

    def remove(self, ids: Sequence[int], view: ViewRecord | None = None) -> None:
        """Remove the items' rows of a view [default: of every view]."""
        statement = sa.delete(rows) if view is None else sa.delete(rows).where(rows.c.view_id == view.id)
        for batch in batches(ids):
            self._connection.execute(statement.where(rows.c.item_id.in_(listed(batch))))

    def remove_view(self, view: ViewRecord) -> None:
        """Remove every row of a view, of all revisions."""
        for table in (rows, suspect_rows):
            self._connection.execute(sa.delete(table).where(table.c.view_id == view.id))

    def _current(self, view: ViewRecord, *columns: "sa.ColumnElement[Any]") -> "sa.Select[Any]":
        current = (rows.c.view_id == view.id) & (rows.c.revision == view.revision)
        return sa.select(*columns).where(current).order_by(rows.c.item_id)


@lru_cache(maxsize=32)
def _joined(view: int, revision: int) -> "sa.Select[Any]":
    """Return the query for the ids and rows of a view's items, as one row of hexadecimal digits."""
    digits = sa.func.group_concat(sa.func.hex(rows.c.data), sa.text("''"))
    of_view = rows.c.view_id == sa.literal_column(str(view)), rows.c.revision == sa.literal_column(str(revision))
    return sa.select(sa.func.group_concat(rows.c.item_id), digits).where(*of_view)
