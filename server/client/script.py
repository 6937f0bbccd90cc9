"""Scripts: what a method of a client does, written once for programs with and without an event loop.

A script is a generator. It yields each call that it needs, and gets the response back, or the error raised. A
connection runs it. ``blocking`` and ``awaited`` make a method of each kind of client from one script, and type checkers
know its arguments and its result; ``streaming`` and ``streamed`` do so for a stream of requests with an answer each.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from google.longrunning import operations_pb2_grpc

from crossview.server.wire import pages
from crossview.v1 import collections_pb2_grpc, jobs_pb2_grpc, questions_pb2_grpc, search_pb2_grpc

LOOK_SECONDS = 0.5
"""Between two looks at a job that a call waits for."""
P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True)
class Ask:
    """A call that a script needs; the connection runs ``look`` twice a second until the response is there."""

    method: Callable[..., Any]
    request: Any
    look: "Callable[[], Script[None]] | None" = None


Script = Generator[Ask, Any, R]


class Requests(Iterator[Any]):
    """The requests of a stream, and the ``error`` that their source raised, which gRPC hides."""

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
    """A stream of requests, each of which has its answer.

    Attributes:
        method: the method of a stub.
        requests: its messages, taken as the server answers.
        decode: makes the result of a response.
        rest: returns further results, after the last response.
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
        self.operations = operations_pb2_grpc.OperationsStub(channel)

    def name_of(self, method: Callable[..., Any]) -> str:
        """Return the name of a method of a stub."""
        stubs = (self.collections, self.searches, self.questions, self.jobs_stub, self.operations)
        return str(next(name for stub in stubs for name, known in vars(stub).items() if known is method))


class Runner(Protocol):
    """What runs the scripts of blocking methods."""

    @property
    def address(self) -> str:
        """Of the server."""

    @property
    def stubs(self) -> Stubs:
        """The stubs that its scripts call."""

    def run(self, script: Script[R]) -> R:
        """Return the result of a script, or raise its error."""


def ask(method: Callable[[Q], R], request: Q) -> Script[R]:
    """Return the script of one call: its result is the response."""
    response: R = yield Ask(method, request)
    return response


def pages_of(method: Callable[[Q], R], request: Q) -> Script[list[R]]:
    """Return the script of a list: its result is every page, of the largest size."""
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
    """Return the result of a script whose calls are answered one after the other; raise its error."""
    step: Callable[[], Ask] = lambda: next(script)  # noqa: E731
    try:
        while True:
            call = step()
            try:
                response = answer(call)
            except Exception as error:  # noqa: BLE001 - the script raises it again, unless it expects it
                step = _raising(script, error)
            else:
                step = _sending(script, response)
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        del step  # it may hold an error, whose traceback holds this frame


async def finished_async(script: Script[R], answer: Callable[[Ask], Coroutine[Any, Any, Any]]) -> R:
    """See ``finished``."""
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
    """Return the method that runs a script and waits, for a class with ``connection`` and ``script``."""

    @wraps(script)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self.connection.run(script(self.script, *args, **kwargs))
        return result

    return method


def awaited(script: Callable[Concatenate[S, P], Script[R]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the method that runs a script in the event loop, for a class with ``connection`` and ``script``."""

    @wraps(script)
    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self.connection.run(script(self.script, *args, **kwargs))
        return result

    return method


def streaming(make: Callable[Concatenate[S, P], Exchange[R]]) -> Callable[Concatenate[Any, P], Iterator[R]]:
    """Return the method that yields the results of an exchange, for a class with ``connection`` and ``script``."""

    @wraps(make)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        results: Iterator[R] = self.connection.exchange(make(self.script, *args, **kwargs))
        return results

    return method


def streamed(make: Callable[Concatenate[S, P], Exchange[R]]) -> Callable[Concatenate[Any, P], AsyncIterator[R]]:
    """Return the method that yields the results of an exchange in the event loop; see ``streaming``."""

    @wraps(make)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        results: AsyncIterator[R] = self.connection.exchange(make(self.script, *args, **kwargs))
        return results

    return method
