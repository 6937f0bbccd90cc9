"""The connection to a server: its channel, its stubs, and calls whose failures become errors of the engine."""

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from crossview.engine.errors import InvalidInputError
from crossview.server.client.channels import ClientTls, channel
from crossview.server.client.script import LOOK_SECONDS, Ask, Exchange, R, Requests, Script, Stubs, finished
from crossview.server.errors import DeadlineExceededError, OverloadedError, ServerFaultError, ServerUnavailableError
from crossview.server.methods import METHODS
from crossview.server.settings import MESSAGE_BYTES
from crossview.server.wire.status import (
    BY_CODE,
    BY_NAME,
    DETAILS_KEY,
    ERROR_KEY,
    Code,
    error_in,
    error_named,
    retry_delay,
)

_RETRIED = {
    "maxAttempts": 3,
    "initialBackoff": "0.1s",
    "maxBackoff": "2s",
    "backoffMultiplier": 4,
    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
}
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{"service": one.service, "method": one.name} for one in METHODS.values() if one.repeatable],
            "retryPolicy": _RETRIED,
        }
    ],
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
}
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
)


_KEY = re.compile(r"[!-~]+")
ATTEMPTS, PAUSE = 3, 0.1
"""Maximum number of attempts of a call that a stopping server never began, and seconds between them."""


def check_timeout(timeout: float | None) -> float | None:
    """Return the timeout of calls in seconds, None for no limit; raise InvalidInputError for an invalid one."""
    if timeout is not None and not 0 < timeout < math.inf:
        raise InvalidInputError(f"a timeout is a positive number of seconds, not {timeout}")
    return timeout


def headers_of(key: str | None) -> tuple[tuple[str, str], ...]:
    """Return the headers with a key; raise InvalidInputError, which does not show it, for text that is not a key."""
    if key is None:
        return ()
    if not _KEY.fullmatch(key):
        raise InvalidInputError("the key has characters that no key has: give it as it was printed")
    return (("authorization", f"Bearer {key}"),)


class Connection(Stubs):
    """A connection to the server at ``address``; a context manager.

    ``call`` raises ServerUnavailableError if no server answers, ServerStoppedError if the server stops during the call,
    ServerFaultError if the server fails unexpectedly, and otherwise the errors of the engine.

    Args:
        address: HOST:PORT, grpcs://HOST:PORT for TLS, or unix:PATH.
        timeout: maximum seconds of each call, such as a training or one batch of an import [default: unlimited];
            after them, the call raises DeadlineExceededError and the server cancels it.
        key: the key that the server asks for [default: no key].
        tls: files for TLS; with them, HOST:PORT also means TLS.
    """

    def __init__(
        self, address: str, timeout: float | None = None, key: str | None = None, *, tls: ClientTls | None = None
    ) -> None:
        self.address = address
        self.timeout = check_timeout(timeout)
        self._headers = headers_of(key)
        self.channel: grpc.Channel = channel(grpc, address, tls, OPTIONS)
        super().__init__(self.channel)

    @property
    def stubs(self) -> Stubs:
        """The stubs that scripts call."""
        return self

    def run(self, script: Script[R]) -> R:
        """Return the result of a script; raise its errors and those of ``call``."""
        return finished(script, self._answer)

    def _answer(self, ask: Ask) -> Any:
        look = ask.look
        if look is None:
            return self.call(ask.method, ask.request)
        return self._follow(ask.method, ask.request, lambda: self.run(look()))

    def call(self, method: Callable[..., R], request: Any) -> R:
        """Return the response of a method of the server; raise its failure as an error of the engine."""
        sent = Requests(request) if isinstance(request, Iterator) else None
        attempts = 1 if sent else ATTEMPTS
        try:
            return repeated(lambda: method(sent or request, timeout=self.timeout, metadata=self._headers), attempts)
        except grpc.RpcError as failure:
            raise self._error(failure, method, sent) from failure

    def _error(self, failure: grpc.RpcError, method: Callable[..., Any], sent: Requests | None = None) -> Exception:
        hidden = sent.error if sent is not None else None
        return hidden or error_of(failure, self.address, self.name_of(method), self.timeout)

    def exchange(self, exchange: Exchange[R]) -> Iterator[R]:
        """Yield the results of an exchange in order, as they arrive; raise the errors of ``call``."""
        for response in self.stream(exchange.method, exchange.requests):
            yield exchange.decode(response)
        yield from exchange.rest()

    def stream(self, method: Callable[..., Iterator[Any]], requests: Iterator[Any]) -> Iterator[Any]:
        """Yield the response to each request of a stream in order, as it arrives; raise the errors of ``call``.

        The stream reads further requests as the server answers earlier ones, and raises the errors of their iterator.
        The timeout applies to the whole stream.
        """
        sent = Requests(requests)
        responses: Any = method(sent, timeout=self.timeout, metadata=self._headers)
        try:
            for answer in responses:
                if answer.HasField("error"):
                    raise error_in(answer.error)
                yield answer.response
        except grpc.RpcError as failure:
            raise self._error(failure, method, sent) from failure
        finally:
            responses.cancel()

    def _follow(self, method: Callable[..., Any], request: Any, look: Callable[[], None]) -> Any:
        """Call a method as ``call`` does, and call ``look`` every LOOK_SECONDS until the response arrives."""

        def attempt() -> Any:
            call = cast(Any, method).future(request, timeout=self.timeout, metadata=self._headers)
            try:
                while True:
                    try:
                        return call.result(timeout=LOOK_SECONDS)
                    except grpc.FutureTimeoutError:
                        look()
            finally:
                call.cancel()  # a signal may have interrupted the wait

        try:
            return repeated(attempt)
        except grpc.RpcError as failure:
            raise self._error(failure, method) from failure

    def close(self) -> None:
        """Close the connection."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def repeated(attempt: Callable[[], R], attempts: int = ATTEMPTS) -> R:
    """Return the result of a call, repeated while a stopping server never begins it; raise grpc.RpcError."""
    for _ in range(attempts - 1):
        try:
            return attempt()
        except grpc.RpcError as failure:
            if not never_began(failure):
                raise
        time.sleep(PAUSE)
    return attempt()


def never_began(failure: grpc.RpcError) -> bool:
    """Return whether a stopping server ended the call before its program saw it, so that even a write can be repeated.

    gRPC resets such calls without a message and without headers. All calls that began end with headers or with an
    error of the server; those of a closed channel have a message of this program.
    """
    call = cast(grpc.Call, failure)
    bare = not call.initial_metadata() and not call.trailing_metadata()
    return call.code() is grpc.StatusCode.CANCELLED and bare and call.details() in _RESET


_RESET = ("CANCELLED", "Received RST_STREAM with error code 8")
"""Messages of gRPC about a call that its server has reset."""
_TOO_MANY = "Concurrent RPC limit"
"""Words of gRPC's message from a server with too many calls."""
_NEVER_SENT = ("failed to connect", "resolving", "resolution")
"""Words of gRPC's message if it found no server; a connection lost during a call has the same status code."""


