"""The connection to a server: its channel and stubs, and calls whose failures are raised as the engine's errors."""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar, cast

import grpc
from google.longrunning import operations_pb2_grpc

from crossview.engine.errors import InvalidInputError
from crossview.server import pages
from crossview.server.settings import MESSAGE_BYTES
from crossview.server.status import error_in, error_of
from crossview.v1 import collections_pb2_grpc, jobs_pb2_grpc, questions_pb2_grpc, search_pb2_grpc

_READS = {
    "crossview.v1.SearchService": ("Search", "Embed", "SuggestLabels", "Same", "FindChanges"),
    "crossview.v1.QuestionService": ("NextQuestion", "ListAnswers"),
    "crossview.v1.CollectionService": (
        *("GetCollection", "ListCollections", "CheckCollection", "ListDeletedItems"),
        *(
            "GetItem",
            "ListItems",
            "CountItems",
            "ListAttributes",
            "GetThumbnail",
            "EmbedItems",
            "GetSpace",
            "ListSpaces",
        ),
    ),
}
"""Methods that change nothing: repeated where the server was gone, or refused them."""
_RETRIED = {
    "maxAttempts": 3,
    "initialBackoff": "0.1s",
    "maxBackoff": "2s",
    "backoffMultiplier": 4,
    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
}
_SERVICE_CONFIG = {
    "methodConfig": [
        {"name": [{"service": service, "method": name} for name in names], "retryPolicy": _RETRIED}
        for service, names in _READS.items()
    ],
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
}
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
)
_LOOK_SECONDS = 0.5
_Response = TypeVar("_Response")


def check_timeout(timeout: float | None) -> float | None:
    """Returns the timeout of calls in seconds, None for any time; raises InvalidInputError for what cannot be one."""
    if timeout is not None and not 0 < timeout < math.inf:
        raise InvalidInputError(f"a timeout is a positive number of seconds, not {timeout}")
    return timeout


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
        self.address = address
        self.timeout = check_timeout(timeout)
        self.channel = grpc.insecure_channel(address, options=OPTIONS)
        self.collections = collections_pb2_grpc.CollectionServiceStub(self.channel)
        self.searches = search_pb2_grpc.SearchServiceStub(self.channel)
        self.questions = questions_pb2_grpc.QuestionServiceStub(self.channel)
        self.jobs_stub = jobs_pb2_grpc.JobServiceStub(self.channel)
        self.operations = operations_pb2_grpc.OperationsStub(self.channel)

    def call(self, method: Callable[..., _Response], request: Any) -> _Response:
        """Calls a method of the server, its failures raised as errors."""
        try:
            return method(request, timeout=self.timeout)
        except grpc.RpcError as failure:
            raise error_of(failure, self.address, self._name_of(method), self.timeout) from failure

    def stream(self, method: Callable[..., Iterator[Any]], requests: Iterator[Any]) -> Iterator[Any]:
        """Yields the response to each request of a stream, in order, as it comes; raises what ``call`` raises.

        Requests are taken as the server answers; what their iterator raises is raised here. The timeout is that of the
        whole stream.
        """
        broken: list[Exception] = []

        def taken() -> Iterator[Any]:
            try:
                yield from requests
            except Exception as error:
                broken.append(error)
                raise

        responses: Any = method(taken(), timeout=self.timeout)
        try:
            for answer in responses:
                if answer.HasField("error"):
                    raise error_in(answer.error)
                yield answer.response
        except grpc.RpcError as failure:
            error = broken[0] if broken else error_of(failure, self.address, self._name_of(method), self.timeout)
            raise error from failure
        finally:
            responses.cancel()

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
        stubs = (self.collections, self.searches, self.questions, self.jobs_stub, self.operations)
        return next(name for stub in stubs for name, known in vars(stub).items() if known is method)

    def close(self) -> None:
        """Closes the connection."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
