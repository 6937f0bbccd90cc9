"""Errors as gRPC statuses, and back: one table, used by the interceptor of the server and by the client.

A busy collection is ABORTED, not UNAVAILABLE: the server is well and another process holds the collection, perhaps for
hours. UNAVAILABLE would say that the server is gone, and clients retry it blindly.
"""

import errno
import logging
import sqlite3
import uuid
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, cast

import grpc

from engine import errors
from features import errors as image_errors
from server.errors import ServerFaultError, ServerUnavailableError

ERROR_KEY = "crossview-error"
"""Trailing metadata: the class of the error, so that a client can raise the same one."""
MESSAGE_LIMIT = 2000
"""Bytes of a status message: sent in percent encoding it grows threefold at worst, and all metadata has 8 KiB."""

STATUSES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (errors.NotFoundError, grpc.StatusCode.NOT_FOUND),
    (errors.AlreadyExistsError, grpc.StatusCode.ALREADY_EXISTS),
    (errors.InvalidInputError, grpc.StatusCode.INVALID_ARGUMENT),
    (image_errors.ImageError, grpc.StatusCode.INVALID_ARGUMENT),
    (errors.NotReadyError, grpc.StatusCode.FAILED_PRECONDITION),
    (errors.BusyError, grpc.StatusCode.ABORTED),
    (errors.StorageError, grpc.StatusCode.INTERNAL),
)
"""First match wins; anything that is not here is an INTERNAL fault of the server. A full disk is RESOURCE_EXHAUSTED."""

_BY_NAME: dict[str, type[Exception]] = {
    cls.__name__: cls
    for module in (errors, image_errors)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, errors.CrossviewError | image_errors.ImageError)
}
_BY_CODE: dict[grpc.StatusCode, type[Exception]] = {
    grpc.StatusCode.UNAVAILABLE: ServerUnavailableError,
    grpc.StatusCode.INTERNAL: ServerFaultError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.InvalidInputError,
    **{code: cls for cls, code in reversed(STATUSES) if cls is not errors.StorageError},
}
_log = logging.getLogger("crossview.server")
_Result = TypeVar("_Result")


def status_of(error: Exception) -> grpc.StatusCode | None:
    """The status of an error that a user can cause; None for any other."""
    if isinstance(error, errors.StorageError) and _disk_full(error):
        return grpc.StatusCode.RESOURCE_EXHAUSTED
    return next((code for cls, code in STATUSES if isinstance(error, cls)), None)


def _disk_full(error: BaseException | None) -> bool:
    """Whether the error, or one that it came from, says that no space is left."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return True
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return True
        error = getattr(error, "orig", None) or error.__cause__
    return False


def error_of(failure: grpc.RpcError, address: str) -> Exception:
    """The error that a failed call means, as the engine would have raised it."""
    call = cast(grpc.Call, failure)  # every RpcError of a channel is a Call too
    code, message = call.code(), call.details() or ""
    named = {key: str(value) for key, value in call.trailing_metadata() or ()}.get(ERROR_KEY, "")
    if named in _BY_NAME:
        return _BY_NAME[named](message)
    if code is grpc.StatusCode.UNAVAILABLE:
        return ServerUnavailableError(f"no server at {address}; start one with: crossview serve ({message})")
    return _BY_CODE.get(code, ServerFaultError)(message or f"the server answered {code.name}")


class StatusInterceptor(grpc.ServerInterceptor):
    """Turns whatever a method raises into a status. The client never sees a traceback and never UNKNOWN."""

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Wraps the method; methods that answer with a stream (health, reflection) look after themselves."""
        handler = continuation(handler_call_details)
        method = None if handler is None else handler.stream_unary or handler.unary_unary
        if handler is None or method is None:
            return handler
        codec = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(_guarded(method), **codec)
        return grpc.unary_unary_rpc_method_handler(_guarded(method), **codec)


def _guarded(method: Callable[[Any, grpc.ServicerContext], _Result]) -> Callable[[Any, grpc.ServicerContext], _Result]:
    def guarded(request: Any, context: grpc.ServicerContext) -> _Result:
        try:
            return method(request, context)
        except Exception as error:
            failure = error
        _abort(context, failure)

    return guarded


def _abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    code = status_of(error)
    if code is not None:
        context.set_trailing_metadata(((ERROR_KEY, _known_name(type(error))),))
        if code is grpc.StatusCode.INTERNAL:
            _log.error("%s", error, exc_info=error)
        context.abort(code, _short(str(error)))
    error_id = uuid.uuid4().hex[:12]
    _log.error("error %s", error_id, exc_info=error)
    context.abort(grpc.StatusCode.INTERNAL, f"the server failed; its log explains error {error_id}")


def _known_name(cls: type[Exception]) -> str:
    """The nearest class of the error's family that a client knows."""
    return next(base.__name__ for base in cls.__mro__ if base.__name__ in _BY_NAME)


def _short(message: str) -> str:
    return message.encode(errors="replace")[:MESSAGE_LIMIT].decode(errors="ignore")
