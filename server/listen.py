"""The running server: services, health and reflection on one port."""

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from engine.errors import StorageError
from engine.home import Home
from engine.ingest import importing  # noqa: F401  # now, not while the first caller waits
from engine.spaces import search  # noqa: F401
from engine.training import evaluator, trainer  # noqa: F401
from server.cache import OpenCollections
from server.calls import CallInterceptor
from server.collection_service import CollectionService
from server.limits import MESSAGE_BYTES
from server.pb.crossview.v1 import collections_pb2, collections_pb2_grpc, search_pb2, search_pb2_grpc
from server.search_service import SearchService

THREADS = 16
"""Calls served at once; more wait."""
GRACE = 10.0
"""Seconds that calls under way have when the server stops."""
ENDING = 2.0
"""Seconds beyond these in which calls can still answer that the server has stopped."""
SERVICES = ("crossview.v1.SearchService", "crossview.v1.CollectionService")

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),  # a second server on the same port is an error, not a silent rival
)


class RunningServer:
    """A server that answers from construction to ``stop``; as a context manager it stops at the end of the block.

    ``port`` 0 takes a free one. ``workers`` is how many processes compute feature rows for one import.
    Raises StorageError where the port cannot be had.
    """

    def __init__(self, home: Home, host: str = "127.0.0.1", port: int = 50051, workers: int = 1) -> None:
        self.collections = OpenCollections(home)
        self._health = health.HealthServicer()
        self._calls = CallInterceptor()
        self._server = grpc.server(ThreadPoolExecutor(THREADS), interceptors=[self._calls], options=OPTIONS)
        self._add_services(workers)
        self.port = self._bind(host, port)
        self.address = f"{host}:{self.port}"
        self._server.start()
        for service in ("", *SERVICES):
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    def _add_services(self, workers: int) -> None:
        search_pb2_grpc.add_SearchServiceServicer_to_server(SearchService(self.collections), self._server)
        collections_pb2_grpc.add_CollectionServiceServicer_to_server(
            CollectionService(self.collections, workers), self._server
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        described = (search_pb2.DESCRIPTOR, collections_pb2.DESCRIPTOR, health_pb2.DESCRIPTOR)
        names = [service.full_name for file in described for service in file.services_by_name.values()]
        reflection.enable_server_reflection((*names, reflection.SERVICE_NAME), self._server)

    def _bind(self, host: str, port: int) -> int:
        try:
            bound = self._server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        except RuntimeError as error:
            raise StorageError(f"cannot listen on {host}:{port}; is another server using the port?") from error
        if bound == 0:
            raise StorageError(f"cannot listen on {host}:{port}; is another server using the port?")
        return bound

    def stop(self, grace: float = GRACE) -> bool:
        """Takes no more calls, lets those under way end within ``grace`` seconds, and closes the collections.

        Calls that take longer are given up and answered with ServerStoppedError.

        False where a call still works on one of them: threads cannot be ended, so only the end of the process ends it.
        """
        self._health.enter_graceful_shutdown()
        stopped = self._server.stop(grace + ENDING)
        if not stopped.wait(grace):
            self._calls.stop_calls()
            stopped.wait()
        return self.collections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
