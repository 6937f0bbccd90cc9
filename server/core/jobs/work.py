"""The work of each kind of job: calls the engine for a request, and returns the response of its method."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from crossview.engine.collections.collection import Collection
from crossview.engine.runtime.progress import Progress
from crossview.engine.values.errors import Argument, InvalidInputError
from crossview.engine.values.index_choice import AUTO, RECALL, VECTORS
from crossview.engine.values.map import MapRequest
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.core.jobs.operation import kind_of
from crossview.server.wire.convert import (
    activates,
    from_map,
    from_space,
    readable_entries,
    to_evaluation_request,
    to_message,
    to_new_item,
    to_picture,
    to_value,
)
from crossview.server.wire.names import parse_space
from crossview.server.wire.settings import MESSAGE_BYTES
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import maps_pb2, types_pb2
from crossview.v1.jobs_pb2 import SubmitJobRequest


def carry_out(collection: Collection, request: SubmitJobRequest, progress: Progress) -> Message:
    """Run a request and return its response; raise the errors of the engine. A new generation stores the request id."""
    kind = kind_of(request)
    return _WORK[kind](collection, getattr(request, kind), request.request_id, progress)


def index(collection: Collection, folder: Path, progress: Progress) -> Message:
    """Index the pictures of a folder of this machine; return the response of an import."""
    return to_message(pb.ImportItemsResponse, collection.index([folder], progress=progress))


def _train(collection: Collection, request: pb.TrainRequest, job: str, progress: Progress) -> Message:
    space, activate = request.space_id or None, activates(request)
    recipe = to_value(Recipe, request)
    info = collection.train(recipe, space=space, activate=activate, progress=progress, request_id=job)
    return from_space(collection.name, info)


def _extend(collection: Collection, request: pb.ExtendSpaceRequest, job: str, progress: Progress) -> Message:
    info = collection.spaces.extend(
        parse_space(request.name)[1],
        tuple(request.views),
        name=request.space_id or None,
        activate=activates(request),
        progress=progress,
        request_id=job,
    )
    return from_space(collection.name, info)


def _assign(collection: Collection, request: pb.AssignLabelRequest, job: str, progress: Progress) -> Message:
    space, activate = parse_space(request.name)[1], activates(request)
    return from_space(
        collection.name, collection.spaces.assign(space, request.label, activate=activate, request_id=job)
    )


def _reindex(collection: Collection, request: pb.ReindexSpaceRequest, job: str, progress: Progress) -> Message:
    info = collection.spaces.reindex(
        request.space,
        index=request.index or AUTO,
        recall=request.recall if request.HasField("recall") else RECALL,
        vectors=request.vectors or VECTORS[0],
        targets=tuple(request.targets),
        progress=progress,
    )
    return from_space(collection.name, info)


def _calibrate(collection: Collection, request: pb.CalibrateSpaceRequest, job: str, progress: Progress) -> Message:
    threshold = collection.spaces.calibrate(to_value(CalibrationRequest, request), progress=progress)
    return to_message(types_pb2.Threshold, threshold)


def _evaluate(collection: Collection, request: pb.EvaluateRequest, job: str, progress: Progress) -> Message:
    evaluation = collection.evaluate(to_evaluation_request(request), progress=progress)
    message = to_message(pb.Evaluation, evaluation)
    if (size := message.ByteSize()) > MESSAGE_BYTES:
        raise InvalidInputError(
            f"the figures and hits of each query take {size:,} bytes, and a message at most {MESSAGE_BYTES:,}: "
            "measure fewer spaces, targets and databases, lower ",
            Argument("max_queries"),
            " or ",
            Argument("hits"),
            ", or evaluate without a server",
        )
    return message


def _map(collection: Collection, request: maps_pb2.MakeMapRequest, job: str, progress: Progress) -> Message:
    return from_map(collection.maps.make(to_value(MapRequest, request), progress=progress))


def _fit(collection: Collection, request: pb.FitViewsRequest, job: str, progress: Progress) -> Message:
    pictures, views = map(to_picture, request.pictures), tuple(request.views) or None
    fitted = collection.views.fit(pictures, views=views, seed=request.seed, refit=request.refit)
    return pb.FitViewsResponse(views=[to_message(types_pb2.View, view) for view in fitted])


def _import(collection: Collection, request: pb.ImportItemsRequest, job: str, progress: Progress) -> Message:
    items, failures = readable_entries(request.items, to_new_item)
    response = to_message(pb.ImportItemsResponse, collection.items.put(items))
    response.failures.extend(to_message(types_pb2.Failure, failure) for failure in failures)
    return response


_WORK: Mapping[str, Callable[[Collection, Any, str, Progress], Message]] = {
    "train": _train,
    "extend_space": _extend,
    "assign_label": _assign,
    "reindex_space": _reindex,
    "calibrate_space": _calibrate,
    "evaluate": _evaluate,
    "make_map": _map,
    "fit_views": _fit,
    "import_items": _import,
}
