"""The running server: services, health and reflection on one port, in an event loop with its own thread."""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from functools import partial
from typing import Any, Self, TypeVar

import grpc
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from crossview.engine.errors import CancelledError, CrossviewError, StorageError
from crossview.engine.home import Home
from crossview.engine.ingest import importing  # noqa: F401  # imports now, not in the first call
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.spaces import search  # noqa: F401
from crossview.features.picture_pool import PicturePool
from crossview.server.cache import OpenCollections
from crossview.server.dispatch.dispatcher import Dispatcher, RequestLog
from crossview.server.dispatch.rooms import Rooms
from crossview.server.dispatch.streams import Silences
from crossview.server.edge.handlers import Handlers
from crossview.server.edge.health import Health, HealthPort, HealthService
from crossview.server.edge.reflection import ReflectionService
from crossview.server.jobs.awaited import AwaitedJobs
from crossview.server.jobs.jobs import Jobs
from crossview.server.keys.access import Access
from crossview.server.keys.audit_log import AuditLog
from crossview.server.keys.keys import KeyRing
from crossview.server.limits import channel_options, give_memory_back, most_connections
from crossview.server.methods import SERVICES
from crossview.server.serving import served_methods
from crossview.server.settings import ServerSettings
from crossview.server.writing.process import WriteProcess

_UPKEEP_SECONDS = 30.0
"""Interval at which the server closes idle collections and returns free memory."""
_SETTLED_SECONDS = 5.0
"""Delay before the server starts its process for writes; short-lived servers never pay for one."""
T = TypeVar("T")
_log = logging.getLogger("crossview.server")


class RunningServer:
    """A server that answers calls from its construction to ``stop``, or to the end of its ``with`` block.

    Raises StorageError if it cannot listen on its address, InvalidInputError if its home is a file.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        pictures = partial(PicturePool, settings.workers, settings.picture_limits)
        self.collections = OpenCollections(Home(settings.home), settings.deletion_seconds, pictures(), settings.load)
        self.jobs = Jobs(self.collections.home, settings.jobs, pictures)
        self.writing = WriteProcess(self.collections.home.path, settings.writers, settings.idle_seconds)
        self._health = Health(SERVICES)
        self._health_port: HealthPort | None = None
        self._server: Any = None
        self._rooms = Rooms(settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calls", daemon=True)
        self._thread.start()
        try:
            self.port: int = self._run(self._start())
            if settings.health_port is not None:
                address = _address(settings.host, settings.health_port)
                self._health_port = HealthPort(self._health, address, settings.processes > 1)
        except BaseException:
            if self._server is not None:  # listening failed here or on the port for health
                self._run(self._server.stop(None))
            self._end_loop()
            self.jobs.close()
            raise
        self.address = f"{settings.host}:{self.port}"
        self._stopping = threading.Event()
        self._upkeep = threading.Thread(target=self._maintain, name="upkeep", daemon=True)
        self._upkeep.start()

    async def _start(self) -> int:
        settings = self.settings
        keys = KeyRing(self.collections.home.path, settings.require_keys)
        self._dispatcher = Dispatcher(self._rooms, settings, (RequestLog(), AuditLog(), Access(keys)))
        awaited = AwaitedJobs(self.jobs, self._rooms.reads.run, self._dispatcher.stopped, self._dispatcher.silences)
        self._dispatcher.served = served_methods(settings, self.collections, self.jobs, awaited, self.writing)
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", settings.message_bytes),
                ("grpc.max_send_message_length", settings.message_bytes),
                ("grpc.so_reuseport", int(settings.processes > 1)),  # a second server must not share the port
                *channel_options(settings.connections or most_connections()),
            ),
            maximum_concurrent_rpcs=settings.calls,
        )
        self._server.add_generic_rpc_handlers(self._handlers())
        try:
            bound: int = self._server.add_insecure_port(_address(settings.host, settings.port))
        except RuntimeError as error:
            where = f"{settings.host}:{settings.port}"
            raise StorageError(f"cannot listen on {where}; is another server using the port?") from error
        await self._server.start()
        self._health.set(serving=not settings.load)
        return bound

    def _handlers(self) -> tuple[Any, ...]:
        """Return the gRPC handlers of all services."""
        # Calls without keys have silences of their own, so that strangers cannot end those of callers with keys.
        silences = Silences(self.settings.calls // 2, self.settings.silent_seconds)
        ending = self._dispatcher.draining
        names = (reflection.SERVICE_NAME, health.SERVICE_NAME, *SERVICES)
        others = HealthService(self._health, silences, ending), ReflectionService(names, silences, ending)
        return *Handlers(self._dispatcher).of(SERVICES), *(one.handler() for one in others)

    def stop(self, grace: float | None = None) -> bool:
        """Refuse new calls, wait for calls in progress, and close the collections.

        ``grace`` is the time in seconds that calls in progress have to end [default: the settings' ``grace_seconds``].
        Longer calls fail with ServerStoppedError. Returns False if a call still uses a collection: Python cannot end a
        thread, so that call ends with the process.
        """
        if not self._stopping.is_set():
            self._stopping.set()
            self._run(self._stop(self.settings.grace_seconds if grace is None else grace))
            if self._health_port is not None:
                self._health_port.stop()
            self._end_loop()
            self._rooms.close()
            self._upkeep.join()
            self.jobs.close()
            self.writing.close()
        return self.collections.close()

    async def _stop(self, seconds: float) -> None:
        self._health.stop()
        self._dispatcher.drain()
        stopped = asyncio.ensure_future(self._server.stop(seconds + self.settings.answer_seconds))
        await asyncio.wait({stopped}, timeout=seconds)
        self._dispatcher.stop()
        await stopped

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _load(self) -> None:
        """Load the collections of ``settings.load`` into memory, then report SERVING."""
        for name in self.settings.load:
            try:
                with self.collections.use(name) as collection, cancellable(self._check_stopping):
                    collection.memory.load()
            except CancelledError:
                return
            except CrossviewError as error:
                _log.error("cannot load collection %r, so health stays NOT_SERVING: %s", name, error)
                return
        if self.settings.load:
            self._health.set(serving=True)

    def _check_stopping(self) -> None:
        if self._stopping.is_set():
            raise CancelledError("the server stops")

    def _maintain(self) -> None:
        self._load()
        if self._stopping.wait(_SETTLED_SECONDS):
            return
        self.writing.start()
        seconds = self.settings.idle_seconds
        while not self._stopping.wait(min(_UPKEEP_SECONDS, seconds / 2 + 0.01)):
            self.collections.close_idle(seconds)
            give_memory_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
