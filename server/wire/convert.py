"""Conversion of items, their vectors, filters and reports to messages and back.

``to_...`` converts a message to a value of the engine, ``from_...`` a value of the engine to a message.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.conditions.filter import Filter, FilterForm, filter_of
from crossview.engine.values.conditions.tree import EVERY
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Capture, Failure, ImportReport, Item, ItemUpdate, NewItem, Picture
from crossview.engine.values.numbers import real_numbers
from crossview.engine.values.query import ItemEmbeddings, ItemNeighbors
from crossview.features.page import Page
from crossview.server.wire import pages
from crossview.server.wire.convert_conditions import from_condition, to_condition
from crossview.server.wire.errors import PermissionDeniedError
from crossview.server.wire.fields import enum_number, enum_text, to_message, to_value
from crossview.server.wire.identity import identity_here
from crossview.server.wire.names import item_name
from crossview.server.wire.structs import from_struct, to_struct
from crossview.v1 import collections_pb2, neighbors_pb2, types_pb2
from crossview.v1 import collections_pb2 as pb

_Message = TypeVar("_Message", collections_pb2.NewItem, collections_pb2.ItemUpdate)
_Entry = TypeVar("_Entry", NewItem, ItemUpdate)


def to_row(message: types_pb2.Vector) -> NDArray[np.float32]:
    """Return the row of a vector, shape (d,)."""
    return np.array(message.values, dtype=np.float32)


def from_row(row: NDArray[np.float32] | Sequence[float]) -> types_pb2.Vector:
    """Return the vector of a row; raise InvalidInputError if the row is not numbers of shape (d,)."""
    with np.errstate(over="ignore"):  # an overflow becomes infinity, which the server refuses
        values = real_numbers(row, "a vector").astype(np.float32)
    if values.ndim != 1:
        raise InvalidInputError(f"a vector has shape (d,), not {values.shape}")
    return types_pb2.Vector(values=values.tolist())


def to_filter(message: types_pb2.Filter) -> Filter:
    """Return the filter of a message; an absent or empty message selects every item."""
    found = Filter(
        labels=message.labels,
        without_labels=message.without_labels,
        keys=message.keys,
        key_prefix=message.key_prefix,
        attributes=from_struct(message.attributes),
    ).also(message.where, to_condition(message.condition) if message.HasField("condition") else EVERY)
    if not identity_here().paths and any(test.field.kind == "path" for test in found.condition.tests()):
        raise PermissionDeniedError(
            "the key of this call sees no paths of files, so it cannot choose items by path: choose them by key"
        )
    return found


def from_filter(given: FilterForm) -> types_pb2.Filter:
    """Return the message of a filter in any form."""
    chosen = filter_of(given)
    return types_pb2.Filter(condition=None if chosen.is_empty else from_condition(chosen.condition))


def to_item(message: types_pb2.Item) -> Item:
    """Return the item of a message."""
    return to_value(Item, message, notion_labels=_to_notion_labels(message))


def from_item(collection: str, item: Item) -> types_pb2.Item:
    """Return the message of an item of a collection."""
    by_notion = _from_notion_labels(item)
    return to_message(types_pb2.Item, item, name=item_name(collection, item.key), notion_labels=by_notion)


def to_new_item(message: collections_pb2.NewItem) -> NewItem:
    """Return an item to import; without image bytes it has no picture."""
    rows = {view: to_row(row) for view, row in message.rows.items()}
    return to_value(
        NewItem,
        message,
        image=message.image or None,
        rows=rows,
        metadata=message.metadata or "none",
        **_to_annotations(message),
    )


def to_update(message: collections_pb2.ItemUpdate) -> ItemUpdate:
    """Return the change of an item."""
    return to_value(ItemUpdate, message, **_to_annotations(message))


def _to_annotations(message: collections_pb2.NewItem | collections_pb2.ItemUpdate) -> dict[str, Any]:
    """Return the annotations of a message; None for labels and attributes that it does not set."""
    if message.labels and message.clear_labels:
        raise InvalidInputError(f"item {message.key!r} has labels and clear_labels: give one of them")
    return {
        "labels": tuple(message.labels) if message.labels or message.clear_labels else None,
        "attributes": from_struct(message.attributes) if message.HasField("attributes") else None,
        "labels_given": not message.default_labels,
        "notion_labels": _to_notion_labels(message),
        "capture": _to_capture(message.capture) if message.HasField("capture") else None,
    }


def _to_capture(message: types_pb2.Capture) -> Capture:
    return to_value(Capture, message, page=to_value(Page, message.page) if message.HasField("page") else None)


def _from_capture(capture: Capture | None) -> types_pb2.Capture | None:
    if capture is None:
        return None
    page = None if capture.page is None else to_message(types_pb2.Page, capture.page)
    return to_message(types_pb2.Capture, capture, page=page)


def _to_notion_labels(
    message: types_pb2.Item | collections_pb2.NewItem | collections_pb2.ItemUpdate,
) -> dict[str, tuple[str, ...]]:
    return {notion: tuple(found.labels) for notion, found in sorted(message.notion_labels.items())}


def _from_notion_labels(item: Item | NewItem | ItemUpdate) -> dict[str, types_pb2.Labels]:
    return {notion: types_pb2.Labels(labels=found) for notion, found in item.notion_labels.items()}


def readable_entries(
    messages: Iterable[_Message], convert: Callable[[_Message], _Entry]
) -> tuple[list[_Entry], tuple[Failure, ...]]:
    """Return the converted messages, and a failure for each unusable one, such as attributes that are not JSON."""
    entries: list[_Entry] = []
    failures: list[Failure] = []
    for message in messages:
        try:
            entries.append(convert(message))
        except InvalidInputError as error:
            failures.append(Failure(message.key, str(error)))
    return entries, tuple(failures)


def from_picture(picture: Picture) -> collections_pb2.Picture:
    """Return the message of a picture to fit views on."""
    return collections_pb2.Picture(image=picture.image, labels=picture.labels)


def to_picture(message: collections_pb2.Picture) -> Picture:
    """Return a picture to fit views on."""
    return Picture(message.image, tuple(message.labels))


def from_new_item(item: NewItem) -> collections_pb2.NewItem:
    """Return the message of an item to import."""
    rows = {view: from_row(row) for view, row in item.rows.items()}
    return to_message(collections_pb2.NewItem, item, rows=rows, **_from_annotations(item))


def from_update(update: ItemUpdate) -> collections_pb2.ItemUpdate:
    """Return the message of a change of an item."""
    return to_message(collections_pb2.ItemUpdate, update, **_from_annotations(update))


def _from_annotations(item: NewItem | ItemUpdate) -> dict[str, Any]:
    return {
        "labels": item.labels or (),
        "clear_labels": item.labels == (),
        "attributes": None if item.attributes is None else to_struct(item.attributes),
        "default_labels": not item.labels_given,
        "notion_labels": _from_notion_labels(item),
        "capture": _from_capture(item.capture),
    }


def to_report(message: collections_pb2.ImportItemsResponse) -> ImportReport:
    """Return the report of an import."""
    return to_value(ImportReport, message, failures=tuple(to_value(Failure, one) for one in message.failures))


def from_report(report: ImportReport) -> collections_pb2.ImportItemsResponse:
    """Return the message of the report of an import."""
    failures = [to_message(types_pb2.Failure, failure) for failure in report.failures]
    return to_message(collections_pb2.ImportItemsResponse, report, failures=failures)


def messages_of(
    entries: Iterable[_Entry], convert: Callable[[_Entry], _Message], failures: list[Failure]
) -> Iterator[_Message]:
    """Yield the messages of items; add the items that no message can represent to ``failures``."""
    from crossview.engine.catalog.ingest.updating import check_entry

    for entry in entries:
        checked = check_entry(entry)
        if isinstance(checked, Failure):
            failures.append(checked)
            continue
        try:
            yield convert(checked)
        except InvalidInputError as error:
            failures.append(Failure(entry.key, str(error)))


def from_thumbnail_size(message: pb.GetThumbnailRequest | pb.GetThumbnailsRequest) -> str:
    """Return the size of a request for thumbnails."""
    return enum_text(message.DESCRIPTOR.fields_by_name["size"], message.size) or "small"


def to_thumbnail_size(size: str) -> pb.ThumbnailSize.ValueType:
    """Return the enum of a size; raise InvalidInputError for another word."""
    field = pb.GetThumbnailRequest.DESCRIPTOR.fields_by_name["size"]
    return cast(pb.ThumbnailSize.ValueType, enum_number(field, size))


def to_item_embeddings(message: pb.EmbedItemsResponse) -> ItemEmbeddings:
    """Return a page of vectors or codes."""
    values = np.frombuffer(message.codes, np.uint8) if message.bits else np.fromiter(message.vectors, np.float32)
    vectors = values.reshape(len(message.keys), message.width)
    labels = tuple(tuple(one.labels) for one in message.labels)
    after = pages.from_token(message.next_page_token)
    return to_value(ItemEmbeddings, message, vectors=vectors, labels=labels, after=after)


def from_item_embeddings(page: ItemEmbeddings) -> pb.EmbedItemsResponse:
    """Return the message of a page of vectors or codes."""
    return to_message(
        pb.EmbedItemsResponse,
        page,
        width=page.vectors.shape[1],
        vectors=[] if page.bits else page.vectors.ravel().tolist(),
        codes=page.vectors.tobytes() if page.bits else b"",
        labels=[types_pb2.Labels(labels=one) for one in page.labels],
        next_page_token=pages.to_token(page.after),
    )


def to_item_neighbors(message: neighbors_pb2.ListNeighborsResponse) -> ItemNeighbors:
    """Return a page of the nearest items of items."""
    return to_value(
        ItemNeighbors,
        message,
        keys=tuple(one.key for one in message.items),
        neighbors=tuple(tuple(one.keys) for one in message.items),
        distances=tuple(tuple(one.distances) for one in message.items),
        after=pages.from_token(message.next_page_token),
    )


def from_item_neighbors(page: ItemNeighbors) -> neighbors_pb2.ListNeighborsResponse:
    """Return the message of a page of the nearest items of items."""
    lists = zip(page.keys, page.neighbors, page.distances, strict=True)
    return to_message(
        neighbors_pb2.ListNeighborsResponse,
        page,
        items=[neighbors_pb2.Neighbors(key=key, keys=near, distances=far) for key, near, far in lists],
        next_page_token=pages.to_token(page.after),
    )
