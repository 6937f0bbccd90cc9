"""Messages as the engine's words and back: queries, filters, hits, items, reports.

``to_...`` makes the engine's word of a message, ``from_...`` the message of the engine's word.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidInputError
from engine.item import DeletedPicture, Failure, ImportReport, Item, ItemUpdate, NewItem, Picture
from engine.query import Embedding, Filter, Hit, HitList, Query
from server.names import item_name
from server.pb.crossview.v1 import collections_pb2, search_pb2, types_pb2
from server.structs import from_struct, to_struct

_Message = TypeVar("_Message", collections_pb2.NewItem, collections_pb2.ItemUpdate)
_Entry = TypeVar("_Entry", NewItem, ItemUpdate)


def to_query(message: search_pb2.Query) -> Query:
    """Raises InvalidInputError where the query has no input."""
    kind = message.WhichOneof("input")
    if kind is None:
        raise InvalidInputError("a query needs an input: one of image, text, vector and key")
    if kind == "image":
        return Query(message.view, image=message.image)
    if kind == "text":
        return Query(message.view, text=message.text)
    if kind == "key":
        return Query(message.view, key=message.key)
    return Query(message.view, vector=to_row(message.vector))


def from_query(query: Query) -> search_pb2.Query:
    """Raises InvalidInputError where the query has not exactly one input."""
    if len(query.inputs()) != 1:
        given = " and ".join(query.inputs()) or "none"
        raise InvalidInputError(f"a query needs exactly one of image, text, vector and key, not {given}")
    if query.image is not None:
        return search_pb2.Query(view=query.view, image=query.image)
    if query.text is not None:
        return search_pb2.Query(view=query.view, text=query.text)
    if query.vector is not None:
        return search_pb2.Query(view=query.view, vector=from_row(query.vector))
    return search_pb2.Query(view=query.view, key=query.key or "")


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


def to_hit_lists(message: search_pb2.SearchResponse) -> list[HitList]:
    """The answer of a search, list by list."""
    return [HitList(found.query, found.target, tuple(map(_to_hit, found.hits))) for found in message.results]


def from_hit_lists(collection: str, results: Iterable[HitList]) -> search_pb2.SearchResponse:
    """The answer of a search in a collection."""
    lists = (
        search_pb2.HitList(
            query=found.query, target=found.target, hits=[_from_hit(collection, hit) for hit in found.hits]
        )
        for found in results
    )
    return search_pb2.SearchResponse(results=lists)


def to_embeddings(message: search_pb2.EmbedResponse) -> list[Embedding]:
    """What a space makes of queries."""
    return [_to_embedding(found) for found in message.results]


def from_embeddings(found: Iterable[Embedding]) -> search_pb2.EmbedResponse:
    """The message of what a space makes of queries."""
    return search_pb2.EmbedResponse(results=map(_from_embedding, found))


def _to_embedding(message: search_pb2.Embedding) -> Embedding:
    if message.HasField("code"):
        packed = np.frombuffer(message.code.packed, np.uint8)
        return Embedding(message.query, message.target, packed, message.code.bits)
    return Embedding(message.query, message.target, to_row(message.vector))


def _from_embedding(found: Embedding) -> search_pb2.Embedding:
    if found.bits:
        code = types_pb2.Code(packed=found.vector.tobytes(), bits=found.bits)
        return search_pb2.Embedding(query=found.query, target=found.target, code=code)
    return search_pb2.Embedding(
        query=found.query, target=found.target, vector=from_row(found.vector.astype(np.float32))
    )


def _to_hit(message: search_pb2.Hit) -> Hit:
    attributes = from_struct(message.attributes)
    labels = tuple(message.labels)
    return Hit(message.key, message.distance, message.target, labels, attributes, message.text, message.source)


def _from_hit(collection: str, hit: Hit) -> search_pb2.Hit:
    return search_pb2.Hit(
        item=item_name(collection, hit.key),
        key=hit.key,
        distance=hit.distance,
        target=hit.target,
        labels=hit.labels,
        attributes=to_struct(hit.attributes),
        text=hit.text,
        source=hit.source,
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
    """What a message says of labels, attributes and text, None where it says nothing."""
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
    """What messages of items say, and those of them that cannot be meant, such as attributes that are no JSON."""
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
    return DeletedPicture(message.key, message.source, message.content_hash, message.size)


def from_deleted(one: DeletedPicture) -> collections_pb2.DeletedItem:
    """The message of what is remembered of an item that was deleted."""
    return collections_pb2.DeletedItem(key=one.key, source=one.source, content_hash=one.content_hash, size=one.size)


def to_report(message: collections_pb2.ImportItemsResponse) -> ImportReport:
    """What an import did."""
    failures = tuple(Failure(failure.key, failure.reason) for failure in message.failures)
    return ImportReport(message.added, message.updated, message.unchanged, failures, message.seconds)


def from_report(report: ImportReport) -> collections_pb2.ImportItemsResponse:
    """The message of what an import did."""
    return collections_pb2.ImportItemsResponse(
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        failures=[types_pb2.Failure(key=failure.key, reason=failure.reason) for failure in report.failures],
        seconds=report.seconds,
    )
