"""The state of a job: a ``google.longrunning.Operation`` whose metadata is a JobMetadata."""

import hashlib
import re
import uuid

from google.longrunning.operations_pb2 import Operation
from google.protobuf.any_pb2 import Any
from google.rpc.status_pb2 import Status

from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.dispatch.origin import NO_ORIGIN, Origin
from crossview.server.wire.convert_conditions import to_filter
from crossview.server.wire.names import (
    collection_name,
    job_id,
    operation_name,
    parse_collection,
    parse_space,
    space_name,
)
from crossview.v1.jobs_pb2 import JobMetadata, SubmitJobRequest
from crossview.v1.types_pb2 import Filter

LOG_LINES = 100
"""Number of latest steps with a note that a job keeps."""
CANCELLED = 1
"""The value of CANCELLED in ``google.rpc.Code``."""
_ID = re.compile(r"[a-zA-Z0-9._-]{1,63}")


def kind_of(request: SubmitJobRequest) -> str:
    """Return the name of the field that a request sets; raise InvalidInputError if it sets none."""
    kind = request.WhichOneof("request")
    if kind is None:
        raise InvalidInputError("the job has no request: set one, such as train")
    return str(kind)


def collection_of(request: SubmitJobRequest) -> str:
    """Return the collection that a request names; raise InvalidInputError if it names none."""
    inner = getattr(request, kind_of(request))
    if "parent" in inner.DESCRIPTOR.fields_by_name:
        return parse_collection(inner.parent)
    return parse_space(inner.name)[0]


def in_collection(request: SubmitJobRequest, collection: str) -> SubmitJobRequest:
    """Return a request that names a collection instead of its alias."""
    copy = SubmitJobRequest()
    copy.CopyFrom(request)
    inner = getattr(copy, kind_of(copy))
    if "parent" in inner.DESCRIPTOR.fields_by_name:
        inner.parent = collection_name(collection)
    else:
        inner.name = space_name(collection, parse_space(inner.name)[1])
    return copy


def check_conditions(request: SubmitJobRequest) -> None:
    """Raise InvalidInputError for a condition that cannot be read, PermissionDeniedError for one on hidden fields."""
    inner = getattr(request, kind_of(request))
    for field in inner.DESCRIPTOR.fields:
        if field.message_type is Filter.DESCRIPTOR and inner.HasField(field.name):
            to_filter(getattr(inner, field.name))


def new_operation(request: SubmitJobRequest, origin: Origin = NO_ORIGIN, key: str = "") -> Operation:
    """Return the operation of a new request of a call, in the state waiting; InvalidInputError for an invalid id.

    ``key`` is the id of the caller's key, to which an id of the caller's choice belongs.
    """
    inner = getattr(request, kind_of(request))
    request_id = request.request_id or getattr(inner, "request_id", "")
    if request_id and not _ID.fullmatch(request_id):
        raise InvalidInputError(
            f"{request_id!r} cannot name a request: use 1 to 63 of a-z, A-Z, 0-9, '.', '_' and '-', such as a UUID"
        )
    operation = Operation(name=operation_name(job_id(request_id, key) if request_id else uuid.uuid4().hex))
    metadata = JobMetadata(
        kind=kind_of(request),
        collection=collection_name(collection_of(request)),
        state=JobMetadata.STATE_WAITING,
        request_id=request_id,
        call_id=origin.call_id,
        traceparent=origin.trace.traceparent,
        tracestate=origin.trace.tracestate,
    )
    metadata.create_time.GetCurrentTime()
    operation.metadata.Pack(metadata)
    return operation


def digest(request: SubmitJobRequest) -> bytes:
    """Return a digest of a request without its id, to recognise repeated requests."""
    kind = kind_of(request)
    inner = type(getattr(request, kind))()
    inner.CopyFrom(getattr(request, kind))
    if "request_id" in inner.DESCRIPTOR.fields_by_name:
        inner.ClearField("request_id")
    return hashlib.blake2b(kind.encode() + b"\0" + inner.SerializeToString(deterministic=True)).digest()


def metadata_of(operation: Operation) -> JobMetadata:
    """Return the metadata of an operation."""
    metadata = JobMetadata()
    operation.metadata.Unpack(metadata)
    return metadata


def begin(operation: Operation) -> None:
    """Set the state to running, and the start time."""
    metadata = metadata_of(operation)
    metadata.state = JobMetadata.STATE_RUNNING
    metadata.start_time.GetCurrentTime()
    operation.metadata.Pack(metadata)


def advance(operation: Operation, steps: list[JobMetadata.Progress]) -> None:
    """Add the latest steps to the progress and the log of a job."""
    metadata = metadata_of(operation)
    noted = [step for step in steps if step.note]
    log = [*metadata.log, *noted][-LOG_LINES:]
    del metadata.log[:]
    metadata.log.extend(log)
    metadata.logged += len(noted)
    metadata.progress.CopyFrom(steps[-1])
    operation.metadata.Pack(metadata)


def end(operation: Operation, outcome: Status | Any) -> None:
    """Set the end of a job: an error Status, or the response of its method."""
    metadata = metadata_of(operation)
    if isinstance(outcome, Status):
        metadata.state = JobMetadata.STATE_CANCELLED if outcome.code == CANCELLED else JobMetadata.STATE_FAILED
        operation.error.CopyFrom(outcome)
    else:
        metadata.state = JobMetadata.STATE_DONE
        operation.response.CopyFrom(outcome)
    metadata.end_time.GetCurrentTime()
    operation.metadata.Pack(metadata)
    operation.done = True
