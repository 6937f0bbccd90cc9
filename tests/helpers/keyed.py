"""Calls of a server with a key, of any method, made from its descriptor."""

from typing import Any

import grpc
from google.longrunning import operations_pb2
from google.protobuf.message import Message

from crossview.server.wire.methods import JOBS, METHODS, Method
from crossview.v1 import duplicates_pb2, jobs_pb2, names_pb2

OPERATIONS = "google.longrunning.Operations"


def requests_naming(method: Method, name: str, own: str, new: str) -> list[Message]:
    """Return the requests of a method that name a collection, in each field that can; others name ``own``, ``new``."""
    request = method.request()
    fields = request.DESCRIPTOR.fields_by_name
    if method.request is jobs_pb2.SubmitJobRequest:
        return [packed(kind, one) for kind, job in JOBS.items() for one in requests_naming(job, name, own, new)]
    if method.service == OPERATIONS:
        return [method.request(filter=f"collection={name}")] if "filter" in fields else []
    if method.request is names_pb2.SetAliasRequest:
        named = names_pb2.Alias(alias_id=new, collection=f"collections/{name}")
        return [method.request(alias=named)]
    found: list[Any] = []
    if "parent" in fields:
        found.append(method.request(parent=f"collections/{name}"))
    elif "name" in fields:
        found.append(method.request(name=f"collections/{name}{below(method)}"))
        if "collection_id" in fields:
            found[0].collection_id = new
    if "search" in fields:
        found.append(method.request(parent=f"collections/{own}", search={"parent": f"collections/{name}"}))
    if method.request is duplicates_pb2.FindDuplicatesRequest:
        found.append(method.request(parent=f"collections/{own}", against=name))
    return found


def below(method: Method) -> str:
    """Return the part of the name of a request after the collection, such as an item."""
    if method.name in ("GetItem", "DeleteItem", "GetThumbnail"):
        return "/items/a"
    return "/spaces/raw" if "Space" in method.name or method.name == "AssignLabel" else ""


def packed(kind: str, request: Message) -> jobs_pb2.SubmitJobRequest:
    """Return a request as a job."""
    made = jobs_pb2.SubmitJobRequest()
    getattr(made, kind).CopyFrom(request)
    return made


def called(
    channel: grpc.Channel, method: Method, request: Message, key: str | None
) -> tuple[grpc.StatusCode, str, Any]:
    """Return the status, the message and the response of a call; a stream has one message."""
    metadata = () if key is None else (("authorization", f"Bearer {key}"),)
    streams = "stream" if method.streams else "unary"
    answers = "stream" if method.descriptor.server_streaming else "unary"
    call = getattr(channel, f"{streams}_{answers}")(
        method.path, type(request).SerializeToString, method.response.FromString
    )
    try:
        response = call(iter([request]) if method.streams else request, metadata=metadata, timeout=300)
        if method.descriptor.server_streaming:
            (response,) = response
            if response.HasField("error"):
                (code,) = [one for one in grpc.StatusCode if one.value[0] == response.error.code]
                return code, response.error.message, None
    except grpc.RpcError as error:
        return error.code(), error.details() or "", None
    return grpc.StatusCode.OK, "", response


def operation_requests(job: str) -> dict[Method, Message]:
    """Return the requests on one job."""
    name = f"operations/{job}"
    made = {
        "GetOperation": operations_pb2.GetOperationRequest(name=name),
        "WaitOperation": operations_pb2.WaitOperationRequest(name=name),
        "CancelOperation": operations_pb2.CancelOperationRequest(name=name),
        "DeleteOperation": operations_pb2.DeleteOperationRequest(name=name),
    }
    return {METHODS[f"/{OPERATIONS}/{one}"]: request for one, request in made.items()}
