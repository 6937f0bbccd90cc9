"""The running server: services, health and reflection on one port."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import grpc
from google.longrunning import operations_pb2, operations_pb2_grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from engine.errors import StorageError
from engine.home import Home
from engine.ingest import importing  # noqa: F401  # loaded now, not during the first call
from engine.spaces import search  # noqa: F401
from server.cache import OpenCollections
from server.collection_service import CollectionService
from server.interceptors import CancellationInterceptor, RequestInterceptor
from server.job_service import JobService, OperationsService
from server.jobs.jobs import Jobs
from server.pb.crossview.v1 import (
    collections_pb2,
    collections_pb2_grpc,
    jobs_pb2,
    jobs_pb2_grpc,
    search_pb2,
    search_pb2_grpc,
)
from server.search_service import SearchService
from server.settings import ServerSettings

_UPKEEP_SECONDS = 30.0
"""Between two looks for collections that are idle."""
SERVICES = ("crossview.v1.SearchService", "crossview.v1.CollectionService", "crossview.v1.JobService")


class RunningServer:
    """A server that answers from construction to ``stop``; as a context manager it stops at the end of the block.

    Raises StorageError where it cannot listen on its address, InvalidInputError where its home is a file.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.collections = OpenCollections(Home(settings.home), settings.deletion_seconds)
        self.jobs = Jobs(self.collections.home, settings.jobs)
        self._health = health.HealthServicer()
        self._cancellation = CancellationInterceptor()
        self._server = grpc.server(
            ThreadPoolExecutor(settings.threads),
            interceptors=[RequestInterceptor(), self._cancellation],  # from the outermost: it reports every error
            options=(
                ("grpc.max_receive_message_length", settings.message_bytes),
                ("grpc.max_send_message_length", settings.message_bytes),
                ("grpc.so_reuseport", 0),  # a second server on the same port is an error, not a silent rival
            ),
        )
        self._add_services()
        self.port = self._bind()
        self.address = f"{settings.host}:{self.port}"
        self._server.start()
        self._stopping = threading.Event()
        self._upkeep = threading.Thread(target=self._close_idle, name="upkeep", daemon=True)
        self._upkeep.start()
        for service in ("", *SERVICES):
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    def _add_services(self) -> None:
        search_pb2_grpc.add_SearchServiceServicer_to_server(SearchService(self.collections), self._server)
        collections_pb2_grpc.add_CollectionServiceServicer_to_server(
            CollectionService(self.collections, self.jobs, self.settings.workers), self._server
        )
        jobs_pb2_grpc.add_JobServiceServicer_to_server(JobService(self.jobs), self._server)
        operations_pb2_grpc.add_OperationsServicer_to_server(OperationsService(self.jobs), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        described = (
            *(search_pb2.DESCRIPTOR, collections_pb2.DESCRIPTOR, jobs_pb2.DESCRIPTOR),
            *(operations_pb2.DESCRIPTOR, health_pb2.DESCRIPTOR),
        )
        names = [service.full_name for file in described for service in file.services_by_name.values()]
        reflection.enable_server_reflection((*names, reflection.SERVICE_NAME), self._server)

    def _bind(self) -> int:
        host, port = self.settings.host, self.settings.port
        try:
            return self._server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        except RuntimeError as error:
            self.jobs.close()
            raise StorageError(f"cannot listen on {host}:{port}; is another server using the port?") from error

    def stop(self, grace: float | None = None) -> bool:
        """Takes no more calls, lets those under way end, and closes the collections.

        ``grace`` is how many seconds the calls may take (None: the settings' ``grace_seconds``). Calls that take longer
        are given up and answered with ServerStoppedError. Returns False where a call still uses a collection: a thread
        cannot be ended, so the call ends with the process.
        """
        self._health.enter_graceful_shutdown()
        self._stopping.set()
        seconds = self.settings.grace_seconds if grace is None else grace
        stopped = self._server.stop(seconds + self.settings.answer_seconds)
        if not stopped.wait(seconds):
            self._cancellation.stop_calls()
            stopped.wait()
        self._upkeep.join()
        self.jobs.close()
        return self.collections.close()

    def _close_idle(self) -> None:
        seconds = self.settings.idle_seconds
        while not self._stopping.wait(min(_UPKEEP_SECONDS, seconds / 2 + 0.01)):
            self.collections.close_idle(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
