"""Refusals in the words of HTTP: the names and HTTP statuses that Connect gives to the codes of ``wire.status``."""

import base64
from typing import Any
from urllib.parse import quote

from crossview.server.wire.status import DETAILS_KEY, ERROR_KEY, Code, Refusal

HTTP_STATUSES = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}
"""The HTTP status of each code, as the specification of Connect states."""


def code_name(code: Code) -> str:
    """Return the name of a code in Connect: in lower case, and "canceled" with one l."""
    return "canceled" if code is Code.CANCELLED else code.name.lower()


def error_body(refused: Refusal) -> dict[str, Any]:
    """Return the JSON value of a refusal: its code, message and details."""
    details = refused.status.details
    values = [{"type": detail.type_url.rpartition("/")[2], "value": _base64(detail.value)} for detail in details]
    return {"code": code_name(refused.code), "message": refused.worded, "details": values}


def trailers(refused: Refusal | None) -> bytes:
    """Return the trailers of gRPC-Web that end a call, as lines of HTTP; None: the call succeeded."""
    if refused is None:
        return b"grpc-status: 0\r\n"
    lines = {
        "grpc-status": str(refused.code.value),
        "grpc-message": quote(refused.worded, safe=" !\"#$&'()*+,/:;<=>?@[]^`{|}~"),
        ERROR_KEY: refused.error_name,
        DETAILS_KEY: _base64(refused.status.SerializeToString()),
    }
    return "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode("ascii")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")
