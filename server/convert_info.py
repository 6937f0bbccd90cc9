"""Descriptions of collections, views and spaces as messages and back."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from engine.info import (
    CollectionInfo,
    ConstraintCounts,
    SpaceInfo,
    Trial,
    Tuning,
    ViewInfo,
)
from server.names import collection_name, parse_collection, parse_space, space_name
from server.pb.crossview.v1 import collections_pb2, types_pb2
from server.structs import from_struct, to_struct

_VALUES = (
    "generation",
    "active",
    "spec",
    "cross_view",
    "seed",
    "trained_items",
    "held_out",
    "pairs",
    "binary",
    "rerank",
)
_LISTS = ("views", "targets", "generations", "added", "notes")
"""Fields of a space that its message has under the same names."""


def to_view(message: types_pb2.View) -> ViewInfo:
    """The description of a view."""
    return ViewInfo(
        name=message.name,
        extractor=message.extractor,
        params=from_struct(message.params),
        dim=message.dim,
        revision=message.revision,
        fitted=message.fitted,
    )


def from_view(view: ViewInfo) -> types_pb2.View:
    """The message of a view."""
    return types_pb2.View(
        name=view.name,
        extractor=view.extractor,
        params=to_struct(view.params),
        dim=view.dim,
        revision=view.revision,
        fitted=view.fitted,
    )


def to_space(message: types_pb2.Space) -> SpaceInfo:
    """The description of a space."""
    same: dict[str, Any] = {name: getattr(message, name) for name in _VALUES}
    same |= {name: tuple(getattr(message, name)) for name in _LISTS}
    return SpaceInfo(
        name=parse_space(message.name)[1],
        dim={target: message.dims[target] for target in message.targets},
        settings=from_struct(message.settings),
        created=_to_time(message.create_time),
        tuning=to_tuning(message.tuning) if message.HasField("tuning") else None,
        constraints=to_constraint_counts(message.constraints) if message.HasField("constraints") else None,
        **same,
    )


def from_space(collection: str, space: SpaceInfo) -> types_pb2.Space:
    """The message of a space of a collection."""
    return types_pb2.Space(
        name=space_name(collection, space.name),
        dims=space.dim,
        settings=to_struct(space.settings),
        create_time=_from_time(space.created),
        tuning=None if space.tuning is None else from_tuning(space.tuning),
        constraints=None if space.constraints is None else types_pb2.ConstraintCounts(**asdict(space.constraints)),
        **{name: getattr(space, name) for name in (*_VALUES, *_LISTS)},
    )


def to_constraint_counts(message: types_pb2.ConstraintCounts) -> ConstraintCounts:
    """How many comparisons a space learned from."""
    return ConstraintCounts(message.kind, message.given, message.held_out, dict(sorted(message.used.items())))


def to_tuning(message: types_pb2.Tuning) -> Tuning:
    """How settings were chosen."""
    tried = tuple(
        Trial(from_struct(trial.settings), trial.score if trial.HasField("score") else None, trial.error)
        for trial in message.tried
    )
    return Tuning(
        measure=message.measure,
        folds=message.folds,
        items=message.items,
        score=message.score,
        chosen=from_struct(message.chosen),
        tried=tried,
    )


def from_tuning(tuning: Tuning) -> types_pb2.Tuning:
    """The message of how settings were chosen."""
    return types_pb2.Tuning(
        measure=tuning.measure,
        folds=tuning.folds,
        items=tuning.items,
        score=tuning.score,
        chosen=to_struct(tuning.chosen),
        tried=(
            types_pb2.Tuning.Trial(settings=to_struct(trial.settings), score=trial.score, error=trial.error)
            for trial in tuning.tried
        ),
    )


def to_collection(message: collections_pb2.Collection) -> CollectionInfo:
    """The description of a collection."""
    return CollectionInfo(
        name=parse_collection(message.name),
        description=message.description,
        items=message.items,
        views=tuple(map(to_view, message.views)),
        spaces=tuple(map(to_space, message.spaces)),
        active_space=message.active_space,
        labels=dict(sorted(message.labels.items())),
        sequence=message.sequence,
        bytes_on_disk=message.bytes_on_disk,
        created=_to_time(message.create_time),
    )


def from_collection(info: CollectionInfo) -> collections_pb2.Collection:
    """The message of the description of a collection."""
    return collections_pb2.Collection(
        name=collection_name(info.name),
        description=info.description,
        items=info.items,
        views=map(from_view, info.views),
        spaces=(from_space(info.name, space) for space in info.spaces),
        active_space=info.active_space,
        labels=info.labels,
        sequence=info.sequence,
        bytes_on_disk=info.bytes_on_disk,
        create_time=_from_time(info.created),
    )


def _to_time(message: Timestamp) -> str:
    return message.ToDatetime(tzinfo=UTC).isoformat()


def _from_time(text: str) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(datetime.fromisoformat(text))
    return message
