"""Items, filters and reports as messages and back.

``to_...`` returns the engine's value of a message, ``from_...`` the message of the engine's value.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidInputError
from engine.item import DeletedPicture, Failure, ImportReport, Item, ItemUpdate, NewItem, Picture
from engine.query import Filter
from server.names import item_name
from server.pb.crossview.v1 import collections_pb2, types_pb2
from server.structs import from_struct, to_struct

_Message = TypeVar("_Message", collections_pb2.NewItem, collections_pb2.ItemUpdate)
_Entry = TypeVar("_Entry", NewItem, ItemUpdate)


def to_row(message: types_pb2.Vector) -> NDArray[np.float32]:
    """The row of a vector, shape (d,)."""
    return np.array(message.values, dtype=np.float32)


def from_row(row: NDArray[np.float32] | Sequence[float]) -> types_pb2.Vector:
    """Raises InvalidInputError where the row is no numbers of shape (d,)."""
    try:
        with np.errstate(over="ignore"):  # the server refuses infinity
            values = np.asarray(row, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"a vector must be numbers: {error}") from error
    if values.ndim != 1:
        raise InvalidInputError(f"a vector has shape (d,), not {values.shape}")
    return types_pb2.Vector(values=values.tolist())


def to_filter(message: types_pb2.Filter) -> Filter:
    """An absent filter is the empty one: every item."""
    return Filter(
        labels=tuple(message.labels),
        without_labels=tuple(message.without_labels),
        keys=tuple(message.keys),
        key_prefix=message.key_prefix,
        attributes=from_struct(message.attributes),
    )


def from_filter(condition: Filter) -> types_pb2.Filter:
    """The message of a filter."""
    return types_pb2.Filter(
        labels=condition.labels,
        without_labels=condition.without_labels,
        keys=condition.keys,
        key_prefix=condition.key_prefix,
        attributes=to_struct(condition.attributes),
    )


def to_item(message: types_pb2.Item) -> Item:
    """The item of a message."""
    return Item(
        key=message.key,
        labels=tuple(message.labels),
        attributes=from_struct(message.attributes),
        text=message.text,
        source=message.source,
        content_hash=message.content_hash,
        width=message.width,
        height=message.height,
        views=tuple(message.views),
    )


def from_item(collection: str, item: Item) -> types_pb2.Item:
    """The message of an item of a collection."""
    return types_pb2.Item(
        name=item_name(collection, item.key),
        key=item.key,
        labels=item.labels,
        attributes=to_struct(item.attributes),
        text=item.text,
        source=item.source,
        content_hash=item.content_hash,
        width=item.width,
        height=item.height,
        views=item.views,
    )


def to_new_item(message: collections_pb2.NewItem) -> NewItem:
    """An item to import; without image bytes it has no picture."""
    return NewItem(
        key=message.key,
        image=message.image or None,
        rows={view: to_row(row) for view, row in message.rows.items()},
        source=message.source,
        **_to_annotations(message),
    )


def to_update(message: collections_pb2.ItemUpdate) -> ItemUpdate:
    """A change of an item."""
    removed = tuple(message.removed_attributes)
    return ItemUpdate(key=message.key, removed_attributes=removed, **_to_annotations(message))


def _to_annotations(message: collections_pb2.NewItem | collections_pb2.ItemUpdate) -> dict[str, Any]:
    """Labels, attributes and text of a message, None for what it leaves out."""
    if message.labels and message.clear_labels:
        raise InvalidInputError(f"item {message.key!r} has labels and clear_labels: give one of them")
    return {
        "labels": tuple(message.labels) if message.labels or message.clear_labels else None,
        "attributes": from_struct(message.attributes) if message.HasField("attributes") else None,
        "text": message.text if message.HasField("text") else None,
        "labels_given": not message.default_labels,
    }


def readable_entries(
    messages: Iterable[_Message], convert: Callable[[_Message], _Entry]
) -> tuple[list[_Entry], tuple[Failure, ...]]:
    """The items of messages, and a failure for each that cannot be one, such as attributes that are no JSON."""
    entries: list[_Entry] = []
    failures: list[Failure] = []
    for message in messages:
        try:
            entries.append(convert(message))
        except InvalidInputError as error:
            failures.append(Failure(message.key, str(error)))
    return entries, tuple(failures)


def from_picture(picture: bytes | Picture) -> collections_pb2.Picture:
    """A picture to fit views on."""
    image, labels = picture if isinstance(picture, Picture) else Picture(picture)
    return collections_pb2.Picture(image=image, labels=labels)


def to_picture(message: collections_pb2.Picture) -> Picture:
    """A picture to fit views on."""
    return Picture(message.image, tuple(message.labels))


def from_new_item(item: NewItem) -> collections_pb2.NewItem:
    """The message of an item to import."""
    return collections_pb2.NewItem(
        key=item.key,
        image=item.image or b"",
        rows={view: from_row(row) for view, row in item.rows.items()},
        source=item.source,
        **_from_annotations(item),
    )


def from_update(update: ItemUpdate) -> collections_pb2.ItemUpdate:
    """The message of a change of an item."""
    return collections_pb2.ItemUpdate(
        key=update.key, removed_attributes=update.removed_attributes, **_from_annotations(update)
    )


def _from_annotations(item: NewItem | ItemUpdate) -> dict[str, Any]:
    return {
        "labels": item.labels or (),
        "clear_labels": item.labels == (),
        "attributes": None if item.attributes is None else to_struct(item.attributes),
        "text": item.text,
        "default_labels": not item.labels_given,
    }


def to_deleted(message: collections_pb2.DeletedItem) -> DeletedPicture:
    """What is remembered of an item that was deleted."""
    return DeletedPicture(key=message.key, source=message.source, content_hash=message.content_hash, size=message.size)


def from_deleted(one: DeletedPicture) -> collections_pb2.DeletedItem:
    """The message of what is remembered of an item that was deleted."""
    return collections_pb2.DeletedItem(key=one.key, source=one.source, content_hash=one.content_hash, size=one.size)


def to_report(message: collections_pb2.ImportItemsResponse) -> ImportReport:
    """What an import did."""
    failures = tuple(Failure(failure.key, failure.reason) for failure in message.failures)
    return ImportReport(
        added=message.added,
        updated=message.updated,
        unchanged=message.unchanged,
        failures=failures,
        seconds=message.seconds,
    )


def from_report(report: ImportReport) -> collections_pb2.ImportItemsResponse:
    """The message of what an import did."""
    return collections_pb2.ImportItemsResponse(
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        failures=[types_pb2.Failure(key=failure.key, reason=failure.reason) for failure in report.failures],
        seconds=report.seconds,
    )
