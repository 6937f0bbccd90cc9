"""Captures in the catalog: the times of pictures, and the pages saved beside them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from crossview.engine.catalog import bulk
from crossview.engine.catalog.bulk import batches, each, listed
from crossview.engine.catalog.schema import captures
from crossview.engine.values.item import Attributes, Capture
from crossview.features.page import Page

_HASH = np.dtype("<u8")
_COLUMNS = tuple(column.name for column in captures.c)
_FILE_AS_TEXT = sa.type_coerce(captures.c.file, sa.Text())
_EACH_FILE = sa.select(captures.c.item_id, _FILE_AS_TEXT).where(captures.c.file.is_not(None))


class Captures:
    """The captures of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def stamps(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the stamps of the items that have a capture, by id."""
        query = sa.select(captures.c.item_id, captures.c.stamp)
        queries = (query.where(captures.c.item_id.in_(listed(batch))) for batch in batches(ids))
        return {row.item_id: row.stamp for query in queries for row in self._connection.execute(query)}

    def get(self, ids: Iterable[int]) -> dict[int, Capture]:
        """Return the captures of the items that have one, by id."""
        query = sa.select(captures)
        queries = (query.where(captures.c.item_id.in_(listed(batch))) for batch in batches(ids))
        return {row.item_id: _capture(row) for query in queries for row in self._connection.execute(query)}

    def files(self, ids: Iterable[int] | None = None) -> Iterator[tuple[int, Attributes]]:
        """Yield the id and the metadata of each item that has any, of all items or of those in ``ids``."""
        for item, text in each(self._connection, _EACH_FILE, captures.c.item_id, ids):
            yield item, json.loads(text)

    def have_files(self) -> bool:
        """Return whether any item has metadata."""
        return bool(self._connection.scalar(sa.select(sa.exists().where(captures.c.file.is_not(None)))))

    def put(self, by_item: Mapping[int, Capture]) -> None:
        """Write captures by item; they replace the items' existing captures."""
        rows = (_row(item, capture) for item, capture in by_item.items())
        bulk.insert(self._connection, captures, _COLUMNS, rows, replacing=("item_id",))


def _row(item: int, capture: Capture) -> tuple[Any, ...]:
    page = capture.page
    links, images = (None, None) if page is None else (_packed(page.links), _packed(page.images))
    file = json.dumps(capture.file) if capture.file else None
    return item, capture.stamp, capture.modified_ns, capture.taken, links, images, file


def _capture(row: "sa.Row[Any]") -> Capture:
    page = None if row.links is None else Page(_unpacked(row.links), _unpacked(row.images))
    return Capture(stamp=row.stamp, modified_ns=row.modified_ns, taken=row.taken, page=page, file=row.file or {})


def _packed(hashes: Sequence[int]) -> bytes:
    return np.array(hashes, _HASH).tobytes()


def _unpacked(data: bytes) -> tuple[int, ...]:
    return tuple(np.frombuffer(data, _HASH).tolist())
