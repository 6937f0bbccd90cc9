"""Conversion of the requests of jobs to messages, and of operations to jobs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from google.longrunning.operations_pb2 import Operation

from crossview.engine.values.evaluation import Evaluation
from crossview.engine.values.info import Threshold, ViewInfo
from crossview.engine.values.item import ImportReport, one_or_several
from crossview.engine.values.map import MapInfo
from crossview.engine.values.recipe import Recipe
from crossview.server.client.job import Job, Result
from crossview.server.wire.convert import to_message, to_space, to_value
from crossview.server.wire.names import collection_name, parse_collection, parse_operation, space_name
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import maps_pb2, types_pb2
from crossview.v1.jobs_pb2 import JobMetadata


def from_training(collection: str, recipe: Recipe, space: str | None, activate: bool | None) -> pb.TrainRequest:
    """Return the message of a training."""
    return to_message(
        pb.TrainRequest, recipe, parent=collection_name(collection), space_id=space or "", activate=activate
    )


def from_extension(
    collection: str, space: str, views: Sequence[str], name: str | None, activate: bool | None
) -> pb.ExtendSpaceRequest:
    """Return the message that adds views to a space."""
    resource = space_name(collection, space)
    return pb.ExtendSpaceRequest(name=resource, views=one_or_several(views), space_id=name or "", activate=activate)


def from_assignment(collection: str, space: str, label: str, activate: bool | None) -> pb.AssignLabelRequest:
    """Return the message that assigns a metric to a label."""
    return pb.AssignLabelRequest(name=space_name(collection, space), label=label, activate=activate)


def from_reindexing(
    collection: str, space: str, *, index: str, recall: float, vectors: str, targets: Sequence[str]
) -> pb.ReindexSpaceRequest:
    """Return the message that builds the indexes of a space in a kind."""
    return pb.ReindexSpaceRequest(
        parent=collection_name(collection),
        space=space,
        index=index,
        recall=recall,
        vectors=vectors,
        targets=one_or_several(targets),
    )


def to_job(operation: Operation) -> Job:
    """Return the job of an operation."""
    metadata = JobMetadata()
    operation.metadata.Unpack(metadata)
    return to_value(
        Job,
        metadata,
        id=parse_operation(operation.name),
        collection=parse_collection(metadata.collection),
        error=operation.error.message,
        result=_to_result(operation.response) if operation.HasField("response") else None,
    )


_RESULTS: Sequence[tuple[Any, Callable[[Any], Result]]] = (
    (types_pb2.Space, to_space),
    (types_pb2.Threshold, partial(to_value, Threshold)),
    (pb.Evaluation, partial(to_value, Evaluation)),
    (pb.ImportItemsResponse, partial(to_value, ImportReport)),
    (maps_pb2.Map, partial(to_value, MapInfo)),
    (pb.FitViewsResponse, lambda response: tuple(to_value(ViewInfo, view) for view in response.views)),
)


def _to_result(packed: Any) -> Result:
    """Return the value of the message in an ``Any``."""
    for kind, convert in _RESULTS:
        message = kind()
        if packed.Unpack(message):
            return convert(message)
    return ()  # the result of a method that only a later version of the server has
