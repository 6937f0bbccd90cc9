"""Scripts: the body of a client's method, written once for clients with and without an event loop.

A script is a generator: it yields the calls that it needs, and a connection sends it each response or throws each
error. ``call`` turns a script into a method that blocks in a class for threads (``Scripts[Runner]``), and that is
awaited in the same class for an event loop (``Scripts[AsyncRunner]``); type checkers see its signature in both.
``stream`` does the same for a stream of requests with one answer each, and ``local`` for work on this machine.
"""

import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from google.longrunning import operations_pb2_grpc

from crossview.server.wire import pages
from crossview.server.wire.names import collection_name
from crossview.v1 import collections_pb2_grpc, jobs_pb2_grpc, questions_pb2_grpc, search_pb2_grpc

LOOK_SECONDS = 0.5
"""Interval at which a waiting call reads the progress of its job."""
P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
S = TypeVar("S")
F = TypeVar("F")
Blocked = TypeVar("Blocked")
Awaited = TypeVar("Awaited")


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
        return str(next(name for stub in stubs for name, member in vars(stub).items() if member is method))


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

    def work(self, function: "Callable[[Runner], R]") -> R:
        """Return the result of a function that does blocking work with a connection."""


class AsyncRunner(Protocol):
    """An object that runs the scripts of awaited methods: an ``AsyncConnection``."""

    @property
    def address(self) -> str:
        """The address of the server."""

    @property
    def stubs(self) -> Stubs:
        """The stubs that scripts call."""

    async def run(self, script: Script[R]) -> R:
        """Return the result of a script, or raise its error."""

    async def work(self, function: Callable[[Runner], R]) -> R:
        """Run a function in a thread, its calls in the event loop, and return its result."""


C = TypeVar("C", bound=Runner | AsyncRunner)


class Scripts(Generic[C]):
    """Methods of a server, over a connection that runs their scripts."""

    def __init__(self, connection: C) -> None:
        self._connection = connection

    @property
    def connection(self) -> C:
        """The connection that runs the scripts."""
        return self._connection

    @property
    def stubs(self) -> Stubs:
        """The stubs that the scripts call."""
        return self.connection.stubs


def earlier_names(pairs: str) -> dict[str, str]:
    """Return the present name of each earlier one, from text such as ``add_view=views.add``."""
    return dict(pair.split("=") for pair in pairs.split())


class CollectionScripts(Scripts[C]):
    """Methods of one collection of a server."""

    EARLIER: ClassVar[Mapping[str, str]] = {}
    """The names of version 0.2.0, which warn, and the names that replace them."""
    name: str
    resource: str

    def __init__(self, connection: C, name: str) -> None:
        super().__init__(connection)
        self.name, self.resource = name, collection_name(name)

    def __reduce__(self) -> Any:
        """Keep the connection and the name."""
        return type(self), (self.connection, self.name)

    if not TYPE_CHECKING:  # a type checker refuses the earlier names

        def __getattr__(self, name: str) -> Any:
            if name not in self.EARLIER:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            warnings.warn(f"{name} is now {self.EARLIER[name]}", DeprecationWarning, stacklevel=2)
            return attrgetter(self.EARLIER[name])(self)


class Method(Generic[F, P, Blocked, Awaited]):
    """A method of ``Scripts`` that blocks or is awaited, as its connection does."""

    def __init__(self, func: F, method: Callable[..., Any]) -> None:
        self.func, self._method = func, method

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Blocked:
            """Let pyright compare the method with that of a protocol: it does not bind descriptors there."""
            raise NotImplementedError

    @overload
    def __get__(self, instance: None, owner: Any) -> F: ...
    @overload
    def __get__(self, instance: Scripts[Runner], owner: Any) -> Callable[P, Blocked]: ...
    @overload
    def __get__(self, instance: Scripts[AsyncRunner], owner: Any) -> Callable[P, Awaited]: ...

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func if instance is None else MethodType(self._method, instance)


Call = Method[F, P, R, Coroutine[Any, Any, R]]


def call(script: Callable[Concatenate[S, P], Script[R]]) -> "Call[Callable[Concatenate[S, P], Script[R]], P, R]":
    """Return a method that runs a script."""

    @wraps(script)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self.connection.run(script(self, *args, **kwargs))

    return Method(script, method)


def local(function: Callable[Concatenate[S, P], R]) -> "Call[Callable[Concatenate[S, P], R], P, R]":
    """Return a method that does blocking work, such as reading files; for an event loop it runs in a thread."""

    @wraps(function)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self.connection.work(lambda runner: function(type(self)(runner, self.name), *args, **kwargs))

    return Method(function, method)


def stream(
    make: Callable[Concatenate[S, P], Exchange[R]],
) -> Method[Callable[Concatenate[S, P], Exchange[R]], P, Iterator[R], AsyncIterator[R]]:
    """Return a method that yields the results of an exchange."""

    @wraps(make)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self.connection.exchange(make(self, *args, **kwargs))

    return Method(make, method)


def ask(method: Callable[[Q], R], request: Q) -> Script[R]:
    """Make one call and return its response, as a script."""
    response: R = yield Ask(method, request)
    return response


def pages_of(method: Callable[[Q], R], request: Q) -> Script[list[R]]:
    """Request all pages of a list, each of the maximum size, and return them, as a script."""
    paged: Any = request
    paged.page_size = pages.LARGEST_SIZE
    responses: list[R] = []
    while True:
        page: Any = yield Ask(method, paged)
        responses.append(page)
        if not page.next_page_token:
            return responses
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