def error_of(failure: grpc.RpcError, address: str, method: str, timeout: float | None = None) -> Exception:
    """Return the error of the engine for a failed call; ``timeout`` is the timeout of the call in seconds."""
    call = cast(grpc.Call, failure)  # every RpcError of a channel is also a Call
    code, message = Code[call.code().name], call.details() or ""
    named = {key: str(value) for key, value in call.trailing_metadata() or ()}.get(ERROR_KEY, "")
    if named in BY_NAME:
        return error_named(named, message, _retry_seconds(call))
    if never_began(failure):
        return ServerUnavailableError(f"the server at {address} stopped before {method} began: repeat it")
    if code is Code.RESOURCE_EXHAUSTED and _TOO_MANY in message:
        return OverloadedError(f"the server at {address} has too many calls ({message}): try again later", 1.0)
    if code is Code.DEADLINE_EXCEEDED:
        limit = "the time that a proxy allows" if timeout is None else f"{timeout:g} seconds"
        return DeadlineExceededError(
            f"{method} had no answer from {address} within {limit}. The server gives up its work and undoes what it "
            "has not committed; allow more time, or request less"
        )
    if code is Code.UNAVAILABLE and (reason := _refused(message, address)):
        return ServerUnavailableError(f"{reason} ({message})")
    if code is Code.UNAVAILABLE and any(words in message.lower() for words in _NEVER_SENT):
        return ServerUnavailableError(f"no server at {address}; start one with: crossview serve ({message})")
    if code is Code.UNAVAILABLE:
        return ServerUnavailableError(
            f"the server at {address} stopped, or the connection was lost, during {method} ({message}). It is "
            "unknown whether a change was made: check before you repeat it"
        )
    return BY_CODE.get(code, ServerFaultError)(message or f"the server answered with status {code.name}")


def _refused(message: str, address: str) -> str:
    """Return why a server refuses to connect; "" if it does not, or there is no server."""
    if "WRONG_VERSION_NUMBER" in message:
        return f"the server at {address} does not use TLS: omit grpcs:// and the files of TLS"
    if "handshake failed" in message:
        return f"{address} has no certificate that the client trusts: name the file of its authority with --tls-ca"
    if "failed to connect" in message and "Socket closed" in message:
        return (
            f"the server at {address} closed the connection: it may use TLS (write grpcs:// before the address), "
            "ask for a certificate of the client, or have too many connections"
        )
    return ""


def _retry_seconds(call: grpc.Call) -> float | None:
    """Return the time in seconds after which the server asks for a retry; None if it does not ask for one."""
    packed = next((value for key, value in call.trailing_metadata() or () if key == DETAILS_KEY), b"")
    try:
        return retry_delay(status_pb2.Status.FromString(cast(bytes, packed)))
    except DecodeError:  # a proxy sent details of its own
        return None
