"""The running server: services, health and reflection on one port, in an event loop with its own thread."""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from functools import partial
from importlib.metadata import version
from typing import Any, Self, TypeVar

import grpc
from grpc_health.v1 import health
from prometheus_client import CollectorRegistry, ProcessCollector

from crossview.engine.catalog.ingest import importing  # noqa: F401  # imports now, not in the first call
from crossview.engine.collections.home import Home
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.spaces import search  # noqa: F401
from crossview.engine.values.errors import CancelledError, CrossviewError, NotInstalledError, StorageError, lacking
from crossview.features.picture_pool import PicturePool
from crossview.server.core.cache import OpenCollections
from crossview.server.core.dispatch.call_log import RequestLog
from crossview.server.core.dispatch.dispatcher import Dispatcher
from crossview.server.core.dispatch.quotas import Quotas
from crossview.server.core.dispatch.rooms import Rooms
from crossview.server.core.dispatch.streams import Silences
from crossview.server.core.jobs.awaited import AwaitedJobs
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.core.keys.access import Access
from crossview.server.core.keys.audit_log import AuditLog
from crossview.server.core.keys.keys import KeyRing
from crossview.server.core.limits import channel_options, give_memory_back, most_connections
from crossview.server.core.observing.admin import AdminPort
from crossview.server.core.observing.call_metrics import CallMetrics
from crossview.server.core.observing.server_metrics import ServerMetrics
from crossview.server.core.serving import served_methods
from crossview.server.core.socket_file import SocketFile
from crossview.server.core.succession import check_ports
from crossview.server.core.tls import Certificate, LiveCertificate
from crossview.server.core.writing.process import WriteProcess
from crossview.server.edge.handlers import NAMES as REFLECTION
from crossview.server.edge.handlers import Handlers, ReflectionService
from crossview.server.edge.health import Health, HealthPort, HealthService
from crossview.server.wire.methods import SERVICES
from crossview.server.wire.settings import ServerSettings

_UPKEEP_SECONDS = 30.0
"""Interval at which the server closes idle collections and returns free memory."""
_MOST_PUT_OFF = 20
"""Number of successive intervals in which a server that answers calls puts off the collection of garbage, which stops
every call, for .2 to .5 s while a large answer is made."""
_SETTLED_SECONDS = 5.0
"""Delay before the server starts its process for writes; short-lived servers never pay for one."""
_LOAD_AGAIN_SECONDS = 2.0
"""Delay before the server tries again to load a published collection."""
T = TypeVar("T")
_log = logging.getLogger("crossview.server")


def collections_of(settings: ServerSettings, pictures: PicturePool) -> OpenCollections:
    """Return the collections that a server answers from: those of its home, or published ones."""
    home = Home(settings.home)
    if settings.bundle is None:
        return OpenCollections(home, settings.deletion_seconds, pictures, settings.load)
    from crossview.server.core.published import PublishedCollections

    return PublishedCollections(home, settings.bundle, settings.engine or "", pictures)


