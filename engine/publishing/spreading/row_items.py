"""Rows of Parquet as items: the key, the rows of views, and labels, text and attributes if there are such columns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from crossview.engine.catalog.ingest.updating import check_entry
from crossview.engine.catalog.transfer.parts import pyarrow
from crossview.engine.catalog.values import usable
from crossview.engine.publishing.records import Record
from crossview.engine.publishing.spreading.row_file import FIT
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure, Item, NewItem
from crossview.features.base import FeatureRows

KEY, SOURCE, TEXT, ATTRIBUTES = "key", "source", "text", "attributes"
LABELS = ("label", "labels")
_OF_PICTURES = ("width", "height", "content_hash")
"""Columns with facts of pictures, which items have by themselves."""


def check_columns(schema: Any, fits: Mapping[str, str], dims: Mapping[str, int], what: str) -> list[str]:
    """Return the views of a table among those of a collection, in their order there.

    ``fits`` has the hash of each computed view of the collection, ``dims`` the width of each view, and ``what`` names
    the rows in messages. Raises InvalidInputError for a table without keys or views, and for rows of another width or
    by another fit.
    """
    if KEY not in schema.names:
        raise InvalidInputError(f"{what} has no column {KEY!r}, which names the item of each row")
    views = [view for view in dims if view in schema.names]
    for view in views:
        field = schema.field(view)
        width = getattr(field.type, "list_size", 0)
        if width != dims[view]:
            raise InvalidInputError(
                f"column {view!r} of {what} has rows of {width} numbers, and the view {view!r} has {dims[view]}"
            )
        fit = (field.metadata or {}).get(FIT, b"").decode()
        if fit and fits.get(view, fit) != fit:
            raise InvalidInputError(
                f"the rows of {view!r} in {what} were computed by another fit of this view: extract the pictures with "
                "this bundle into another folder"
            )
    if not views:
        raise InvalidInputError(f"{what} has no column of a view; there are: {', '.join(dims)}")
    return views


def new_items(table: Any, views: Sequence[str]) -> list[NewItem | Failure]:
    """Return the items of a table with their rows of some views; a failure for a row that cannot be an item."""
    names = set(table.column_names)
    keys = [str(key or "") for key in table[KEY].to_pylist()]
    rows = {view: _rows(table[view]) for view in views}
    bad = {at: view for view, of_view in rows.items() for at in of_view.bad}
    texts = table[TEXT].to_pylist() if TEXT in names else [None] * len(keys)
    sources = table[SOURCE].to_pylist() if SOURCE in names else [None] * len(keys)
    labels = list(_labels(table, names, len(keys)))
    attributes = list(_attributes(table, names - set(views), len(keys)))
    items = list[NewItem | Failure]()
    for at, key in enumerate(keys):
        if at in bad:
            items.append(Failure(key, f"its row of {bad[at]!r} has a value that is not a finite number"))
            continue
        mine = {view: row for view, of_view in rows.items() if (row := of_view.rows[at]) is not None}
        item = NewItem(
            key, rows=mine, labels=labels[at], attributes=attributes[at], source=sources[at] or "", text=texts[at] or ""
        )
        items.append(check_entry(item))
    return items


def records_of_table(table: Any, views: Sequence[str]) -> tuple[list[Record], list[Failure]]:
    """Return the items of a table as an engine stores them, and the failures."""
    records, failures = list[Record](), list[Failure]()
    for entry in new_items(table, views):
        if isinstance(entry, Failure):
            failures.append(entry)
            continue
        item = Item(
            entry.key,
            labels=tuple(sorted(entry.labels or ())),
            attributes=entry.attributes or {},
            source=entry.source,
            text=entry.text or "",
            views=tuple(entry.rows),
        )
        records.append(Record(item=item, rows={view: np.asarray(row, np.float32) for view, row in entry.rows.items()}))
    return records, failures


def label_columns(names: Sequence[str]) -> list[str]:
    """Return the columns of labels among all columns."""
    return [name for name in LABELS if name in names]


def labels_of_table(table: Any) -> list[tuple[str, ...]]:
    """Return the labels of each row; () without labels."""
    return [labels or () for labels in _labels(table, set(table.column_names), table.num_rows)]


def _labels(table: Any, names: set[str], count: int) -> Iterator[tuple[str, ...]]:
    columns = [table[name].to_pylist() for name in LABELS if name in names]
    for at in range(count):
        tags = list[str]()
        for column in columns:
            value = column[at]
            tags += [str(tag) for tag in (value if isinstance(value, list) else [value]) if tag not in (None, "")]
        yield tuple(dict.fromkeys(tags))


def _attributes(table: Any, names: set[str], count: int) -> Iterator[dict[str, Any]]:
    """Yield the attributes of each row: those in the JSON of one column, and the values of plain columns."""
    pa = pyarrow()
    special = {KEY, SOURCE, TEXT, ATTRIBUTES, *LABELS, *_OF_PICTURES}
    plain = [name for name in table.column_names if name in names - special and _is_plain(pa, table.schema.field(name))]
    columns = {name: table[name].to_pylist() for name in plain}
    packed = table[ATTRIBUTES].to_pylist() if ATTRIBUTES in names else [None] * count
    for at in range(count):
        value = packed[at]
        attributes = value if isinstance(value, dict) else json.loads(value) if value else {}
        mine = {name: column[at] for name, column in columns.items() if column[at] is not None}
        yield {name: attribute for name, attribute in (attributes | mine).items() if attribute is not None}


def _is_plain(pa: Any, field: Any) -> bool:
    """Return whether the values of a column are texts, numbers or truth values."""
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
    return any(is_kind(field.type) for is_kind in tests)


class _Rows(NamedTuple):
    """The rows of a view."""

    rows: Sequence[FeatureRows | None]
    """Each (d,) float32; None for a missing one."""
    bad: Sequence[int]
    """The places of rows that no distance can be computed from."""


def _rows(column: Any) -> _Rows:
    """Return the rows of a column of lists of one length."""
    there = column.combine_chunks().is_valid().to_numpy(zero_copy_only=False)
    values = column.drop_null().combine_chunks().flatten().to_numpy(zero_copy_only=False)
    rows = np.asarray(values, np.float32).reshape(int(there.sum()), column.type.list_size)
    each = iter(rows)
    places = np.flatnonzero(there)[~usable(rows)]
    return _Rows([next(each) if valid else None for valid in there.tolist()], places.tolist())
