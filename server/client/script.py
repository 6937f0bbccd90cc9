"""Scripts: the body of a client's method, written once for clients with and without an event loop.

A script is a generator: it yields the calls that it needs, and a connection sends it each response or throws each
error. ``blocking`` and ``awaited`` turn a script into a method of a client without or with an event loop, and keep its
signature for type checkers. ``streaming`` and ``streamed`` do the same for a stream of requests with one answer each.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from google.longrunning import operations_pb2_grpc

from crossview.server.wire import pages
from crossview.v1 import collections_pb2_grpc, jobs_pb2_grpc, questions_pb2_grpc, search_pb2_grpc

LOOK_SECONDS = 0.5
"""Interval at which a waiting call reads the progress of its job."""
P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True)
class Ask:
    """A call that a script needs; the connection runs ``look`` every LOOK_SECONDS until the response arrives."""

    method: Callable[..., Any]
    request: Any
    look: "Callable[[], Script[None]] | None" = None


Script = Generator[Ask, Any, R]


class Requests(Iterator[Any]):
    """The requests of a stream, and the ``error`` that their iterator raised, which gRPC hides."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self.error: Exception | None = None

    def __next__(self) -> Any:
        try:
            return next(self._source)
        except StopIteration:
            raise
        except Exception as error:
            self.error = error
            raise


@dataclass(frozen=True)
class Exchange(Generic[R]):
    """A stream of requests with one answer each.

    Attributes:
        method: the method of a stub.
        requests: the messages to send, read as the server answers.
        decode: converts a response to a result.
        rest: returns further results after the last response.
    """

    method: Callable[..., Any]
    requests: Iterator[Any]
    decode: Callable[[Any], R]
    rest: Callable[[], Iterable[R]] = tuple


class Stubs:
    """The stubs of every service over a channel, with or without an event loop."""

    def __init__(self, channel: Any) -> None:
        self.collections: collections_pb2_grpc.CollectionServiceStub = collections_pb2_grpc.CollectionServiceStub(
            channel
        )
        self.searches: search_pb2_grpc.SearchServiceStub = search_pb2_grpc.SearchServiceStub(channel)
        self.questions: questions_pb2_grpc.QuestionServiceStub = questions_pb2_grpc.QuestionServiceStub(channel)
        self.jobs_stub: jobs_pb2_grpc.JobServiceStub = jobs_pb2_grpc.JobServiceStub(channel)
        self.operations: Any = operations_pb2_grpc.OperationsStub(channel)

    def name_of(self, method: Callable[..., Any]) -> str:
        """Return the name of a method of a stub."""
        stubs = (self.collections, self.searches, self.questions, self.jobs_stub, self.operations)
        return str(next(name for stub in stubs for name, known in vars(stub).items() if known is method))


class Runner(Protocol):
    """An object that runs the scripts of blocking methods: a ``Connection`` or a ``Bridge``."""

    @property
    def address(self) -> str:
        """The address of the server."""

    @property
    def stubs(self) -> Stubs:
        """The stubs that scripts call."""

    def run(self, script: Script[R]) -> R:
        """Return the result of a script, or raise its error."""


def ask(method: Callable[[Q], R], request: Q) -> Script[R]:
    """Make one call and return its response, as a script."""
    response: R = yield Ask(method, request)
    return response


def pages_of(method: Callable[[Q], R], request: Q) -> Script[list[R]]:
    """Request all pages of a list, each of the maximum size, and return them, as a script."""
    paged: Any = request
    paged.page_size = pages.LARGEST_SIZE
    found: list[R] = []
    while True:
        page: Any = yield Ask(method, paged)
        found.append(page)
        if not page.next_page_token:
            return found
        paged.page_token = page.next_page_token


def finished(script: Script[R], answer: Callable[[Ask], Any]) -> R:
    """Return the result of a script, or raise its error; ``answer`` returns the response to each of its calls."""
    step: Callable[[], Ask] = lambda: next(script)  # noqa: E731
    try:
        while True:
            call = step()
            try:
                response = answer(call)
            except Exception as error:  # noqa: BLE001 - the script may handle it
                step = _raising(script, error)
            else:
                step = _sending(script, response)
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        del step  # breaks the cycle of the error, its traceback and this frame


async def finished_async(script: Script[R], answer: Callable[[Ask], Coroutine[Any, Any, Any]]) -> R:
    """Run a script as ``finished`` does, and await each response."""
    step: Callable[[], Ask] = lambda: next(script)  # noqa: E731
    try:
        while True:
            call = step()
            try:
                response = await answer(call)
            except Exception as error:  # noqa: BLE001 - as above
                step = _raising(script, error)
            else:
                step = _sending(script, response)
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        del step  # as above


def _sending(script: Script[Any], response: Any) -> Callable[[], Ask]:
    return lambda: script.send(response)


def _raising(script: Script[Any], error: Exception) -> Callable[[], Ask]:
    return lambda: script.throw(error)


def blocking(script: Callable[Concatenate[S, P], Script[R]]) -> Callable[Concatenate[Any, P], R]:
    """Return a blocking method that runs a script, for a class with ``connection`` and ``script``."""

    @wraps(script)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self.connection.run(script(self.script, *args, **kwargs))
        return result

    return method


def awaited(script: Callable[Concatenate[S, P], Script[R]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return a coroutine method that runs a script, for a class with ``connection`` and ``script``."""

    @wraps(script)
    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self.connection.run(script(self.script, *args, **kwargs))
        return result

    return method


def streaming(make: Callable[Concatenate[S, P], Exchange[R]]) -> Callable[Concatenate[Any, P], Iterator[R]]:
    """Return a method that yields the results of an exchange, for a class with ``connection`` and ``script``."""

    @wraps(make)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        results: Iterator[R] = self.connection.exchange(make(self.script, *args, **kwargs))
        return results

    return method


def streamed(make: Callable[Concatenate[S, P], Exchange[R]]) -> Callable[Concatenate[Any, P], AsyncIterator[R]]:
    """Return an asynchronous method that yields the results of an exchange; see ``streaming``."""

    @wraps(make)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        results: AsyncIterator[R] = self.connection.exchange(make(self.script, *args, **kwargs))
        return results

    return method
