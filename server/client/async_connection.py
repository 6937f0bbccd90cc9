"""The connection to a server in an event loop, and a bridge that lets a thread use it."""

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Self

import grpc

from crossview.engine.values.errors import CancelledError, NotReadyError
from crossview.server.client.attempts import CALLS, LOOKS, STREAMS, AsyncPlaces, repeated_async
from crossview.server.client.channels import ClientTls, channel, check_address
from crossview.server.client.connection import (
    OPTIONS,
    check_timeout,
    error_of,
    headers_of,
)
from crossview.server.client.script import (
    LOOK_SECONDS,
    Ask,
    Exchange,
    R,
    Requests,
    Runner,
    Script,
    Stubs,
    finished_async,
)
from crossview.server.wire.status import error_in


class AsyncConnection(Stubs):
    """A connection to the server at ``address``; an asynchronous context manager.

    Arguments and errors are as in ``Connection``. If a task is cancelled, its call also ends on the server.
    """

    address: str
    timeout: float | None

    def __init__(
        self, address: str, timeout: float | None = None, key: str | None = None, *, tls: ClientTls | None = None
    ) -> None:
        self.address, self.timeout, self._headers = check_address(address), check_timeout(timeout), headers_of(key)
        self._again = partial(type(self), address, timeout, key, tls=tls)
        self._closed = self._answered = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls, self._streams, self._looks = map(AsyncPlaces, (CALLS, STREAMS, LOOKS))
        self._channel = channel(grpc.aio, address, tls, OPTIONS)
        super().__init__(self._channel)

    def __reduce__(self) -> Any:
        """Make a connection of its own in the process that loads it, with the same key."""
        return self._again, ()

    def _check_usable(self) -> None:
        """Raise NotReadyError if the connection is closed, or belongs to another event loop."""
        if self._closed:
            raise NotReadyError(f"the connection to {self.address} is closed: connect again")
        running = asyncio.get_running_loop()
        self._loop = self._loop or running
        if self._loop is not running:
            raise NotReadyError(
                f"the connection to {self.address} belongs to another event loop, such as that of an earlier "
                "asyncio.run: connect again in this one"
            )

    @property
    def stubs(self) -> Stubs:
        """The stubs that scripts call."""
        return self

    async def run(self, script: Script[R]) -> R:
        """Return the result of a script; raise its error."""
        return await finished_async(script, self._answer)

    async def _answer(self, ask: Ask) -> Any:
        look = ask.look
        if look is None:
            return await self._call(ask.method, ask.request)
        call = asyncio.ensure_future(self._call(ask.method, ask.request))
        try:
            while not (await asyncio.wait({call}, timeout=LOOK_SECONDS))[0]:
                await finished_async(look(), self._look)
            return call.result()
        finally:
            call.cancel()

    async def _look(self, ask: Ask) -> Any:
        return await self._call(ask.method, ask.request, self._looks)

    async def _call(self, method: Callable[..., Any], request: Any, places: AsyncPlaces | None = None) -> Any:
        sent = Requests(request) if isinstance(request, Iterator) else None

        def attempt() -> Any:
            return method(sent or request, timeout=self.timeout, metadata=self._headers)

        self._check_usable()
        async with (places or self._calls).taken(self.timeout):
            try:
                # An iterator of requests cannot be sent again.
                response = await (attempt() if sent else repeated_async(attempt, self.timeout))
            except asyncio.CancelledError:
                _raise_hidden(sent)
                raise
            except grpc.RpcError as failure:
                raise error_of(failure, self.address, self.name_of(method), self.timeout, self._answered) from failure
        self._answered = True
        return response

    async def work(self, function: Callable[[Runner], R]) -> R:
        """Run a blocking function in a thread, and its calls of the server in the event loop."""
        bridge = Bridge(self)
        try:
            return await asyncio.to_thread(function, bridge)
        finally:
            bridge.close()

    async def exchange(self, exchange: Exchange[R]) -> AsyncIterator[R]:
        """Yield the results of an exchange in order, as they arrive."""
        self._check_usable()
        async with self._streams.taken(self.timeout):
            sent = Requests(exchange.requests)
            responses = exchange.method(sent, timeout=self.timeout, metadata=self._headers)
            try:
                async for answer in responses:
                    if answer.HasField("error"):
                        raise error_in(answer.error)
                    yield exchange.decode(answer.response)
            except asyncio.CancelledError:
                _raise_hidden(sent)
                raise
            except grpc.RpcError as failure:
                raise error_of(failure, self.address, self.name_of(exchange.method), self.timeout) from failure
            finally:
                responses.cancel()
        for result in exchange.rest():
            yield result

    async def close(self) -> None:
        """Close the connection."""
        self._closed = True
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _raise_hidden(sent: Requests | None) -> None:
    """Raise the error of the iterator of requests, unless the task itself is cancelled.

    gRPC hides such an error: it cancels the call instead.
    """
    task = asyncio.current_task()
    if sent is not None and sent.error is not None and not (task is not None and task.cancelling()):
        raise sent.error from None


class Bridge:
    """The connection of an event loop for a thread: it runs blocking code, such as code that reads files."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection, self._loop = connection, asyncio.get_running_loop()
        self.address: str = connection.address
        self._closed = False
        self._waiting: concurrent.futures.Future[Any] | None = None

    @property
    def stubs(self) -> Stubs:
        """The stubs that scripts call."""
        return self._connection.stubs

    def close(self) -> None:
        """Cancel the call that the thread waits for, and refuse further calls."""
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()

    def run(self, script: Script[R]) -> R:
        """Run a script in the event loop while the thread waits; return its result or raise its error."""
        if self._closed:
            raise CancelledError("the task that waited for this work was cancelled")
        self._waiting = waiting = asyncio.run_coroutine_threadsafe(self._connection.run(script), self._loop)
        return waiting.result()

    def work(self, function: Callable[[Runner], R]) -> R:
        """Run a function in this thread."""
        return function(self)