class RunningServer:
    """A server that answers calls from its construction to ``stop``, or to the end of its ``with`` block.

    Raises StorageError if it cannot listen on its address, InvalidInputError if its home is a file or its certificate
    cannot be used.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._tracing = tracing_of(settings)
        pictures = partial(PicturePool, settings.workers, settings.picture_limits)
        self.collections: OpenCollections = collections_of(settings, pictures())
        self.jobs: Jobs = Jobs(
            self.collections.home, settings.jobs, pictures, None if self._tracing is None else self._tracing.end_job
        )
        self.writing: WriteProcess = WriteProcess(self.collections.home.path, settings.writers, settings.idle_seconds)
        self._health = Health(SERVICES)
        self._health_port: HealthPort | None = None
        self._socket: SocketFile | None = None
        self.admin: AdminPort | None = None
        """The port for administrators, if the settings name one."""
        self._calls, self._quotas = CallMetrics(), Quotas(settings)
        self._server: Any = None
        self._http: Any = None
        self._rooms = Rooms(settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calls", daemon=True)
        self._thread.start()
        self._stopping = threading.Event()
        try:
            if not settings.take_over and settings.processes == 1:
                check_ports(settings)
            for name in settings.load if settings.take_over else ():
                self._load(name)  # before the first connection
            self.port: int = self._run(self._start())
            if settings.health_port is not None:
                address = _address(settings.host, settings.health_port)
                self._health_port = HealthPort(self._health, address)
            if settings.admin_port is not None:
                self.admin = self._admin_port(settings.admin_host, settings.admin_port)
        except BaseException:
            if self._server is not None:  # listening failed here or on another port
                self._run(self._server.stop(None))
            if self._http is not None:
                self._run(self._http.stop(0.0))
            if self._health_port is not None:
                self._health_port.stop()
            self._end_loop()
            self.jobs.close()
            if self._tracing is not None:
                self._tracing.close()
            raise
        self.address: str = f"{settings.host}:{self.port}" if settings.tcp else f"unix:{settings.socket}"
        self.http_port: int | None = None if self._http is None else self._http.port
        """The port for HTTP; None without one."""
        self._upkeep = threading.Thread(target=self._maintain, name="upkeep", daemon=True)
        self._upkeep.start()

    def _admin_port(self, host: str, port: int) -> AdminPort:
        """Return the port for administrators, with a registry of its own: a program may have several servers."""
        registry = CollectorRegistry(auto_describe=False)
        ports = tuple(port for port in (self.port, None if self._http is None else self._http.port) if port)
        dispatcher = self._dispatcher
        registry.register(self._calls)
        registry.register(ServerMetrics(self._rooms, dispatcher, self._quotas, self.collections, self.jobs, ports))
        ProcessCollector(registry=registry)
        return AdminPort(host, port, registry, self._health.serves)

    async def _start(self) -> int:
        settings = self.settings
        keys = KeyRing(self.collections.home.path, settings.require_keys, published=settings.bundle is not None)
        traced = () if self._tracing is None else (self._tracing,)
        around = *traced, self._calls, RequestLog(settings.slow_ms), AuditLog(), Access(keys), self._quotas
        self._dispatcher = Dispatcher(self._rooms, settings, around)
        awaited = AwaitedJobs(self.jobs, self._rooms.reads.run, self._dispatcher.stopped, self._dispatcher.silences)
        self._dispatcher.served = served_methods(settings, self.collections, self.jobs, awaited, self.writing)
        self._certificate = None if settings.tls is None else LiveCertificate(settings.tls)
        connections = settings.connections or most_connections()
        if settings.http_port is not None:
            connections = max(1, connections // 2)
            self._http = http_port(self._dispatcher, settings, self._health, connections, self._certificate)
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", settings.message_bytes),
                ("grpc.max_send_message_length", settings.message_bytes),
                ("grpc.so_reuseport", 1),  # for the processes of this server, and the server that replaces it
                *channel_options(connections),
            ),
            maximum_concurrent_rpcs=settings.calls,
        )
        self._server.add_generic_rpc_handlers(self._handlers())
        bound = self._bind() if settings.tcp else 0
        if settings.socket is not None:
            self._socket = SocketFile(
                settings.socket, lambda path: self._server.add_insecure_port(f"unix:{path}"), settings.take_over
            )
        await self._server.start()
        self._health.set(serving=not settings.load)
        return bound

    def _bind(self) -> int:
        """Listen on the port, with TLS if the settings name a certificate; return the port."""
        settings = self.settings
        where = _address(settings.host, settings.port)
        credentials = None if self._certificate is None else _credentials(self._certificate)
        try:
            if credentials is None:
                return int(self._server.add_insecure_port(where))
            return int(self._server.add_secure_port(where, credentials))
        except RuntimeError as error:
            raise StorageError(
                f"cannot listen on {settings.host}:{settings.port}; is another server using the port?"
            ) from error

    def _handlers(self) -> tuple[Any, ...]:
        # Calls without keys have silences of their own, so that strangers cannot end those of callers with keys.
        silences = Silences(self.settings.calls // 2, self.settings.silent_seconds)
        ending = self._dispatcher.draining
        reflection = ReflectionService((*REFLECTION, health.SERVICE_NAME, *SERVICES), silences, ending)
        checks = HealthService(self._health, silences, ending)
        return *Handlers(self._dispatcher).of(SERVICES), checks.handler(), *reflection.handlers()

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
            if self._socket is not None:
                self._socket.remove()
            if self.admin is not None:
                self.admin.stop()
            self._end_loop()
            self._rooms.close()
            self._upkeep.join()
            self.jobs.close()
            self.writing.close()
            if self._tracing is not None:
                self._tracing.close()
        return self.collections.close()

    async def _stop(self, seconds: float) -> None:
        self._health.stop()
        self._dispatcher.drain()
        stopped = asyncio.ensure_future(self._server.stop(seconds + self.settings.answer_seconds))
        ended = {stopped}
        if self._http is not None:
            ended.add(asyncio.ensure_future(self._http.stop(seconds + self.settings.answer_seconds)))
        await asyncio.wait(ended, timeout=seconds)
        self._dispatcher.stop()
        await asyncio.gather(*ended)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _load(self, name: str) -> None:
        with self.collections.use(name) as collection, cancellable(self._check_stopping):
            collection.memory.load()

    def _load_and_serve(self) -> None:
        """Load the collections of ``settings.load`` into memory, then report SERVING."""
        for name in self.settings.load:
            while not self._is_loaded(name):
                # An engine can start after its servers, and the first publication can come later still.
                if self.settings.bundle is None or self._stopping.wait(_LOAD_AGAIN_SECONDS):
                    return
        if self.settings.load:
            self._health.set(serving=True)

    def _is_loaded(self, name: str) -> bool:
        """Load a collection; return False, and log the reason, if this fails."""
        try:
            self._load(name)
        except CancelledError:
            return False
        except CrossviewError as error:
            _log.error("cannot load collection %r, so health stays NOT_SERVING: %s", name, error)
            return False
        return True

    def _check_stopping(self) -> None:
        if self._stopping.is_set():
            raise CancelledError("the server stops")

    def _maintain(self) -> None:
        self._load_and_serve()
        if self._stopping.wait(_SETTLED_SECONDS):
            return
        if self.settings.bundle is None:
            self.writing.start()
        seconds = self.settings.idle_seconds
        put_off = 0
        while not self._stopping.wait(min(_UPKEEP_SECONDS, seconds / 2 + 0.01)):
            self.collections.close_idle(seconds)
            put_off = put_off + 1 if self._rooms.busy() and put_off < _MOST_PUT_OFF else 0
            give_memory_back(collect=not put_off)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _credentials(live: LiveCertificate) -> Any:
    """Return credentials of gRPC that use the newest certificate for each new connection."""

    def configuration(certificate: Certificate) -> Any:
        pairs = [(certificate.key, certificate.chain)]
        return grpc.ssl_server_certificate_configuration(pairs, root_certificates=certificate.client_ca)

    first = live.current()
    return grpc.dynamic_ssl_server_credentials(
        configuration(first), lambda: configuration(live.current()), first.client_ca is not None
    )


def http_port(
    dispatcher: Dispatcher,
    settings: ServerSettings,
    health: Health,
    connections: int,
    certificate: LiveCertificate | None = None,
) -> Any:
    """Start the port for HTTP; raise NotInstalledError without its libraries, StorageError if it cannot listen."""
    try:
        from crossview.server.edge.http.application import application
        from crossview.server.edge.http.calls import Calls
        from crossview.server.edge.http.port import HttpPort

        if settings.web:
            from crossview.server.edge.pages.routes import page_routes
    except ModuleNotFoundError as error:
        raise lacking(NotInstalledError, f"the port for HTTP needs {error.name}", "http") from error
    calls, release = Calls(dispatcher, settings), version("crossview")
    app = application(calls, settings, health.serves, release, page_routes(calls, release) if settings.web else ())
    tls = None if certificate is None else certificate.ssl_context()
    return HttpPort(app, settings.host, settings.http_port or 0, connections, tls)


def tracing_of(settings: ServerSettings) -> Any:
    """Return the traces that the settings name, or None; raise NotInstalledError without their library."""
    if settings.trace_url is None and settings.trace_file is None:
        return None
    try:
        from crossview.server.core.observing.tracing import Tracing

        return Tracing(settings.trace_url, settings.trace_file, settings.trace_ratio)
    except ModuleNotFoundError as error:
        raise lacking(NotInstalledError, f"traces need {error.name}", "tracing") from error


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
