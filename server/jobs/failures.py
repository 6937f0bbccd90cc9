"""Errors of jobs as ``google.rpc.Status``, and back: what the direct call would have ended with."""

import logging
import uuid

from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from engine import errors
from features import errors as image_errors
from server import errors as server_errors
from server.errors import ServerFaultError
from server.status import MESSAGE_LIMIT, status_of

DOMAIN = "crossview"
"""Of the ErrorInfo whose reason is the error's class."""
_KNOWN: dict[str, type[Exception]] = {
    cls.__name__: cls
    for module in (errors, image_errors, server_errors)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, errors.CrossviewError | image_errors.ImageError)
}
_log = logging.getLogger("crossview.jobs")


def to_status(error: Exception) -> Status:
    """The status of an error; one that no user can cause is logged, and told by its id in the log."""
    code = status_of(error)
    if code is None:
        error_id = uuid.uuid4().hex[:12]
        _log.error("error %s", error_id, exc_info=error)
        told = ServerFaultError(f"the server failed unexpectedly; its log explains error {error_id}")
        return _status(13, told)
    return _status(code.value[0], error)


def to_error(status: Status) -> Exception:
    """The error that a status was made of."""
    info = ErrorInfo()
    name = info.reason if status.details and status.details[0].Unpack(info) else ""
    return _KNOWN.get(name, ServerFaultError)(status.message)


def _status(code: int, error: Exception) -> Status:
    name = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _KNOWN)
    message = str(error).encode(errors="replace")[:MESSAGE_LIMIT].decode(errors="ignore")
    status = Status(code=code, message=message)
    status.details.add().Pack(ErrorInfo(reason=name, domain=DOMAIN))
    return status
