"""Clients of a server, with and without an event loop, with the methods of ``engine.collections.home.Home``."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Generic, TypeVar, cast

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.item import one_or_several
from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.connection import Connection
from crossview.server.client.remote_collection import AsyncCollection, RemoteCollection
from crossview.server.client.remote_jobs import RemoteJobs
from crossview.server.client.script import AsyncRunner, C, Runner, Script, Scripts, ask, call, pages_of
from crossview.server.wire.names import collection_name, parse_collection
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import names_pb2

T = TypeVar("T")


class HomeScripts(Scripts[C], Generic[C, T]):
    """The methods of ``Client`` and ``AsyncClient``, which are connections themselves."""

    @property
    def connection(self) -> C:
        """The client itself."""
        return cast(C, self)

    @cached_property
    def jobs(self) -> RemoteJobs[C]:
        """The jobs of the server."""
        return RemoteJobs(self.connection)

    @abstractmethod
    def collection(self, name: str) -> T:
        """Return a collection without a call; its first call raises NotFoundError if it does not exist."""

    @call
    def names(self) -> Script[list[str]]:
        """Return the names of the collections, in order."""
        responses = yield from pages_of(self.stubs.collections.ListCollections, pb.ListCollectionsRequest())
        return [parse_collection(collection.name) for page in responses for collection in page.collections]

    @call
    def create(self, name: str, views: Sequence[str] = (), description: str = "") -> Script[T]:
        """Create and return an empty collection [default: with the views that ``Home.create`` names]."""
        request = pb.CreateCollectionRequest(collection_id=name, views=one_or_several(views), description=description)
        yield from ask(self.stubs.collections.CreateCollection, request)
        return self.collection(name)

    @call
    def open(self, name: str) -> Script[T]:
        """Return an existing collection; raise NotFoundError if it does not exist."""
        yield from ask(self.stubs.collections.ListSpaces, pb.ListSpacesRequest(parent=collection_name(name)))
        return self.collection(name)

    @call
    def delete(self, name: str) -> Script[None]:
        """Delete a collection with all its data."""
        request = pb.DeleteCollectionRequest(name=collection_name(name))
        yield from ask(self.stubs.collections.DeleteCollection, request)

    @call
    def rename(self, name: str, new: str, *, keep_alias: bool = False) -> Script[None]:
        """Rename a collection; with ``keep_alias``, its old name becomes an alias. See ``Home.rename``."""
        request = names_pb2.RenameCollectionRequest(
            name=collection_name(name), collection_id=new, keep_alias=keep_alias
        )
        yield from ask(self.stubs.collections.RenameCollection, request)

    @call
    def copy(self, name: str, new: str, progress: Progress | None = None) -> Script[T]:
        """Copy a collection and return the copy; see ``Home.copy``. A server reports no progress."""
        request = names_pb2.CopyCollectionRequest(name=collection_name(name), collection_id=new)
        yield from ask(self.stubs.collections.CopyCollection, request)
        return self.collection(new)

    @call
    def aliases(self) -> Script[dict[str, str]]:
        """Return the collection of each alias, sorted by alias."""
        responses = yield from pages_of(self.stubs.collections.ListAliases, names_pb2.ListAliasesRequest())
        return {alias.alias_id: parse_collection(alias.collection) for page in responses for alias in page.aliases}

    @call
    def set_alias(self, alias: str, collection: str) -> Script[str]:
        """Make a name stand for a collection; return the collection's name. See ``Home.set_alias``."""
        message = names_pb2.Alias(alias_id=alias, collection=collection_name(collection))
        request = names_pb2.SetAliasRequest(alias=message)
        return parse_collection((yield from ask(self.stubs.collections.SetAlias, request)).collection)

    @call
    def delete_alias(self, alias: str) -> Script[None]:
        """Delete an alias; its collection stays."""
        yield from ask(self.stubs.collections.DeleteAlias, names_pb2.DeleteAliasRequest(alias_id=alias))


class Client(Connection, HomeScripts[Runner, RemoteCollection]):
    """The collections of a server at ``address``, which is as in ``Connection``; a context manager.

    Every method raises the errors of the engine. It also raises ServerUnavailableError if no server answers,
    ServerStoppedError if the server stops during the call, ServerFaultError if the server fails unexpectedly, and
    DeadlineExceededError after ``timeout`` seconds.
    """

    def collection(self, name: str) -> RemoteCollection:
        """Return a collection without a call; its first call raises NotFoundError if it does not exist."""
        return RemoteCollection(self, name)


class AsyncClient(AsyncConnection, HomeScripts[AsyncRunner, AsyncCollection]):
    """The collections of the server at ``address``; an asynchronous context manager.

    Arguments and errors are as in ``Client``. If a task is cancelled, its call also ends on the server.

    >>> async with AsyncClient("127.0.0.1:50051") as client:  # doctest: +SKIP
    ...     (hits,) = await client.collection("flowers").search(SearchRequest([Query("color", key="rose")]))
    """

    def collection(self, name: str) -> AsyncCollection:
        """Return a collection without a call; its first call raises NotFoundError if it does not exist."""
        return AsyncCollection(self, name)
