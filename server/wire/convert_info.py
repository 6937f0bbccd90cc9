"""Conversion of descriptions of collections and spaces to messages and back."""

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from crossview.engine.values.index_choice import LiveFigure, SearchRecall, TargetIndex
from crossview.engine.values.info import (
    CollectionInfo,
    ConstraintCounts,
    SpaceInfo,
    Threshold,
    TrainingCost,
    Trial,
    Tuning,
    ViewInfo,
)
from crossview.engine.values.labels import LabelReport
from crossview.server.wire.fields import to_message, to_value
from crossview.server.wire.names import OF_KEY, collection_name, parse_collection, parse_space, space_name
from crossview.v1 import collections_pb2, types_pb2


def to_space(message: types_pb2.Space) -> SpaceInfo:
    """Return the description of a space."""
    return to_value(
        SpaceInfo,
        message,
        name=parse_space(message.name)[1],
        dim={target: message.dims[target] for target in message.targets},
        created=to_time(message.create_time),
        tuning=_to_tuning(message.tuning) if message.HasField("tuning") else None,
        constraints=to_value(ConstraintCounts, message.constraints) if message.HasField("constraints") else None,
        cost=to_value(TrainingCost, message.cost) if message.HasField("cost") else None,
        thresholds=tuple(map(to_threshold, message.thresholds)),
        labels=tuple(to_value(LabelReport, one) for one in message.labels),
        indexes=tuple(map(_to_index, message.indexes)),
    )


def from_space(collection: str, space: SpaceInfo) -> types_pb2.Space:
    """Return the message of a space of a collection."""
    return to_message(
        types_pb2.Space,
        space,
        name=space_name(collection, space.name),
        dims=space.dim,
        create_time=from_time(space.created),
        request_id=space.request_id.rpartition(OF_KEY)[2],
        tuning=None if space.tuning is None else _from_tuning(space.tuning),
        constraints=None if space.constraints is None else to_message(types_pb2.ConstraintCounts, space.constraints),
        cost=None if space.cost is None else to_message(types_pb2.TrainingCost, space.cost),
        thresholds=[from_threshold(one) for one in space.thresholds],
        labels=[to_message(types_pb2.LabelReport, one) for one in space.labels],
        indexes=[_from_index(one) for one in space.indexes],
    )


def _to_tuning(message: types_pb2.Tuning) -> Tuning:
    return to_value(Tuning, message, tried=tuple(to_value(Trial, trial) for trial in message.tried))


def _from_tuning(tuning: Tuning) -> types_pb2.Tuning:
    tried = [to_message(types_pb2.Tuning.Trial, trial) for trial in tuning.tried]
    return to_message(types_pb2.Tuning, tuning, tried=tried)


def _to_index(message: types_pb2.TargetIndex) -> TargetIndex:
    return to_value(TargetIndex, message, searches=tuple(map(_to_recall, message.searches)))


def _from_index(index: TargetIndex) -> types_pb2.TargetIndex:
    return to_message(types_pb2.TargetIndex, index, searches=[_from_recall(one) for one in index.searches])


def _to_recall(message: types_pb2.SearchRecall) -> SearchRecall:
    live = to_value(LiveFigure, message.live) if message.HasField("live") else None
    return to_value(SearchRecall, message, live=live)


def _from_recall(recall: SearchRecall) -> types_pb2.SearchRecall:
    live = None if recall.live is None else to_message(types_pb2.LiveFigure, recall.live)
    return to_message(types_pb2.SearchRecall, recall, live=live)


def to_collection(message: collections_pb2.Collection) -> CollectionInfo:
    """Return the description of a collection."""
    return to_value(
        CollectionInfo,
        message,
        name=parse_collection(message.name),
        views=tuple(to_value(ViewInfo, view) for view in message.views),
        spaces=tuple(map(to_space, message.spaces)),
        created=to_time(message.create_time),
    )


def from_collection(info: CollectionInfo) -> collections_pb2.Collection:
    """Return the message of the description of a collection."""
    return to_message(
        collections_pb2.Collection,
        info,
        name=collection_name(info.name),
        views=[to_message(types_pb2.View, view) for view in info.views],
        spaces=[from_space(info.name, space) for space in info.spaces],
        create_time=from_time(info.created),
    )


def to_threshold(message: types_pb2.Threshold) -> Threshold:
    """Return the threshold of a message."""
    return to_value(Threshold, message, created=to_time(message.create_time))


def from_threshold(threshold: Threshold) -> types_pb2.Threshold:
    """Return the message of a threshold."""
    return to_message(types_pb2.Threshold, threshold, create_time=from_time(threshold.created))


def to_time(message: Timestamp) -> str:
    """Return the time of a message as ISO 8601, UTC."""
    return message.ToDatetime(tzinfo=UTC).isoformat()


def from_time(text: str) -> Timestamp:
    """Return the message of an ISO 8601 time."""
    message = Timestamp()
    message.FromDatetime(datetime.fromisoformat(text))
    return message
