"""Conversion of the requests of jobs to messages, and of operations to jobs."""

from collections.abc import Sequence

from google.longrunning.operations_pb2 import Operation
from google.protobuf.any_pb2 import Any
from google.protobuf.timestamp_pb2 import Timestamp

from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.info import ViewInfo
from crossview.engine.values.item import one_or_several
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.job import Job, JobStep, Result
from crossview.server.wire.convert import to_report
from crossview.server.wire.convert_evaluation import from_evaluation_request, to_evaluation
from crossview.server.wire.convert_info import to_space, to_threshold, to_time
from crossview.server.wire.convert_maps import to_map
from crossview.server.wire.convert_training import from_calibration, from_recipe
from crossview.server.wire.fields import enum_text, to_value
from crossview.server.wire.names import collection_name, parse_collection, parse_operation, space_name
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import maps_pb2, types_pb2
from crossview.v1.jobs_pb2 import JobMetadata


def from_training(collection: str, recipe: Recipe, space: str | None, activate: bool | None) -> pb.TrainRequest:
    """Return the message of a training."""
    request = from_recipe(recipe)
    request.parent, request.space_id = collection_name(collection), space or ""
    if activate is not None:
        request.activate = activate
    return request


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


def from_calibration_of(collection: str, request: CalibrationRequest) -> pb.CalibrateSpaceRequest:
    """Return the message of a calibration of a space of a collection."""
    message = from_calibration(request)
    message.parent = collection_name(collection)
    return message


def from_evaluation_of(collection: str, request: EvaluationRequest) -> pb.EvaluateRequest:
    """Return the message of an evaluation of a collection."""
    message = from_evaluation_request(request)
    message.parent = collection_name(collection)
    return message


def to_job(operation: Operation) -> Job:
    """Return the job of an operation."""
    metadata = JobMetadata()
    operation.metadata.Unpack(metadata)
    return Job(
        id=parse_operation(operation.name),
        kind=metadata.kind,
        collection=parse_collection(metadata.collection),
        state=enum_text(JobMetadata.DESCRIPTOR.fields_by_name["state"], metadata.state),
        cancelling=metadata.cancelling,
        progress=to_value(JobStep, metadata.progress) if metadata.HasField("progress") else None,
        log=tuple(to_value(JobStep, step) for step in metadata.log),
        logged=metadata.logged,
        created=_to_time(metadata.create_time),
        started=_to_time(metadata.start_time),
        ended=_to_time(metadata.end_time),
        error=operation.error.message,
        call_id=metadata.call_id,
        traceparent=metadata.traceparent,
        result=_to_result(operation.response) if operation.HasField("response") else None,
    )


def _to_time(message: Timestamp) -> str:
    return to_time(message) if message.seconds else ""


def _to_result(packed: Any) -> Result:
    space, evaluation, report = types_pb2.Space(), pb.Evaluation(), pb.ImportItemsResponse()
    if packed.Unpack(space):
        return to_space(space)
    threshold = types_pb2.Threshold()
    if packed.Unpack(threshold):
        return to_threshold(threshold)
    if packed.Unpack(evaluation):
        return to_evaluation(evaluation)
    if packed.Unpack(report):
        return to_report(report)
    made = maps_pb2.Map()
    if packed.Unpack(made):
        return to_map(made)
    views = pb.FitViewsResponse()
    packed.Unpack(views)
    return tuple(to_value(ViewInfo, view) for view in views.views)
