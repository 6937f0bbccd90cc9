"""The running server: services, health and reflection on one port, on an event loop in a thread of its own."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Self, TypeVar

import grpc
from google.longrunning import operations_pb2
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection

from crossview.engine.errors import CancelledError, CrossviewError, StorageError
from crossview.engine.home import Home
from crossview.engine.ingest import importing  # noqa: F401  # loaded now, not during the first call
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.spaces import search  # noqa: F401
from crossview.features.picture_pool import PicturePool
from crossview.server.cache import OpenCollections
from crossview.server.calls import Calls, Method, Together
from crossview.server.collection_service import CollectionService, job_of
from crossview.server.health import Health, HealthPort, HealthService
from crossview.server.job_service import JobService, OperationsService
from crossview.server.jobs.awaited import AwaitedJobs
from crossview.server.jobs.jobs import Jobs
from crossview.server.limits import channel_options, give_memory_back, most_connections
from crossview.server.question_service import QuestionService
from crossview.server.reflecting import ReflectionService
from crossview.server.rooms import WAITING, Rooms
from crossview.server.search_service import TOGETHER, SearchService
from crossview.server.settings import ServerSettings
from crossview.server.writing.forwarding import forwarded
from crossview.server.writing.item_writes import WRITES
from crossview.server.writing.process import WriteProcess
from crossview.v1 import collections_pb2, jobs_pb2, questions_pb2, search_pb2

_UPKEEP_SECONDS = 30.0
"""Between two looks for collections that are idle, and for garbage."""
_SETTLED_SECONDS = 5.0
"""After which a server that goes on gets its process for writes, if it has none: not one that ends soon."""
_STREAMS = {"StreamSearch": ("Search", 16), "StreamImportItems": ("ImportItems", 1)}
"""Methods that answer each message of a stream as another method would; how many of them at once."""
SERVICES = tuple(f"crossview.v1.{name}Service" for name in ("Search", "Collection", "Question", "Job"))
T = TypeVar("T")
_log = logging.getLogger("crossview.server")


class RunningServer:
    """A server that answers from construction to ``stop``; as a context manager it stops at the end of the block.

    Raises StorageError where it cannot listen on its address, InvalidInputError where its home is a file.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        pictures = partial(PicturePool, settings.workers, settings.picture_limits)
        self.collections = OpenCollections(Home(settings.home), settings.deletion_seconds, pictures(), settings.load)
        self.jobs = Jobs(self.collections.home, settings.jobs, pictures)
        self.writing = WriteProcess(self.collections.home.path, settings.writers, settings.idle_seconds)
        self._health = Health(SERVICES)
        self._health_port: HealthPort | None = None
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
            self._end_loop()
            self.jobs.close()
            raise
        self.address = f"{settings.host}:{self.port}"
        self._stopping = threading.Event()
        self._upkeep = threading.Thread(target=self._keep_up, name="upkeep", daemon=True)
        self._upkeep.start()

    async def _start(self) -> int:
        settings = self.settings
        self._calls = Calls(self._rooms, settings)
        self._awaited = AwaitedJobs(self.jobs, self._rooms.reads.run, self._calls.stopped, self._calls.silences)
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", settings.message_bytes),
                ("grpc.max_send_message_length", settings.message_bytes),
                ("grpc.so_reuseport", int(settings.processes > 1)),  # else a second server would be a silent rival
                *channel_options(settings.connections or most_connections()),
            ),
            maximum_concurrent_rpcs=settings.calls,
        )
        self._add_services()
        try:
            bound: int = self._server.add_insecure_port(_address(settings.host, settings.port))
        except RuntimeError as error:
            where = f"{settings.host}:{settings.port}"
            raise StorageError(f"cannot listen on {where}; is another server using the port?") from error
        await self._server.start()
        self._health.set(serving=not settings.load)
        return bound

    def _add_services(self) -> None:
        services = {
            search_pb2.DESCRIPTOR: SearchService(self.collections, self.settings),
            collections_pb2.DESCRIPTOR: CollectionService(self.collections, self.jobs, self.settings.workers),
            questions_pb2.DESCRIPTOR: QuestionService(self.collections),
            jobs_pb2.DESCRIPTOR: JobService(self.jobs),
            operations_pb2.DESCRIPTOR: OperationsService(self.jobs),
        }
        names = [reflection.SERVICE_NAME, health.SERVICE_NAME]
        silences, ending = self._calls.silences, self._calls.draining
        for file, servicer in services.items():
            (service,) = file.services_by_name.values()
            handlers = {method.name: self._handler(service.full_name, method, servicer) for method in service.methods}
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
            names.append(service.full_name)
        others = HealthService(self._health, silences, ending), ReflectionService(names, silences, ending)
        self._server.add_generic_rpc_handlers(tuple(one.handler() for one in others))

    def _handler(self, service: str, method: Any, servicer: object) -> Any:
        """Returns what serves a method, by its descriptor."""
        answered_by, ahead = _STREAMS.get(method.name, (method.name, 0))
        request = GetMessageClass(method.input_type)
        at_hand = getattr(servicer, "search_at_hand", None) if answered_by == "Search" else None
        response = GetMessageClass(method.containing_service.methods_by_name[answered_by].output_type)
        awaited = self._awaiting(method.name, response)
        answer = None if method.name in WAITING else getattr(servicer, answered_by)
        if answered_by in WRITES:
            answer = forwarded(getattr(servicer, answered_by), response, self.writing, self.collections)
        together = None
        if answered_by == "Search" and isinstance(servicer, SearchService):
            together = Together(servicer.alike, servicer.search_together, TOGETHER)
        served = Method(service, method.name, request, answer, at_hand, together, awaited)
        if ahead:
            return self._calls.duplex_handler(served, GetMessageClass(method.output_type), ahead)
        return self._calls.stream_handler(served) if method.client_streaming else self._calls.handler(served)

    def _awaiting(self, method: str, response: type[Message]) -> Callable[[Any], Awaitable[Message | None]] | None:
        """Returns what waits for the jobs that some requests of a method are, if there are such requests."""
        if method == "WaitOperation":
            return self._awaited.operation
        if method not in (*WAITING, "CalibrateSpace", "FitViews"):
            return None

        async def awaited(request: Message) -> Message | None:
            job = job_of(request)
            if job is None:
                return None
            packed, made = await self._awaited.response(job), response()
            packed.Unpack(made)
            return made

        return awaited

    def stop(self, grace: float | None = None) -> bool:
        """Takes no more calls, lets those under way end, and closes the collections.

        ``grace`` is how many seconds the calls may take (None: the settings' ``grace_seconds``). Calls that take longer
        are given up and answered with ServerStoppedError. Returns False where a call still uses a collection: a thread
        cannot be ended, so the call ends with the process.
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
        self._calls.drain()
        stopped = asyncio.ensure_future(self._server.stop(seconds + self.settings.answer_seconds))
        await asyncio.wait({stopped}, timeout=seconds)
        self._calls.stop()
        await stopped

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _load(self) -> None:
        """Loads the collections that are to be in memory before health says SERVING."""
        for name in self.settings.load:
            try:
                with self.collections.use(name) as collection, cancellable(self._check_stopping):
                    collection.memory.load()
            except CancelledError:
                return
            except CrossviewError as error:
                _log.error("collection %r is not loaded, so health goes on to say NOT_SERVING: %s", name, error)
                return
        if self.settings.load:
            self._health.set(serving=True)

    def _check_stopping(self) -> None:
        if self._stopping.is_set():
            raise CancelledError("the server stops")

    def _keep_up(self) -> None:
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
