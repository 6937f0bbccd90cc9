"""The checks of a request by the key of its caller, and the parts of a response that the caller may see."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from google.longrunning import operations_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from crossview.server.wire.errors import PermissionDeniedError
from crossview.server.wire.identity import Identity
from crossview.server.wire.methods import JOBS, Method
from crossview.server.wire.status import message_in, with_message
from crossview.v1 import collections_pb2, duplicates_pb2, jobs_pb2, questions_pb2

_NAMES = frozenset({"parent", "collection", "collection_id", "alias_id", "against"})
"""The fields that name a collection or an alias, in every message of a request."""
_BARE = frozenset({"collection_id", "alias_id", "against"})
"""Those of them that are the name itself; the others are resource names."""
_NAME = "name"
"""The field that names a collection, or something in it, only in a request itself."""
_OPERATIONS = operations_pb2.DESCRIPTOR.package
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\|file:")
"""The beginning of an absolute path, of any system."""
_WINDOWS = re.compile(r"[A-Za-z]:\\|\\\\")
"""The beginning of an absolute path of Windows; elsewhere, a name may contain a backslash."""
_PERSONS: dict[type[Message], Callable[[Any], Message]] = {
    questions_pb2.NextQuestionRequest: lambda request: request,
    questions_pb2.AddAnswerRequest: lambda request: request.answer,
    questions_pb2.UndoAnswerRequest: lambda request: request,
    questions_pb2.JudgeRequest: lambda request: request,
    questions_pb2.UndoJudgementRequest: lambda request: request,
    duplicates_pb2.JudgePairRequest: lambda request: request.judgement,
    duplicates_pb2.UndoPairJudgementRequest: lambda request: request,
}
"""The message with the ``person`` of a request who answers or judges."""


def permit(identity: Identity, method: Method, request: Any) -> None:
    """Check that a caller may make a decoded request, and enter its name as the person who answers or judges.

    Raises the NotFoundError of a missing collection for one that the caller does not reach, PermissionDeniedError for
    a job that the scope does not allow.
    """
    check_scope(identity, method)
    if isinstance(request, jobs_pb2.SubmitJobRequest):
        kind = request.WhichOneof("request")
        if kind is not None:
            check_scope(identity, JOBS[kind])
    if identity.collections is not None:
        for name in named_collections(request):
            identity.check_reaches(name)
    _check_paths(identity, request)
    holder = _PERSONS.get(type(request)) if identity.name else None
    if holder is not None:
        held: Any = holder(request)
        held.person = held.person or identity.name


def _check_paths(identity: Identity, request: Any) -> None:
    """Raise PermissionDeniedError if a caller names items by full paths, which it may not see."""
    by_path = isinstance(request, collections_pb2.UpdateItemsRequest) and request.match_paths and not identity.paths
    if by_path and any(_ABSOLUTE.match(update.key.replace("\\", "/")) for update in request.updates):
        raise PermissionDeniedError(
            f"the key {identity.name!r} sees no paths of files, so it cannot name items by them: name their keys"
        )


def check_scope(identity: Identity, method: Method) -> None:
    """Raise PermissionDeniedError unless a caller has the scope of a method."""
    if not identity.may(method.scope):
        raise PermissionDeniedError(
            f"the key {identity.name!r} has the scope {identity.scope.value!r}, and {method.name} needs "
            f"{method.scope.value!r}: use a key with this scope"
        )


def named_collections(request: Message) -> Iterator[str]:
    """Yield the collections and aliases that a request names, as it names them."""
    for path in collection_fields(request.DESCRIPTOR):
        message: Any = request
        for step in path[:-1]:
            message = getattr(message, step) if message.HasField(step) else None
            if message is None:
                break
        text = "" if message is None else getattr(message, path[-1])
        if text and path[-1] in _BARE:
            yield text
        elif text:
            yield text.removeprefix("collections/").partition("/")[0]


@cache
def collection_fields(request: Descriptor) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the fields of a request that name a collection."""
    if request.file.package == _OPERATIONS:
        return ()  # operations have owners instead
    return tuple(_paths(request, is_request=True))


def _paths(message: Descriptor, is_request: bool, parents: Sequence[Descriptor] = ()) -> Iterator[tuple[str, ...]]:
    for field in message.fields:
        if field.is_repeated:
            continue  # a test holds that no repeated message names a collection
        if field.type == FieldDescriptor.TYPE_STRING and (field.name in _NAMES or (is_request and field.name == _NAME)):
            yield (field.name,)
        below = field.message_type
        if below is not None and below not in parents and below.file.package == message.file.package:
            packed = message is jobs_pb2.SubmitJobRequest.DESCRIPTOR
            yield from ((field.name, *path) for path in _paths(below, packed, (*parents, message)))


def hide(identity: Identity, response: Message) -> None:
    """Remove from a response what its caller may not see: absolute paths, and collections in the errors of jobs.

    Names of the caller's own operations have the ids that it chose.
    """
    for operation in _operations(response):
        operation.name = identity.shown(operation.name)
        if operation.HasField("error"):
            error, message = operation.error, message_in(operation.error)
            if (text := identity.shown(message)) != message:
                error.CopyFrom(with_message(error, text))
    if not identity.paths:
        for holder in _sources(response):
            if _ABSOLUTE.match(holder.source):
                holder.source = relative(holder.source, holder.key)


def relative(source: str, key: str) -> str:
    """Return the absolute path of an item's file from the alias of its root on; only the file's name if it moved.

    The key of an item consists of this alias and the path below the root, so that the key is the answer.
    """
    separator = "\\" if _WINDOWS.match(source) else "/"
    name = source.replace(separator, "/").rpartition("/")[2]
    return key if key.rpartition("/")[2] == name else name


def _operations(response: Message) -> Sequence[Any]:
    if isinstance(response, operations_pb2.Operation):
        return (response,)
    return response.operations if isinstance(response, operations_pb2.ListOperationsResponse) else ()


def _sources(message: Any) -> Iterator[Any]:
    """Yield the messages below a message that have a key and the source of an item."""
    own, below = source_fields(message.DESCRIPTOR)
    if own:
        yield message
    for name, repeated in below:
        if repeated or message.HasField(name):
            for child in getattr(message, name) if repeated else (getattr(message, name),):
                yield from _sources(child)


@cache
def source_fields(message: Descriptor) -> tuple[bool, tuple[tuple[str, bool], ...]]:
    """Return whether a message has a key and a source, and its fields below which others have them.

    A field has a name, and whether it is repeated.
    """
    below = [
        (field.name, field.is_repeated) for field in message.fields if _leads_to_source(field.message_type, (message,))
    ]
    return _has_source(message), tuple(below)


def _has_source(message: Descriptor) -> bool:
    return {"key", "source"} <= set(message.fields_by_name)


def _leads_to_source(message: Descriptor | None, parents: tuple[Descriptor, ...]) -> bool:
    if message is None or message in parents or message.GetOptions().map_entry:
        return False
    path = (*parents, message)
    return _has_source(message) or any(_leads_to_source(field.message_type, path) for field in message.fields)
