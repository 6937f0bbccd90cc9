"""The standard reflection service, from which tools such as grpcurl read the services; ends silent calls.

Versions v1 and v1alpha have the same messages. Tools ask for v1 first, and many older ones know v1alpha only.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection, reflection_pb2

from crossview.engine.values.errors import CrossviewError
from crossview.server.core.dispatch.streams import Silences, Stream
from crossview.server.edge.handlers import abort, reading
from crossview.server.wire.status import refusal

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
