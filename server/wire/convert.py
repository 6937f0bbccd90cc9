"""Conversion of values to messages and back, where their fields differ; ``fields`` converts all others.

``to_...`` converts a message to a value of the engine, ``from_...`` a value of the engine to a message. Import
``to_value`` and ``to_message`` from here, because this module adds the forms that they know.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import KINDS, Comparisons, Taxonomy
from crossview.engine.values.comparisons import ItemComparisons
from crossview.engine.values.conditions.filter import condition_of
from crossview.engine.values.conditions.tree import Value
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import EvaluationRequest, PerQuery
from crossview.engine.values.info import CollectionInfo, SpaceInfo
from crossview.engine.values.item import Failure, Item, ItemUpdate, NewItem, Picture
from crossview.engine.values.map import MapInfo, MapPoints
from crossview.engine.values.query import ItemEmbeddings, ItemNeighbors
from crossview.engine.values.recipe import Grouping, Tune
from crossview.server.wire import pages
from crossview.server.wire.convert_conditions import CONDITION_FORMS, from_field_value, to_field_value
from crossview.server.wire.convert_search import SEARCH_FORMS
from crossview.server.wire.fields import FORMS, Form, enum_number, enum_text
from crossview.server.wire.fields import to_message as to_message
from crossview.server.wire.fields import to_value as to_value
from crossview.server.wire.identity import identity_here
from crossview.server.wire.names import OF_KEY, collection_name, item_name, parse_collection, parse_space, space_name
from crossview.server.wire.structs import from_struct
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import maps_pb2, neighbors_pb2, types_pb2

_Message = TypeVar("_Message", pb.NewItem, pb.ItemUpdate)
_Entry = TypeVar("_Entry", NewItem, ItemUpdate)
_HIDDEN = "a condition on paths, which the key of this call does not see"


def from_item(collection: str, item: Item) -> types_pb2.Item:
    """Return the message of an item of a collection."""
    return to_message(types_pb2.Item, item, name=item_name(collection, item.key))


def to_new_item(message: pb.NewItem) -> NewItem:
    """Return an item to import; without image bytes it has no picture."""
    return to_value(NewItem, message, image=message.image or None, **_to_annotations(message))


def to_update(message: pb.ItemUpdate) -> ItemUpdate:
    """Return the change of an item."""
    return to_value(ItemUpdate, message, **_to_annotations(message))


def _to_annotations(message: pb.NewItem | pb.ItemUpdate) -> dict[str, Any]:
    """Return the labels of a message, None if it does not set them, and whether a person chose them."""
    if message.labels and message.clear_labels:
        raise InvalidInputError(f"item {message.key!r} has labels and clear_labels: give one of them")
    labels = tuple(message.labels) if message.labels or message.clear_labels else None
    return {"labels": labels, "labels_given": not message.default_labels}


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


def from_picture(picture: Picture) -> pb.Picture:
    """Return the message of a picture to fit views on."""
    return pb.Picture(image=picture.image, labels=picture.labels)


def to_picture(message: pb.Picture) -> Picture:
    """Return a picture to fit views on."""
    return Picture(message.image, tuple(message.labels))


def from_new_item(item: NewItem) -> pb.NewItem:
    """Return the message of an item to import."""
    return to_message(pb.NewItem, item, clear_labels=item.labels == (), default_labels=not item.labels_given)


def from_update(update: ItemUpdate) -> pb.ItemUpdate:
    """Return the message of a change of an item."""
    return to_message(pb.ItemUpdate, update, clear_labels=update.labels == (), default_labels=not update.labels_given)


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
    return to_value(ItemEmbeddings, message, vectors=vectors, after=pages.from_token(message.next_page_token))


def from_item_embeddings(page: ItemEmbeddings) -> pb.EmbedItemsResponse:
    """Return the message of a page of vectors or codes."""
    return to_message(
        pb.EmbedItemsResponse,
        page,
        width=page.vectors.shape[1],
        vectors=[] if page.bits else page.vectors.ravel().tolist(),
        codes=page.vectors.tobytes() if page.bits else b"",
        next_page_token=pages.to_token(page.after),
    )


def to_item_neighbors(message: neighbors_pb2.ListNeighborsResponse) -> ItemNeighbors:
    """Return a page of the nearest items of items."""
    return to_value(
        ItemNeighbors,
        message,
        keys=tuple(item.key for item in message.items),
        neighbors=tuple(tuple(item.keys) for item in message.items),
        distances=tuple(tuple(item.distances) for item in message.items),
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


def activates(message: pb.TrainRequest | pb.ExtendSpaceRequest | pb.AssignLabelRequest) -> bool | None:
    """Return whether searches must use the new space; None if the request does not specify it."""
    return message.activate if message.HasField("activate") else None


def to_tune(message: pb.Tune) -> Tune:
    """Return the tuning of a message; a single value counts as a list of one value."""
    values = {
        name: tuple(value) if isinstance(value, list) else (value,)
        for name, value in from_struct(message.values).items()
    }
    return to_value(Tune, message, values=values)


def to_taxonomy(message: pb.Taxonomy) -> Taxonomy:
    """Return the taxonomy of a message; raise InvalidInputError if its parents do not form a tree."""
    try:
        return to_value(Taxonomy, message)
    except ValueError as error:
        raise InvalidInputError(f"invalid taxonomy: {error}") from error


def to_comparisons(message: pb.Comparisons) -> ItemComparisons:
    """Return the comparisons of a message; raise InvalidInputError if its columns do not match."""
    if message.size not in KINDS or len(message.items) % message.size:
        raise InvalidInputError(
            f"constraints have 2, 3 or 4 items: {len(message.items)} items do not form constraints of {message.size}"
        )
    comparisons = Comparisons(
        np.array(message.items, np.int64).reshape(-1, message.size),
        np.array(message.similar, bool) if message.size == 2 else None,
        np.array(message.weights) if message.weights else None,
        np.array(message.margins) if message.margins else None,
        _to_notions(message),
    )
    if any(len(inner.others) for inner in message.others):
        raise InvalidInputError("constraints inside others cannot have others themselves: put them all into one list")
    return ItemComparisons(
        tuple(message.keys),
        comparisons,
        np.array(message.lines, np.int64) if message.lines else None,
        tuple(map(to_comparisons, message.others)),
    )


def _to_notions(message: pb.Comparisons) -> NDArray[Any] | None:
    if not message.notions:
        return None
    codes = np.array(message.notions, np.int64)
    if codes.min() < 0 or codes.max() >= len(message.notion_names):
        raise InvalidInputError(
            f"notions of constraints are positions in notion_names, below {len(message.notion_names)}"
        )
    return np.array(message.notion_names)[codes]


def from_comparisons(comparisons: ItemComparisons) -> pb.Comparisons:
    """Return the message of comparisons of items."""
    columns = {**vars(comparisons.comparisons), "lines": comparisons.lines}
    if comparisons.notions:
        columns["notions"] = comparisons.notion_codes
    size = columns["items"].shape[1]
    lists = {name: None if column is None else column.ravel().tolist() for name, column in columns.items()}
    others = map(from_comparisons, comparisons.others)
    return pb.Comparisons(keys=comparisons.keys, size=size, notion_names=comparisons.notions, others=others, **lists)


def to_evaluation_request(message: pb.EvaluateRequest) -> EvaluationRequest:
    """Return the request of a message; raise InvalidInputError if it sets both ``space`` and ``spaces``."""
    if message.space and message.spaces:
        raise InvalidInputError(f"set either space ({message.space}) or spaces ({', '.join(message.spaces)}), not both")
    spaces = tuple(message.spaces) or ((message.space,) if message.space else ())
    return to_value(EvaluationRequest, message, spaces=spaces)


def _to_per_query(message: pb.Evaluation.PerQuery) -> PerQuery:
    figures = {figure.name: np.array(figure.values, np.float64) for figure in message.figures}
    return to_value(PerQuery, message, figures=figures)


def _from_per_query(measured: PerQuery) -> pb.Evaluation.PerQuery:
    figures = [pb.Evaluation.PerQuery.Figure(name=name, values=values) for name, values in measured.figures.items()]
    return to_message(pb.Evaluation.PerQuery, measured, figures=figures)


def to_space(message: types_pb2.Space) -> SpaceInfo:
    """Return the description of a space."""
    dim = {target: message.dims[target] for target in message.targets}
    return to_value(SpaceInfo, message, name=parse_space(message.name)[1], dim=dim)


def from_space(collection: str, space: SpaceInfo) -> types_pb2.Space:
    """Return the message of a space of a collection."""
    name, request = space_name(collection, space.name), space.request_id.rpartition(OF_KEY)[2]
    return to_message(types_pb2.Space, space, name=name, request_id=request)


def to_collection(message: pb.Collection) -> CollectionInfo:
    """Return the description of a collection."""
    return to_value(CollectionInfo, message, name=parse_collection(message.name))


def from_collection(info: CollectionInfo) -> pb.Collection:
    """Return the message of the description of a collection."""
    spaces = [from_space(info.name, space) for space in info.spaces]
    return to_message(pb.Collection, info, name=collection_name(info.name), spaces=spaces)


def from_map(info: MapInfo) -> maps_pb2.Map:
    """Return the message of a map, without a condition on paths for a caller that sees no paths."""
    hidden = not identity_here().paths and any(test.field.kind == "path" for test in condition_of(info.where).tests())
    return to_message(maps_pb2.Map, info, where=_HIDDEN if hidden else info.where)


def to_map_points(message: maps_pb2.ListMapPointsResponse) -> MapPoints:
    """Return a page of points."""
    values = [to_field_value(value) for value in message.values]
    return MapPoints(
        keys=tuple(message.keys),
        points=np.column_stack([np.fromiter(axis, np.float32, len(axis)) for axis in (message.x, message.y)]),
        values=tuple(values[place] if place >= 0 else None for place in message.places),
        after=pages.number_from_token(message.next_page_token) or 0,
    )


def from_map_points(page: MapPoints) -> maps_pb2.ListMapPointsResponse:
    """Return the message of a page of points."""
    order: dict[tuple[type, Value], int] = {}  # with the type, because True equals 1
    places = [-1 if value is None else order.setdefault((type(value), value), len(order)) for value in page.values]
    return maps_pb2.ListMapPointsResponse(
        keys=page.keys,
        x=page.points[:, 0].tolist(),
        y=page.points[:, 1].tolist(),
        values=[from_field_value(value) for _, value in order],
        places=places,
        next_page_token=pages.to_token(str(page.after)) if page.after else "",
    )


FORMS |= CONDITION_FORMS | SEARCH_FORMS
FORMS |= {
    "crossview.v1.Labels": Form(lambda message: tuple(message.labels), lambda labels: types_pb2.Labels(labels=labels)),
    "crossview.v1.Tune": Form(to_tune, partial(to_message, pb.Tune)),
    "crossview.v1.Grouping": Form(partial(to_value, Grouping), partial(to_message, pb.Grouping)),
    "crossview.v1.Taxonomy": Form(to_taxonomy, partial(to_message, pb.Taxonomy)),
    "crossview.v1.Comparisons": Form(to_comparisons, from_comparisons),
    "crossview.v1.Evaluation.PerQuery": Form(_to_per_query, _from_per_query),
    "crossview.v1.Evaluation.PerQuery.Places": Form(
        lambda message: np.array(message.places, np.int32),
        lambda places: pb.Evaluation.PerQuery.Places(places=places),
    ),
    "crossview.v1.Space": Form(to_space, partial(to_message, types_pb2.Space)),
}
