"""The gRPC handlers: they read messages, pass calls to the dispatcher, and send its answers or a status."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from typing import Any

import grpc
from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection, reflection_pb2

from crossview.engine.values.errors import CancelledError, CrossviewError
from crossview.server.core.dispatch.call import Caller
from crossview.server.core.dispatch.dispatcher import Dispatcher, RefusedError
from crossview.server.core.dispatch.streams import END, Read, Silences, Stream
from crossview.server.wire.methods import METHODS, Method
from crossview.server.wire.status import DETAILS_KEY, ERROR_KEY, Refusal, refusal

_ALPHA = "grpc.reflection.v1alpha"
NAMES = (reflection.SERVICE_NAME.replace(_ALPHA, "grpc.reflection.v1"), reflection.SERVICE_NAME)
"""The names of the service, v1 and v1alpha."""


class ReflectionService:
    """The service ``grpc.reflection.v1.ServerReflection`` and its earlier version, for the given services."""

    def __init__(self, services: Sequence[str], silences: Silences, stopping: asyncio.Future[Any]) -> None:
        descriptor_pool.Default().AddSerializedFile(_v1().SerializeToString())
        self._answers = reflection.aio.ReflectionServicer(services)
        self._silences, self._stopping = silences, stopping

    def handlers(self) -> list[Any]:
        """Return the gRPC handlers of both versions."""
        methods: dict[str, Any] = {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(self._answer)}
        return [grpc.method_handlers_generic_handler(name, methods) for name in NAMES]

    async def _answer(self, _requests: Any, context: Any) -> None:
        stream = Stream(reading(context), self._silences, self._stopping)

        async def requests() -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
            async for data in stream:
                yield reflection_pb2.ServerReflectionRequest.FromString(data)

        try:
            async for answer in self._answers.ServerReflectionInfo(requests(), context):
                await context.write(answer.SerializeToString())
        except CrossviewError as error:
            await abort(context, refusal(error))


def _v1() -> FileDescriptorProto:
    """Return the description of v1, which grpcio-reflection lacks: that of v1alpha in the package of v1."""
    alpha = FileDescriptorProto()
    reflection_pb2.DESCRIPTOR.CopyToProto(alpha)
    text = text_format.MessageToString(alpha).replace(_ALPHA, "grpc.reflection.v1")
    return text_format.Parse(text.replace("grpc_reflection/v1alpha", "grpc/reflection/v1"), FileDescriptorProto())


Context = Any  # grpc.aio.ServicerContext of bytes


class Handlers:
    """The gRPC handlers of all methods of a dispatcher."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def of(self, services: Iterable[str]) -> tuple[Any, ...]:
        """Return the gRPC handler of each service."""
        return tuple(
            grpc.method_handlers_generic_handler(
                service,
                {method.name: self._handler(method) for method in METHODS.values() if method.service == service},
            )
            for service in services
        )

    def _handler(self, method: Method) -> Any:
        """Return the handler of a method.

        Every handler takes a stream of requests, because grpc itself waits for a single message without a time limit.
        """
        if method.each is not None:
            return grpc.stream_stream_rpc_method_handler(partial(self._answer_each, method))
        return grpc.stream_unary_rpc_method_handler(partial(self._answer, method))

    async def _answer(self, method: Method, _requests: Any, context: Context) -> bytes:
        try:
            return bytes(await self._dispatcher.answer(method, reading(context), _caller(context)))
        except RefusedError as error:
            refused = error.refusal
        await abort(context, refused)  # outside the block: grpc would keep the error and, by its frames, the request
        return b""

    async def _answer_each(self, method: Method, _requests: Any, context: Context) -> None:
        try:
            await self._dispatcher.answer_each(method, reading(context), context.write, _caller(context))
            return
        except RefusedError as error:
            refused = error.refusal
        await abort(context, refused)


def _caller(context: Context) -> Caller:
    """Return the caller of a call, without a deadline: gRPC itself cancels calls at their deadlines."""
    return Caller(metadata=context.invocation_metadata)


def reading(context: Context) -> Read:
    """Return the function that reads the messages of a call."""

    async def read() -> Any:
        try:
            data = await context.read()
        except (grpc.RpcError, grpc.aio.BaseError) as error:
            raise CancelledError("the caller's stream of requests broke") from error
        return END if data is grpc.aio.EOF else data

    return read


async def abort(context: Context, refused: Refusal) -> None:
    """End a call with a status, and with metadata from which a client raises the same error."""
    metadata = (ERROR_KEY, refused.error_name), (DETAILS_KEY, refused.status.SerializeToString())
    await context.abort(grpc.StatusCode[refused.code.name], refused.worded, metadata)
