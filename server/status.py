"""Errors as gRPC statuses, and back: one table, used by the server's interceptor and by the client.

A busy collection is ABORTED, not UNAVAILABLE: the server works, and others write the collection, longer than a writer
waits. UNAVAILABLE means that the server is gone, and clients retry it automatically.
"""

import errno
import logging
import sqlite3
import uuid
from dataclasses import dataclass
from typing import cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from crossview.engine import errors
from crossview.features import errors as image_errors
from crossview.server import errors as server_errors
from crossview.server.errors import (
    DeadlineExceededError,
    OverloadedError,
    ServerFaultError,
    ServerStoppedError,
    ServerUnavailableError,
)

ERROR_KEY = "crossview-error"
"""Key of the trailing metadata that names the error's class, so that a client can raise the same one."""
MESSAGE_LIMIT = 1500
"""Bytes of a status message, of which there are two: percent encoding triples one at worst, base64 makes the other a
third longer, and gRPC limits all metadata to 8 KiB."""
DOMAIN = "crossview"
"""Of the names of errors in ``google.rpc.ErrorInfo``."""
_DETAILS_KEY = "grpc-status-details-bin"
_RETRY_BUSY = 1.0
"""Seconds after which a collection that others write is worth another try."""
_TOO_MANY = "Concurrent RPC limit"
"""What gRPC itself says of a server with too many calls."""

STATUSES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (errors.NotFoundError, grpc.StatusCode.NOT_FOUND),
    (errors.AlreadyExistsError, grpc.StatusCode.ALREADY_EXISTS),
    (errors.InvalidInputError, grpc.StatusCode.INVALID_ARGUMENT),
    (image_errors.ImageError, grpc.StatusCode.INVALID_ARGUMENT),
    (errors.NotReadyError, grpc.StatusCode.FAILED_PRECONDITION),
    (errors.BusyError, grpc.StatusCode.ABORTED),
    (OverloadedError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (ServerStoppedError, grpc.StatusCode.UNAVAILABLE),
    (errors.CancelledError, grpc.StatusCode.CANCELLED),
    (errors.StorageError, grpc.StatusCode.INTERNAL),
)
"""The first match counts; any other error is an INTERNAL fault of the server. A full disk is RESOURCE_EXHAUSTED."""

_BY_NAME: dict[str, type[Exception]] = {
    cls.__name__: cls
    for module in (errors, image_errors, server_errors)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, errors.CrossviewError)
}
_BY_CODE: dict[grpc.StatusCode, type[Exception]] = {
    grpc.StatusCode.UNAVAILABLE: ServerUnavailableError,
    grpc.StatusCode.INTERNAL: ServerFaultError,
    **{code: cls for cls, code in reversed(STATUSES) if cls is not errors.StorageError},
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.InvalidInputError,
}
_NEVER_SENT = ("failed to connect", "resolving", "resolution")
"""Words of gRPC's message where it found no server. A connection that is cut during a call has the same status."""
_log = logging.getLogger("crossview.server")


def status_of(error: Exception) -> grpc.StatusCode | None:
    """Returns the status of an error that a user can cause; None for any other."""
    if isinstance(error, errors.StorageError) and _disk_full(error):
        return grpc.StatusCode.RESOURCE_EXHAUSTED
    return next((code for cls, code in STATUSES if isinstance(error, cls)), None)


