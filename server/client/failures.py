"""Failed calls of gRPC as the errors that the engine would have raised."""

from typing import cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from crossview.server.errors import DeadlineExceededError, OverloadedError, ServerFaultError, ServerUnavailableError
from crossview.server.wire.status import BY_CODE, BY_NAME, DETAILS_KEY, ERROR_KEY, Code, error_named, retry_delay

_TOO_MANY = "Concurrent RPC limit"
"""Words of gRPC's own message about a server with too many calls."""
_NEVER_SENT = ("failed to connect", "resolving", "resolution")
"""Words of gRPC's message where it found no server. A connection that is cut during a call has the same status."""


def error_of(failure: grpc.RpcError, address: str, method: str, timeout: float | None = None) -> Exception:
    """Return the error of a failed call, as the engine would have raised it.

    ``timeout`` is how many seconds the call was given.
    """
    call = cast(grpc.Call, failure)  # every RpcError of a channel is a Call too
    code, message = Code[call.code().name], call.details() or ""
    named = {key: str(value) for key, value in call.trailing_metadata() or ()}.get(ERROR_KEY, "")
    if named in BY_NAME:
        return error_named(named, message, _retry_seconds(call))
    if code is Code.RESOURCE_EXHAUSTED and _TOO_MANY in message:
        return OverloadedError(
            f"the server at {address} has more calls than it can take ({message}): try again later", 1.0
        )
    if code is Code.DEADLINE_EXCEEDED:
        limit = "the time that a proxy allows" if timeout is None else f"{timeout:g} seconds"
        return DeadlineExceededError(
            f"{method} had no answer from {address} within {limit}. The server gives up its work and undoes what it "
            "has not committed; allow more time, or request less"
        )
    if code is Code.UNAVAILABLE and any(words in message.lower() for words in _NEVER_SENT):
        return ServerUnavailableError(f"no server at {address}; start one with: crossview serve ({message})")
    if code is Code.UNAVAILABLE:
        return ServerUnavailableError(
            f"the server at {address} stopped, or the connection was lost, during {method} ({message}). It is "
            "unknown whether a change was made: check before you repeat it"
        )
    return BY_CODE.get(code, ServerFaultError)(message or f"the server answered with status {code.name}")


def _retry_seconds(call: grpc.Call) -> float | None:
    """Return the seconds after which the server asks the client to call again, None without such a request."""
    packed = next((value for key, value in call.trailing_metadata() or () if key == DETAILS_KEY), b"")
    try:
        return retry_delay(status_pb2.Status.FromString(cast(bytes, packed)))
    except DecodeError:  # details of a proxy's own
        return None
