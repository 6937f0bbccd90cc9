"""The gRPC handlers: they read messages, pass calls to the dispatcher, and send its answers or a status."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import grpc

from crossview.engine.values.errors import CancelledError
from crossview.server.core.dispatch.call import Caller
from crossview.server.core.dispatch.dispatcher import Dispatcher, RefusedError
from crossview.server.core.dispatch.streams import END, Read
from crossview.server.wire.methods import METHODS, Method
from crossview.server.wire.status import DETAILS_KEY, ERROR_KEY, Refusal

Context = Any  # grpc.aio.ServicerContext of bytes


class Handlers:
    """The gRPC handlers of all methods of a dispatcher."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def of(self, services: Iterable[str]) -> tuple[Any, ...]:
        """Return the gRPC handler of each service."""
        return tuple(
            grpc.method_handlers_generic_handler(
                service, {one.name: self._handler(one) for one in METHODS.values() if one.service == service}
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
