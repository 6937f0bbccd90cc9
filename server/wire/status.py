"""Conversion of errors to statuses and back: one table for all transports, for the dispatcher and the clients.

A busy collection is ABORTED, not UNAVAILABLE: the server works, but other writers hold the collection for too long.
UNAVAILABLE means that the server is unreachable, and clients retry it automatically.
"""

import errno
import logging
import sqlite3
import uuid
from dataclasses import dataclass
from enum import IntEnum

from google.rpc import error_details_pb2, status_pb2

from crossview.engine.values import errors
from crossview.features import errors as image_errors
from crossview.features.errors import Text
from crossview.server.wire import errors as server_errors
from crossview.server.wire.errors import (
    DeadlineExceededError,
    NotServedError,
    OverloadedError,
    PermissionDeniedError,
    ServerFaultError,
    ServerStoppedError,
    ServerUnavailableError,
    UnauthenticatedError,
)
from crossview.server.wire.fields import remedies_of, text_of
from crossview.server.wire.remedies import for_programs
from crossview.v1.types_pb2 import Remedy

Code = IntEnum(
    "Code",
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
    "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
    "UNAUTHENTICATED",
    start=0,
)
"""The codes of ``google.rpc.Code``, which gRPC and Connect share by name and number."""
ERROR_KEY = "crossview-error"
"""Key of the trailing metadata with the name of the error's class, so that a client can raise the same error."""
MESSAGE_LIMIT = 1200
"""Maximum bytes of a status message. A response contains it up to three times: percent encoding can triple one copy,
base64 makes the others a third longer, and gRPC limits all metadata to 8 KiB."""
_PYTHON = "python"
"""Key of the message with remedies in Python, in ``google.rpc.ErrorInfo``, if it differs from that of the status."""
_REMEDIES_BYTES = 500
"""Maximum size of the remedies of a status, by the same limit of gRPC; larger ones stay Python in the message."""
DOMAIN = "crossview"
"""The domain of the names of errors in ``google.rpc.ErrorInfo``."""
DETAILS_KEY = "grpc-status-details-bin"
"""Key of the trailing metadata with the status and its details."""
_RETRY_BUSY = 1.0
"""Time after which a client should retry a call on a busy collection."""

STATUSES: tuple[tuple[type[Exception], Code], ...] = (
    (errors.NotFoundError, Code.NOT_FOUND),
    (errors.AlreadyExistsError, Code.ALREADY_EXISTS),
    (errors.InvalidInputError, Code.INVALID_ARGUMENT),
    (image_errors.ImageError, Code.INVALID_ARGUMENT),
    (errors.NotReadyError, Code.FAILED_PRECONDITION),
    (errors.ModelError, Code.FAILED_PRECONDITION),
    (errors.ExtractorError, Code.FAILED_PRECONDITION),
    (errors.NotInstalledError, Code.FAILED_PRECONDITION),
    (errors.NotEnoughMemoryError, Code.RESOURCE_EXHAUSTED),
    (errors.BusyError, Code.ABORTED),
    (OverloadedError, Code.RESOURCE_EXHAUSTED),
    (UnauthenticatedError, Code.UNAUTHENTICATED),
    (PermissionDeniedError, Code.PERMISSION_DENIED),
    (ServerStoppedError, Code.UNAVAILABLE),
    (errors.EngineUnavailableError, Code.UNAVAILABLE),
    (errors.EngineFullError, Code.RESOURCE_EXHAUSTED),
    (NotServedError, Code.UNIMPLEMENTED),
    (DeadlineExceededError, Code.DEADLINE_EXCEEDED),
    (errors.CancelledError, Code.CANCELLED),
    (errors.StorageError, Code.INTERNAL),
)
"""The first match counts; any other error is an INTERNAL fault of the server. A full disk is RESOURCE_EXHAUSTED."""

BY_NAME: dict[str, type[Exception]] = {
    cls.__name__: cls
    for module in (errors, image_errors, server_errors)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, errors.CrossviewError)
}
"""The errors that a server names in its statuses."""
BY_CODE: dict[Code, type[Exception]] = {
    Code.UNAVAILABLE: ServerUnavailableError,
    Code.INTERNAL: ServerFaultError,
    **{code: cls for cls, code in reversed(STATUSES) if cls is not errors.StorageError},  # the first of a code stays
    Code.RESOURCE_EXHAUSTED: errors.InvalidInputError,  # gRPC itself refuses messages above its limit with it
}
"""The error that a client raises for a status without a known name."""
_log = logging.getLogger("crossview.server")


