"""Errors as gRPC statuses, and back: one table, used by the server's interceptor and by the client.

A busy collection is ABORTED, not UNAVAILABLE: the server works, and others write the collection, longer than a writer
waits. UNAVAILABLE means that the server is gone, and clients retry it automatically.
"""

import errno
import logging
import sqlite3
import uuid
from typing import NoReturn, cast

import grpc

from engine import errors
from features import errors as image_errors
from server import errors as server_errors
from server.errors import DeadlineExceededError, ServerFaultError, ServerStoppedError, ServerUnavailableError

ERROR_KEY = "crossview-error"
"""Key of the trailing metadata that names the error's class, so that a client can raise the same one."""
MESSAGE_LIMIT = 2000
"""Bytes of a status message: percent encoding may triple it, and gRPC limits all metadata to 8 KiB."""

STATUSES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (errors.NotFoundError, grpc.StatusCode.NOT_FOUND),
    (errors.AlreadyExistsError, grpc.StatusCode.ALREADY_EXISTS),
    (errors.InvalidInputError, grpc.StatusCode.INVALID_ARGUMENT),
    (image_errors.ImageError, grpc.StatusCode.INVALID_ARGUMENT),
    (errors.NotReadyError, grpc.StatusCode.FAILED_PRECONDITION),
    (errors.BusyError, grpc.StatusCode.ABORTED),
    (ServerStoppedError, grpc.StatusCode.UNAVAILABLE),
    (errors.CancelledError, grpc.StatusCode.CANCELLED),
    (errors.StorageError, grpc.StatusCode.INTERNAL),
)
"""The first match counts; any other error is an INTERNAL fault of the server. A full disk is RESOURCE_EXHAUSTED."""

_BY_NAME: dict[str, type[Exception]] = {
    cls.__name__: cls
    for module in (errors, image_errors, server_errors)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, errors.CrossviewError | image_errors.ImageError)
}
_BY_CODE: dict[grpc.StatusCode, type[Exception]] = {
    grpc.StatusCode.UNAVAILABLE: ServerUnavailableError,
    grpc.StatusCode.INTERNAL: ServerFaultError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.InvalidInputError,
    **{code: cls for cls, code in reversed(STATUSES) if cls is not errors.StorageError},
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
        return _BY_NAME[named](message)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceededError(
            f"{method} had no answer from {address} within {timeout:g} seconds. The server gives up its work and "
            "undoes what it has not committed; allow more time, or request less"
        )
    if code is grpc.StatusCode.UNAVAILABLE and any(words in message.lower() for words in _NEVER_SENT):
        return ServerUnavailableError(f"no server at {address}; start one with: crossview serve ({message})")
    if code is grpc.StatusCode.UNAVAILABLE:
        return ServerUnavailableError(
            f"the server at {address} stopped, or the connection was lost, during {method} ({message}). It is "
            "unknown whether a change was made: check before you repeat it"
        )
    return _BY_CODE.get(code, ServerFaultError)(message or f"the server answered with status {code.name}")


def abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    """Ends a call with the status of an error: a client never gets a traceback, nor UNKNOWN."""
    code = status_of(error)
    if code is not None:
        context.set_trailing_metadata(((ERROR_KEY, _known_name(type(error))),))
        if code is grpc.StatusCode.INTERNAL:
            _log.error("%s", error, exc_info=error)
        context.abort(code, _short(str(error)))
    error_id = uuid.uuid4().hex[:12]
    _log.error("error %s", error_id, exc_info=error)
    context.abort(grpc.StatusCode.INTERNAL, f"the server failed unexpectedly; its log explains error {error_id}")


def _known_name(cls: type[Exception]) -> str:
    """Returns the most specific class of the error that a client knows."""
    return next(base.__name__ for base in cls.__mro__ if base.__name__ in _BY_NAME)


def _short(message: str) -> str:
    return message.encode(errors="replace")[:MESSAGE_LIMIT].decode(errors="ignore")
