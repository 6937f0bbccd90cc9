"""The items of a published collection as rows of its engine: the fields, and conversions in both directions."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.checks import MAX_KEY, MAX_LABEL, MAX_SOURCE
from crossview.engine.publishing.expression import quoted
from crossview.engine.spaces.target import Target
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Item
from crossview.features.base import FeatureRows

Fields = Mapping[str, tuple[str, Mapping[str, Any]]]
"""The type of each field of a collection of the engine, and the options of the type; the first is the primary key."""
MOST_BYTES = 65_535
"""Bytes of a text, or of an object, in the engine."""
_CHARACTER = 4
"""Most bytes of a character in UTF-8."""
_MOST_LABELS = 4_096
WIDEST = MOST_BYTES // 4 * 3 // 4
"""Widest row of a view that the engine can store."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """An item with its rows, as the engine stores it."""

    item: Item
    rows: Mapping[str, FeatureRows] = field(default_factory=dict)
    """The rows of the item by view, each (d,)."""
    written: int = 0
    """When it was written: the sequence number of the catalog, or for a server nanoseconds since 1970."""
    by_server: bool = False
    """Whether a server wrote it last, so that the catalog does not have it."""
    deleted: bool = False
    """Whether a server deleted the item, which the catalog may still have."""


def _text(most: int = MOST_BYTES) -> tuple[str, Mapping[str, Any]]:
    return "VARCHAR", {"max_length": min(most, MOST_BYTES)}


def _texts(most: int) -> tuple[str, Mapping[str, Any]]:
    options = {"element_type": "VARCHAR", "max_capacity": _MOST_LABELS, "max_length": most * _CHARACTER}
    return "ARRAY", options


_SHOWN: Fields = {
    "key": _text(MAX_KEY * _CHARACTER),
    "labels": _texts(MAX_LABEL),
    "attributes": ("JSON", {}),
    "source": _text(MAX_SOURCE * _CHARACTER),
    "text": _text(),
    "views": _texts(128),
}
SHOWN = tuple(_SHOWN)
"""The fields that conditions ask, and that hits show."""
FLOATS = "floats"
"""The field with the float vector of a code, for re-ranking."""
_FACTS, _WRITTEN, BY_SERVER, DELETED = "facts", "written", "by_server", "deleted"


def row_field(place: int) -> str:
    """Return the field with the rows of a view, by its place among the views of a generation."""
    return f"row_{place}"


def item_fields(views: Sequence[str]) -> Fields:
    """Return the fields of the items of a generation; the engine wants a vector in every collection."""
    rows = {row_field(place): _text() for place in range(len(views))}
    own: Fields = {_FACTS: ("JSON", {}), _WRITTEN: ("INT64", {}), BY_SERVER: ("BOOL", {}), DELETED: ("BOOL", {})}
    return {**_SHOWN, **own, **rows, "vector": ("FLOAT_VECTOR", {"dim": 2})}


def target_fields(target: Target) -> Fields:
    """Return the fields of the items in a target; a hidden one shows nothing."""
    shown: Fields = {name: _SHOWN[name] for name in shown_fields(target)}
    floats: Fields = {FLOATS: _text()} if target.floats else {}
    if target.codes:
        return {**shown, **floats, "vector": ("BINARY_VECTOR", {"dim": 8 * (target.code_bytes or 0)})}
    return {**shown, "vector": ("FLOAT_VECTOR", {"dim": target.dim})}


def shown_fields(target: Target) -> Sequence[str]:
    """Return the fields that a search of a target returns."""
    return SHOWN[:1] if target.hidden else SHOWN


def shown_row(item: Item) -> dict[str, Any]:
    """Return the fields of an item that conditions ask and hits show.

    A longer text than the engine can store loses its end. Raises InvalidInputError for a key with a line break, and for
    too many attributes or labels.
    """
    quoted(item.key)
    attributes = dict(item.attributes)
    if len(json.dumps(attributes, ensure_ascii=False).encode()) > MOST_BYTES:
        raise InvalidInputError(f"its attributes have more than {MOST_BYTES:,} bytes as JSON, the limit of the engine")
    if len(item.labels) > _MOST_LABELS:
        raise InvalidInputError(f"it has more than {_MOST_LABELS:,} labels, the limit of the engine")
    return {
        "key": item.key,
        "labels": list(item.labels),
        "attributes": attributes,
        "source": cut(item.source),
        "text": cut(item.text),
        "views": list(item.views),
    }


def cut(text: str) -> str:
    """Return a text, without its end if it has more bytes than the engine can store."""
    return text if len(text) * _CHARACTER <= MOST_BYTES else text.encode()[:MOST_BYTES].decode(errors="ignore")


def item_row(record: Record, views: Sequence[str]) -> dict[str, Any]:
    """Return the row of an item; its rows are those of ``views``, in this order. Raises as ``shown_row``."""
    notions = {name: list(labels) for name, labels in record.item.notion_labels.items()}
    return {
        **shown_row(record.item),
        _FACTS: {"notions": notions, "file": dict(record.item.file)},
        _WRITTEN: record.written,
        BY_SERVER: record.by_server,
        DELETED: record.deleted,
        **{row_field(place): packed(record.rows.get(view)) for place, view in enumerate(views)},
        "vector": [0.0, 0.0],
    }


def record_of(row: Mapping[str, Any], views: Sequence[str]) -> Record:
    """Return the item of a row, with the rows of views that it has."""
    rows = {view: row.get(row_field(place), "") for place, view in enumerate(views)}
    return Record(
        item=item_of(row),
        rows={view: unpacked(text) for view, text in rows.items() if text},
        written=row.get(_WRITTEN, 0),
        by_server=bool(row.get(BY_SERVER, False)),
        deleted=bool(row.get(DELETED, False)),
    )


def item_of(row: Mapping[str, Any]) -> Item:
    """Return the item of a row, which may lack what only the items of a generation have."""
    facts = row.get(_FACTS) or {}
    return Item(
        row["key"],
        labels=tuple(row["labels"]),
        attributes=row["attributes"],
        source=row["source"],
        text=row["text"],
        views=tuple(row["views"]),
        notion_labels={name: tuple(labels) for name, labels in facts.get("notions", {}).items()},
        file=facts.get("file", {}),
    )


def target_row(item: Item, target: Target, vector: NDArray[Any]) -> dict[str, Any]:
    """Return the row of an item in a target, for its vector, its code, or its code with a float vector."""
    shown = {"key": item.key} if target.hidden else shown_row(item)
    if not target.codes:
        return {**shown, "vector": vector.astype(np.float32)}
    code = vector[: target.code_bytes]
    floats = {FLOATS: base64.b64encode(vector[target.code_bytes :].tobytes()).decode()} if target.floats else {}
    return {**shown, **floats, "vector": code.tobytes()}


def packed(row: FeatureRows | None) -> str:
    """Return a row as text; "" for None."""
    return "" if row is None else base64.b64encode(np.ascontiguousarray(row, "<f4").tobytes()).decode()


def unpacked(text: str) -> FeatureRows:
    """Return the row of a text, (d,)."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32)