def status_of(error: Exception) -> Code | None:
    """Return the status of an error that a user can cause; None for any other."""
    if isinstance(error, errors.StorageError) and _disk_full(error):
        return Code.RESOURCE_EXHAUSTED
    return next((code for cls, code in STATUSES if isinstance(error, cls)), None)


def _disk_full(error: BaseException | None) -> bool:
    """Return whether the error, or one that caused it, reports a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return True
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return True
        error = getattr(error, "orig", None) or error.__cause__  # SQLAlchemy keeps the error of SQLite in orig
    return False


@dataclass(frozen=True)
class Refusal:
    """The end of a failed call; clients never get a traceback or the code UNKNOWN."""

    code: Code
    message: str
    """A ``Text``, with remedies in Python."""
    error_name: str
    """Name of the class that a client raises."""
    retry_seconds: float | None

    @property
    def worded(self) -> str:
        """The message with names of methods and fields as remedies, for programs in any language."""
        return _short(for_programs(self.message))

    @property
    def status(self) -> status_pb2.Status:
        """The status message, with details for programs: the error's name and remedies, and when to retry."""
        status, info = status_pb2.Status(code=self.code.value, message=self.worded), error_details_pb2.ErrorInfo()
        info.reason, info.domain = self.error_name, DOMAIN
        if status.message != self.message:
            info.metadata[_PYTHON] = self.message
        status.details.add().Pack(info)
        remedies = remedies_of([self.message])
        for remedy in remedies if sum(remedy.ByteSize() for remedy in remedies) <= _REMEDIES_BYTES else ():
            status.details.add().Pack(remedy)
        if self.retry_seconds is not None:
            after = error_details_pb2.RetryInfo()
            after.retry_delay.FromMilliseconds(round(1000 * self.retry_seconds))
            status.details.add().Pack(after)
        return status


def refusal(error: Exception, error_id: str = "") -> Refusal:
    """Return the refusal of a failed call; log an unexpected error, and send only its id [default: a random one].

    Details of other errors (paths, processes and commands) also go only to the log.
    """
    code = status_of(error)
    if code is None:
        error_id = error_id or uuid.uuid4().hex[:12]
        _log.error("error %s", error_id, exc_info=error)
        message = f"the server failed unexpectedly; its log explains error {error_id}"
        return Refusal(Code.INTERNAL, message, ServerFaultError.__name__, None)
    message = str(error)
    if isinstance(error, errors.CrossviewError) and error.detail is not None:
        message = error.message
    if code is Code.INTERNAL:
        _log.error("%s", error, exc_info=error)
    elif message != str(error):
        _log.warning("%s", error)
    retry = _RETRY_BUSY if isinstance(error, errors.BusyError) else getattr(error, "retry_seconds", None)
    message = Text.of(_short(message), getattr(message, "remedies", ()))
    return Refusal(code, message, _known_name(type(error)), retry)


def error_in(status: status_pb2.Status) -> Exception:
    """Return the error of a status message, such as that of one message of a stream."""
    info = _info(status)
    if info.reason in BY_NAME:
        return error_named(info.reason, message_in(status), retry_delay(status))
    code = Code(status.code) if status.code in set(Code) else Code.UNKNOWN
    return BY_CODE.get(code, ServerFaultError)(status.message)


def message_in(status: status_pb2.Status) -> Text:
    """Return the message with its remedies, in Python."""
    remedies = [remedy for detail in status.details if detail.Unpack(remedy := Remedy())]
    return text_of(_info(status).metadata.get(_PYTHON, status.message), remedies)


def with_message(status: status_pb2.Status, message: Text) -> status_pb2.Status:
    """Return the status of an error with another message."""
    return Refusal(Code(status.code), message, _info(status).reason, retry_delay(status)).status


def _info(status: status_pb2.Status) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    return next((info for detail in status.details if detail.Unpack(info)), info)


def error_named(name: str, message: str, retry_seconds: float | None) -> Exception:
    """Return an error of the class with this name in BY_NAME."""
    if name == OverloadedError.__name__:
        return OverloadedError(message, retry_seconds or 0.0)
    return BY_NAME[name](message)


def retry_delay(status: status_pb2.Status) -> float | None:
    """Return the time to wait before a retry, in seconds; None if the status does not state it."""
    retry = error_details_pb2.RetryInfo()
    return next((retry.retry_delay.ToMilliseconds() / 1000 for detail in status.details if detail.Unpack(retry)), None)


def _known_name(cls: type[Exception]) -> str:
    """Return the name of the most specific class of the error that clients know."""
    return next(base.__name__ for base in cls.__mro__ if base.__name__ in BY_NAME)


def _short(message: str) -> str:
    return message.encode(errors="replace")[:MESSAGE_LIMIT].decode(errors="ignore")
