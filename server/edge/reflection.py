"""The standard reflection service, from which tools such as grpcurl read the services; ends silent calls."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from crossview.engine.errors import CrossviewError
from crossview.server.dispatch.streams import Silences, Stream
from crossview.server.edge.handlers import abort, reading
from crossview.server.wire.status import refusal


class ReflectionService:
    """The service ``grpc.reflection.v1alpha.ServerReflection``, for the given services."""

    def __init__(self, services: Sequence[str], silences: Silences, stopping: asyncio.Future[Any]) -> None:
        self._answers = reflection.aio.ReflectionServicer(services)
        self._silences, self._stopping = silences, stopping

    def handler(self) -> Any:
        """Return the gRPC handler of the service."""
        methods: dict[str, Any] = {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(self._answer)}
        return grpc.method_handlers_generic_handler(reflection.SERVICE_NAME, methods)

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
