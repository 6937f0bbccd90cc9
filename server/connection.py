"""The connection to a server: its channel and stubs, and calls whose failures are raised as the engine's errors."""

import math
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar, cast

import grpc
from google.longrunning import operations_pb2_grpc

from engine.errors import InvalidInputError
from server import pages
from server.pb.crossview.v1 import collections_pb2_grpc, jobs_pb2_grpc, search_pb2_grpc
from server.settings import MESSAGE_BYTES
from server.status import error_of

OPTIONS = (("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES))
_LOOK_SECONDS = 0.5
_Response = TypeVar("_Response")


class Connection:
    """A connection to the server at ``address``; a context manager.

    ``call`` raises ServerUnavailableError where no server answers, ServerStoppedError where it stops meanwhile,
    ServerFaultError where it fails by itself, and what the engine raises otherwise.

    Args:
        address: HOST:PORT.
        timeout: seconds that each call may take, a training as well as one batch of an import; then it raises
            DeadlineExceededError, and the server gives the call up. None: any time.
    """

    def __init__(self, address: str, timeout: float | None = None) -> None:
        if timeout is not None and not 0 < timeout < math.inf:
            raise InvalidInputError(f"a timeout is a positive number of seconds, not {timeout}")
        self.address = address
        self.timeout = timeout
        self.channel = grpc.insecure_channel(address, options=OPTIONS)
        self.collections = collections_pb2_grpc.CollectionServiceStub(self.channel)
        self.searches = search_pb2_grpc.SearchServiceStub(self.channel)
        self.jobs_stub = jobs_pb2_grpc.JobServiceStub(self.channel)
        self.operations = operations_pb2_grpc.OperationsStub(self.channel)

    def call(self, method: Callable[..., _Response], request: Any) -> _Response:
        """Calls a method of the server, its failures raised as errors."""
        try:
            return method(request, timeout=self.timeout)
        except grpc.RpcError as failure:
            raise error_of(failure, self.address, self._name_of(method), self.timeout) from failure

    def follow(self, method: Callable[..., _Response], request: Any, look: Callable[[], None]) -> _Response:
        """Calls a method, its failures raised as ``call`` raises them, and looks meanwhile, twice a second."""
        call = cast(Any, method).future(request, timeout=self.timeout)
        try:
            while True:
                try:
                    response: _Response = call.result(timeout=_LOOK_SECONDS)
                    return response
                except grpc.FutureTimeoutError:
                    look()
        except grpc.RpcError as failure:
            raise error_of(failure, self.address, self._name_of(method), self.timeout) from failure
        finally:
            call.cancel()  # where a signal has ended the waiting

    def pages(self, method: Callable[..., _Response], request: Any) -> Iterator[_Response]:
        """Yields the largest pages of a list, one after the other; raises what ``call`` raises."""
        request.page_size = pages.LARGEST_SIZE
        while True:
            page: Any = self.call(method, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _name_of(self, method: Callable[..., Any]) -> str:
        stubs = (self.collections, self.searches, self.jobs_stub, self.operations)
        return next(name for stub in stubs for name, known in vars(stub).items() if known is method)

    def close(self) -> None:
        """Closes the connection."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
