"""What surrounds every call of the server: decoding, the status and the log of a call, and its cancellation.

Methods that respond with a stream (health, reflection) are left as they are.
"""

import logging
import re
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message

from engine.errors import CancelledError, InvalidInputError
from engine.learners.cancellation import cancellable, checkpoint
from server.errors import ServerStoppedError
from server.status import abort, status_of

REQUEST_LOG = "crossview.requests"
"""The logger that has one line for each call, at level INFO."""

_COLLECTION = re.compile(r"(?:collections/)?([a-z0-9][a-z0-9_-]{0,62})(?:/.*)?", re.DOTALL)
_log = logging.getLogger(REQUEST_LOG)

Handler = Any  # grpc.RpcMethodHandler declares none of the attributes that gRPC documents
Run = Callable[[Any, grpc.ServicerContext], Any]


class _Interceptor(grpc.ServerInterceptor):
    def intercept_service(self, continuation: Callable[..., Handler], handler_call_details: Any) -> Handler:
        """Returns the method's handler, surrounded."""
        handler = continuation(handler_call_details)
        if handler is None or handler.response_streaming:
            return handler
        return self._surround(handler, handler_call_details.method.rpartition("/")[2])

    @abstractmethod
    def _surround(self, handler: Handler, method: str) -> Handler: ...


class RequestInterceptor(_Interceptor):
    """Decodes requests, turns errors into statuses and logs every call.

    Its handlers take bytes, because gRPC answers a request that it cannot decode itself with INTERNAL.
    """

    def _surround(self, handler: Handler, method: str) -> Handler:
        return _like(handler, partial(self._serve, handler, method))

    def _serve(self, handler: Handler, method: str, received: Any, context: grpc.ServicerContext) -> bytes:
        call = _Call(method, handler.request_deserializer)
        try:
            request = call.stream(received) if handler.request_streaming else call.decoded(received)
            response: bytes = handler.response_serializer(_run(handler)(request, context))
        except Exception as error:  # noqa: BLE001  # every error becomes a status
            call.log(status_of(error) or grpc.StatusCode.INTERNAL)
            abort(context, error)
        call.log(grpc.StatusCode.OK, len(response))
        return response


class CancellationInterceptor(_Interceptor):
    """Ends the work of a call at its next checkpoint once its caller has left, or the server stops.

    The work then raises CancelledError or ServerStoppedError.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def stop_calls(self) -> None:
        """Ends the work of every call with ServerStoppedError."""
        self._stopping.set()

    def _surround(self, handler: Handler, method: str) -> Handler:
        run = partial(self._cancellable, _run(handler))
        return _like(handler, run, handler.request_deserializer, handler.response_serializer)

    def _cancellable(self, run: Run, request: Any, context: grpc.ServicerContext) -> Any:
        with cancellable(partial(self._check, context)):
            checkpoint()
            return run(request, context)

    def _check(self, context: grpc.ServicerContext) -> None:
        if self._stopping.is_set():
            raise ServerStoppedError("the server stopped during the call, and its work was given up; repeat it later")
        if not context.is_active():
            raise CancelledError("the call was cancelled by its caller, or ran out of time")


def _run(handler: Handler) -> Run:
    run: Run = handler.stream_unary or handler.unary_unary
    return run


def _like(handler: Handler, run: Run, decode: Any = None, encode: Any = None) -> Handler:
    """Returns a handler for the same kind of method."""
    streams = handler.request_streaming
    make = grpc.stream_unary_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
    return make(run, decode, encode)


@dataclass
class _Call:
    """What is logged of a call."""

    method: str
    decode: Callable[[bytes], Message]
    collection: str = field(default="-", init=False)
    received: int = field(default=0, init=False)
    began: float = field(default_factory=time.monotonic, init=False)

    def stream(self, messages: Iterator[bytes]) -> Iterator[Message]:
        """Yields decoded requests; raises CancelledError for a stream that was cut, and what ``decoded`` raises."""
        try:
            yield from map(self.decoded, messages)
        except grpc.RpcError as error:  # how gRPC reports a stream that was cut
            raise CancelledError("the caller's stream of requests was cut") from error

    def decoded(self, data: bytes) -> Message:
        """Returns a request; raises InvalidInputError where it cannot be decoded."""
        self.received += len(data)
        try:
            request = self.decode(data)
        except DecodeError as error:
            raise InvalidInputError(
                f"the request of {self.method} cannot be decoded: text must be UTF-8, and the message as the .proto "
                "files of this version define it"
            ) from error
        if self.collection == "-":
            self.collection = _collection(request)
        return request

    def log(self, code: grpc.StatusCode, sent: int = 0) -> None:
        """Writes the line of the call, which has ended."""
        _log.info(
            "%s collection=%s status=%s ms=%.1f request_bytes=%d response_bytes=%d",
            self.method,
            self.collection,
            code.name,
            1e3 * (time.monotonic() - self.began),
            self.received,
            sent,
        )


def _collection(request: Message) -> str:
    """Returns the collection that a request names, else "-". Only a valid name is logged: it cannot break the line."""
    for name in ("collection", "parent", "name", "collection_id"):
        if match := _COLLECTION.fullmatch(getattr(request, name, "")):
            return match[1]
    return "-"
