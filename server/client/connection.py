"""The connection to a server: its channel, its stubs, and calls whose failures become errors of the engine."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Real
from typing import Any, Self, cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.server.client.attempts import CALLS, LOOKS, NEVER_SENT, STREAMS, Places, never_began, repeated
from crossview.server.client.channels import ClientTls, channel, check_address
from crossview.server.client.script import LOOK_SECONDS, Ask, Exchange, R, Requests, Runner, Script, Stubs, finished
from crossview.server.wire.errors import (
    DeadlineExceededError,
    OverloadedError,
    ServerFaultError,
    ServerUnavailableError,
)
from crossview.server.wire.methods import METHODS
from crossview.server.wire.settings import MESSAGE_BYTES
from crossview.server.wire.status import (
    BY_CODE,
    BY_NAME,
    DETAILS_KEY,
    ERROR_KEY,
    Code,
    error_in,
    error_named,
    message_in,
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
            "name": [
                {"service": method.service, "method": method.name} for method in METHODS.values() if method.repeatable
            ],
            "retryPolicy": _RETRIED,
        }
    ],
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
}
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    # A server that is back answers within about a second, and the outage of one client is not that of the next one.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.use_local_subchannel_pool", 1),
)


_KEY = re.compile(r"[!-~]+")
_LONGEST_TIMEOUT = 1e9
"""Seconds, some 30 years; gRPC cannot count many more."""


def check_timeout(timeout: float | None) -> float | None:
    """Return the timeout of calls in seconds, None for no limit; raise InvalidInputError for an invalid one."""
    if timeout is None:
        return None
    if not isinstance(timeout, Real) or not 0 < timeout <= _LONGEST_TIMEOUT:
        raise InvalidInputError(
            f"a timeout is a positive number of seconds, at most {_LONGEST_TIMEOUT:g}, or None, not {timeout!r:.40}"
        )
    return float(timeout)


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
        self.address: str = check_address(address)
        self.timeout: float | None = check_timeout(timeout)
        self._headers = headers_of(key)
        self._again = partial(type(self), address, timeout, key, tls=tls)
        self._closed = self._answered = False
        self._calls, self._streams, self._looks = map(Places, (CALLS, STREAMS, LOOKS))
        self.channel: grpc.Channel = channel(grpc, address, tls, OPTIONS)
        super().__init__(self.channel)

    def __reduce__(self) -> Any:
        """Make a connection of its own in the process that loads it, with the same key."""
        return self._again, ()

    @property
    def stubs(self) -> Stubs:
        """The stubs that scripts call."""
        return self

    def run(self, script: Script[R]) -> R:
        """Return the result of a script; raise its errors and those of ``call``."""
        return finished(script, self._answer)

    def work(self, function: Callable[[Runner], R]) -> R:
        """Return the result of a function that does blocking work with this connection."""
        return function(self)

    def _answer(self, ask: Ask) -> Any:
        look = ask.look
        if look is None:
            return self.call(ask.method, ask.request)
        return self._follow(ask.method, ask.request, lambda: finished(look(), self._look))

    def _look(self, ask: Ask) -> Any:
        # Looks have places of their own, because the calls that they look at keep theirs.
        return self.call(ask.method, ask.request, self._looks)

    def call(self, method: Callable[..., R], request: Any, places: Places | None = None) -> R:
        """Return the response of a method of the server; raise its failure as an error of the engine."""
        sent = Requests(request) if isinstance(request, Iterator) else None

        def attempt() -> R:
            return method(sent or request, timeout=self.timeout, metadata=self._headers)

        self._check_open()
        with (places or self._calls).taken(self.timeout):
            try:
                # An iterator of requests cannot be sent again.
                response = attempt() if sent else repeated(attempt, self.timeout)
            except grpc.RpcError as failure:
                raise self._error(failure, method, sent) from failure
        self._answered = True
        return response

    def _check_open(self) -> None:
        if self._closed:
            raise NotReadyError(f"the connection to {self.address} is closed: connect again")

    def _error(self, failure: grpc.RpcError, method: Callable[..., Any], sent: Requests | None = None) -> Exception:
        hidden = sent.error if sent is not None else None
        return hidden or error_of(failure, self.address, self.name_of(method), self.timeout, self._answered)

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
        self._check_open()
        with self._streams.taken(self.timeout):
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

        self._check_open()
        with self._calls.taken(self.timeout):
            try:
                return repeated(attempt, self.timeout)
            except grpc.RpcError as failure:
                raise self._error(failure, method) from failure

    def close(self) -> None:
        """Close the connection."""
        self._closed = True
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_TOO_MANY = "Concurrent RPC limit"
"""Words of gRPC's message from a server with too many calls."""


def error_of(
    failure: grpc.RpcError, address: str, method: str, timeout: float | None = None, answered: bool = False
) -> Exception:
    """Return the error of the engine for a failed call.

    ``timeout`` is the timeout of the call in seconds, and ``answered`` whether the server answered an earlier call.
    """
    call = cast(grpc.Call, failure)  # every RpcError of a channel is also a Call
    code, message = Code[call.code().name], call.details() or ""
    name = {key: str(value) for key, value in call.trailing_metadata() or ()}.get(ERROR_KEY, "")
    if name in BY_NAME:
        details = _details(call)
        return error_named(name, message_in(details) or message, retry_delay(details))
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
    if code is Code.UNAVAILABLE and any(words in message.lower() for words in NEVER_SENT):
        if answered:
            return ServerUnavailableError(
                f"the server at {address} answered before, and is not there now ({message}): the call was not sent, so "
                "repeat it when the server is back"
            )
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


def _details(call: grpc.Call) -> status_pb2.Status:
    """Return the status with its details that the server sent; an empty one without it."""
    packed = next((value for key, value in call.trailing_metadata() or () if key == DETAILS_KEY), b"")
    try:
        return status_pb2.Status.FromString(cast(bytes, packed))
    except DecodeError:  # a proxy sent details of its own
        return status_pb2.Status()
