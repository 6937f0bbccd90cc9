"""The standard health service of a server, on its main port and on an optional separate port."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2

from crossview.engine.values.errors import CrossviewError, NotFoundError, StorageError
from crossview.server.core.dispatch.streams import Listener, OneMessage, Silences
from crossview.server.core.limits import HEALTH_CONNECTIONS, channel_options
from crossview.server.edge.handlers import abort, reading
from crossview.server.wire.status import refusal

_Status = health_pb2.HealthCheckResponse
_MOST_CALLS, _SILENT_SECONDS = 64, 300.0
"""Maximum number of silent calls on the port for health, and maximum time of their silence."""
_GRACE_SECONDS = 0.5
"""Time that calls on the port for health have to end when the server stops."""


class Health:
    """The health of all services. Several threads may set and read it."""

    def __init__(self, services: Iterable[str]) -> None:
        self._serving = dict.fromkeys(("", *services), False)
        self._stopped = False
        self._watching: dict[asyncio.Future[bool], asyncio.AbstractEventLoop] = {}
        self._changing = threading.Lock()

    def set(self, serving: bool) -> None:
        """Set whether all services serve; after ``stop``, none serves."""
        with self._changing:
            self._serving = dict.fromkeys(self._serving, serving and not self._stopped)
            watching, self._watching = self._watching, {}
        for change, loop in watching.items():
            loop.call_soon_threadsafe(_note, change)

    def stop(self) -> None:
        """Report NOT_SERVING for all services from now on."""
        self._stopped = True
        self.set(serving=False)

    def of(self, service: str) -> health_pb2.HealthCheckResponse.ServingStatus | None:
        """Return the status of a service ("": of the server); None for an unknown service."""
        serving = self._serving.get(service)
        if serving is None:
            return None
        return _Status.SERVING if serving else _Status.NOT_SERVING

    def serves(self) -> bool:
        """Return whether the server serves."""
        return self._serving[""]

    def change(self) -> asyncio.Future[bool]:
        """Return a future that is done when the status is set next."""
        loop = asyncio.get_running_loop()
        change: asyncio.Future[bool] = loop.create_future()
        with self._changing:
            self._watching[change] = loop
        change.add_done_callback(lambda done: self._watching.pop(done, None))
        return change


class HealthService:
    """The service ``grpc.health.v1.Health``. Watching calls count as silent, so the server limits their number."""

    def __init__(self, state: Health, silences: Silences, stopping: asyncio.Future[Any]) -> None:
        self._state, self._silences, self._stopping = state, silences, stopping

    def handler(self) -> Any:
        """Return the gRPC handler of the service."""
        methods: dict[str, Any] = {
            "Check": grpc.stream_unary_rpc_method_handler(self._check),
            "Watch": grpc.stream_stream_rpc_method_handler(self._watch),
        }
        return grpc.method_handlers_generic_handler(health.SERVICE_NAME, methods)

    async def _check(self, _requests: Any, context: Any) -> bytes:
        try:
            service = await self._service(context)
            status = self._state.of(service)
            if status is None:
                raise NotFoundError(f"no service {service!r}")
        except CrossviewError as error:
            await abort(context, refusal(error))
            return b""
        return bytes(_Status(status=status).SerializeToString())

    async def _watch(self, _requests: Any, context: Any) -> None:
        try:
            service, last = await self._service(context), None
            listener = Listener(self._silences, self._stopping)
            while True:
                change = self._state.change()  # before reading the status, to miss no change
                status = self._state.of(service)
                status = _Status.SERVICE_UNKNOWN if status is None else status
                if status != last:
                    await context.write(_Status(status=status).SerializeToString())
                last = status
                await listener.hear(change)
        except CrossviewError as error:
            await abort(context, refusal(error))

    async def _service(self, context: Any) -> str:
        data = await OneMessage(reading(context), self._silences).read()
        return str(health_pb2.HealthCheckRequest.FromString(data).service)


class HealthPort:
    """A separate port for health checks, with a separate event loop.

    The port accepts health checks under any load of the main port. Raises StorageError if it cannot listen.
    """

    def __init__(self, state: Health, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="health", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._start(state, address), self._loop).result()
        except BaseException:
            self._end()
            raise

    async def _start(self, state: Health, address: str) -> None:
        self._stopping: asyncio.Future[None] = self._loop.create_future()
        options = *channel_options(HEALTH_CONNECTIONS), ("grpc.so_reuseport", 1)
        self._server = grpc.aio.server(options=options)
        silences = Silences(_MOST_CALLS, _SILENT_SECONDS)
        self._server.add_generic_rpc_handlers((HealthService(state, silences, self._stopping).handler(),))
        try:
            self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise StorageError(f"cannot listen on {address}; is another program using the port?") from error
        await self._server.start()

    def stop(self) -> None:
        """Stop answering."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._end()

    async def _stop(self) -> None:
        self._stopping.set_result(None)
        await self._server.stop(_GRACE_SECONDS)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _note(change: asyncio.Future[bool]) -> None:
    if not change.done():
        change.set_result(True)