def _disk_full(error: BaseException | None) -> bool:
    """Returns whether the error, or one that caused it, reports a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return True
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return True
        error = getattr(error, "orig", None) or error.__cause__
    return False


def error_of(failure: grpc.RpcError, address: str, method: str, timeout: float | None = None) -> Exception:
    """Returns the error of a failed call, as the engine would have raised it.

    ``timeout`` is how many seconds the call was given.
    """
    call = cast(grpc.Call, failure)  # every RpcError of a channel is a Call too
    code, message = call.code(), call.details() or ""
    named = {key: str(value) for key, value in call.trailing_metadata() or ()}.get(ERROR_KEY, "")
    if named in _BY_NAME:
        return _raised(named, message, _retry_seconds(call))
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and _TOO_MANY in message:
        return OverloadedError(
            f"the server at {address} has more calls than it can take ({message}): try again later", 1.0
        )
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        limit = "the time that a proxy allows" if timeout is None else f"{timeout:g} seconds"
        return DeadlineExceededError(
            f"{method} had no answer from {address} within {limit}. The server gives up its work and undoes what it "
            "has not committed; allow more time, or request less"
        )
    if code is grpc.StatusCode.UNAVAILABLE and any(words in message.lower() for words in _NEVER_SENT):
        return ServerUnavailableError(f"no server at {address}; start one with: crossview serve ({message})")
    if code is grpc.StatusCode.UNAVAILABLE:
        return ServerUnavailableError(
            f"the server at {address} stopped, or the connection was lost, during {method} ({message}). It is "
            "unknown whether a change was made: check before you repeat it"
        )
    return _BY_CODE.get(code, ServerFaultError)(message or f"the server answered with status {code.name}")


@dataclass(frozen=True)
class Refusal:
    """How a call ends with an error: a client never gets a traceback, nor UNKNOWN."""

    code: grpc.StatusCode
    message: str
    error_name: str
    """The class that a client raises."""
    retry_seconds: float | None

    @property
    def status(self) -> status_pb2.Status:
        """The error as a message, with details for programs: what it is called, and when it is worth another try."""
        found = status_pb2.Status(code=self.code.value[0], message=self.message)
        found.details.add().Pack(error_details_pb2.ErrorInfo(reason=self.error_name, domain=DOMAIN))
        if self.retry_seconds is not None:
            after = error_details_pb2.RetryInfo()
            after.retry_delay.FromMilliseconds(round(1000 * self.retry_seconds))
            found.details.add().Pack(after)
        return found

    @property
    def metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """The trailing metadata of a call that ends so."""
        return (ERROR_KEY, self.error_name), (_DETAILS_KEY, self.status.SerializeToString())


def refusal(error: Exception) -> Refusal:
    """Returns how a call ends with an error; one that no user can cause is logged, and told by its id only.

    So are the details of the others: paths, processes and commands.
    """
    code = status_of(error)
    if code is None:
        error_id = uuid.uuid4().hex[:12]
        _log.error("error %s", error_id, exc_info=error)
        message = f"the server failed unexpectedly; its log explains error {error_id}"
        return Refusal(grpc.StatusCode.INTERNAL, message, ServerFaultError.__name__, None)
    message = str(error)
    if isinstance(error, errors.CrossviewError) and error.detail is not None:
        message = error.message
    if code is grpc.StatusCode.INTERNAL:
        _log.error("%s", error, exc_info=error)
    elif message != str(error):
        _log.warning("%s", error)
    retry = _RETRY_BUSY if isinstance(error, errors.BusyError) else getattr(error, "retry_seconds", None)
    return Refusal(code, _short(message), _known_name(type(error)), retry)


def error_in(status: status_pb2.Status) -> Exception:
    """Returns the error that a message of a stream was answered with."""
    info = error_details_pb2.ErrorInfo()
    name = next((info.reason for one in status.details if one.Unpack(info)), "")
    if name in _BY_NAME:
        return _raised(name, status.message, _delay(status))
    code = next((code for code in grpc.StatusCode if code.value[0] == status.code), grpc.StatusCode.UNKNOWN)
    return _BY_CODE.get(code, ServerFaultError)(status.message)


def _raised(name: str, message: str, retry_seconds: float | None) -> Exception:
    if name == OverloadedError.__name__:
        return OverloadedError(message, retry_seconds or 0.0)
    return _BY_NAME[name](message)


def _retry_seconds(call: grpc.Call) -> float | None:
    """Returns after how many seconds the server asks to be called again, where it does."""
    packed = next((value for key, value in call.trailing_metadata() or () if key == _DETAILS_KEY), b"")
    try:
        return _delay(status_pb2.Status.FromString(cast(bytes, packed)))
    except DecodeError:  # details of a proxy's own
        return None


def _delay(status: status_pb2.Status) -> float | None:
    retry = error_details_pb2.RetryInfo()
    return next((retry.retry_delay.ToMilliseconds() / 1000 for one in status.details if one.Unpack(retry)), None)


def _known_name(cls: type[Exception]) -> str:
    """Returns the most specific class of the error that a client knows."""
    return next(base.__name__ for base in cls.__mro__ if base.__name__ in _BY_NAME)


def _short(message: str) -> str:
    return message.encode(errors="replace")[:MESSAGE_LIMIT].decode(errors="ignore")
