"""One call of the server: its request decoded, its work stopped when nobody waits for it, its end logged."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

_NAMED = re.compile(r"(?:collections/)?([a-z0-9][a-z0-9_-]{0,62})(?:/.*)?", re.DOTALL)
_log = logging.getLogger(REQUEST_LOG)


class CallInterceptor(grpc.ServerInterceptor):
    """Surrounds every method; those that answer with a stream (health, reflection) look after themselves."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def stop_calls(self) -> None:
        """Lets the work of every call end at its next checkpoint, with ServerStoppedError."""
        self._stopping.set()

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Returns the method's handler for bytes: gRPC itself answers what it cannot decode with INTERNAL."""
        handler = continuation(handler_call_details)
        if handler is None or handler.response_streaming:
            return handler
        streams = handler.request_streaming
        wrapped = grpc.stream_unary_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
        return wrapped(partial(self._serve, handler, handler_call_details.method.rpartition("/")[2]))

    def _serve(self, handler: Any, method: str, received: Any, context: grpc.ServicerContext) -> bytes:
        call = _Call(method, handler.request_deserializer)
        try:
            with cancellable(partial(self._check, context)):
                checkpoint()
                run = handler.stream_unary or handler.unary_unary
                request = call.stream(received) if handler.request_streaming else call.decoded(received)
                answer: bytes = handler.response_serializer(run(request, context))
        except Exception as error:  # noqa: BLE001  # every error becomes a status
            call.log(status_of(error) or grpc.StatusCode.INTERNAL)
            abort(context, error)
        call.log(grpc.StatusCode.OK, len(answer))
        return answer

    def _check(self, context: grpc.ServicerContext) -> None:
        if self._stopping.is_set():
            raise ServerStoppedError("the server stopped during the call, and gave its work up; repeat it later")
        if not context.is_active():
            raise CancelledError("the caller is gone: cancelled, or out of time")


@dataclass
class _Call:
    """What the log says of a call."""

    method: str
    decode: Callable[[bytes], Message]
    collection: str = "-"
    received: int = 0

    def __post_init__(self) -> None:
        self._began = time.monotonic()

    def stream(self, messages: Iterator[bytes]) -> Iterator[Message]:
        """Yields decoded requests; raises InvalidInputError for one that cannot be."""
        try:
            yield from map(self.decoded, messages)
        except grpc.RpcError as error:  # gRPC's way to say that the stream was cut
            raise CancelledError("the caller is gone: its stream of requests was cut") from error

    def decoded(self, data: bytes) -> Message:
        """Returns a request; InvalidInputError where it is none."""
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
        """Writes the line of the call that has ended."""
        _log.info(
            "%s collection=%s status=%s ms=%.1f request_bytes=%d response_bytes=%d",
            self.method,
            self.collection,
            code.name,
            1e3 * (time.monotonic() - self._began),
            self.received,
            sent,
        )


def _collection(request: Message) -> str:
    """Returns the collection that a request names, "-" where it names none: only what can be a name gets into a log."""
    for field in ("collection", "parent", "name", "collection_id"):
        if found := _NAMED.fullmatch(getattr(request, field, "")):
            return found[1]
    return "-"
