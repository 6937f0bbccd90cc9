"""Clients of a server, with and without an event loop, with the methods of ``engine.collections.home.Home``."""

from collections.abc import Sequence
from functools import cached_property

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.item import one_or_several
from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.connection import Connection
from crossview.server.client.remote_collection import AsyncCollection, RemoteCollection
from crossview.server.client.remote_jobs import AsyncJobs, RemoteJobs
from crossview.server.client.script import Script, Stubs, ask, pages_of
from crossview.server.wire.names import collection_name, parse_collection
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import names_pb2


class HomeScript:
    """The scripts of ``Client`` and ``AsyncClient``."""

    def __init__(self, stubs: Stubs) -> None:
        self._stub = stubs.collections

    def names(self) -> Script[list[str]]:
        """Return the names of the collections, in order."""
        found = yield from pages_of(self._stub.ListCollections, pb.ListCollectionsRequest())
        return [parse_collection(collection.name) for page in found for collection in page.collections]

    def create(self, name: str, views: Sequence[str], description: str) -> Script[None]:
        """Create an empty collection."""
        request = pb.CreateCollectionRequest(collection_id=name, views=one_or_several(views), description=description)
        yield from ask(self._stub.CreateCollection, request)

    def check(self, name: str) -> Script[None]:
        """Raise NotFoundError if the collection does not exist."""
        yield from ask(self._stub.ListSpaces, pb.ListSpacesRequest(parent=collection_name(name)))

    def delete(self, name: str) -> Script[None]:
        """Delete a collection with all its data."""
        yield from ask(self._stub.DeleteCollection, pb.DeleteCollectionRequest(name=collection_name(name)))

    def rename(self, name: str, new: str, keep_alias: bool) -> Script[None]:
        """Rename a collection."""
        request = names_pb2.RenameCollectionRequest(
            name=collection_name(name), collection_id=new, keep_alias=keep_alias
        )
        yield from ask(self._stub.RenameCollection, request)

    def copy(self, name: str, new: str) -> Script[None]:
        """Copy a collection."""
        request = names_pb2.CopyCollectionRequest(name=collection_name(name), collection_id=new)
        yield from ask(self._stub.CopyCollection, request)

    def aliases(self) -> Script[dict[str, str]]:
        """Return the collection of each alias."""
        found = yield from pages_of(self._stub.ListAliases, names_pb2.ListAliasesRequest())
        return {one.alias_id: parse_collection(one.collection) for page in found for one in page.aliases}

    def set_alias(self, alias: str, collection: str) -> Script[str]:
        """Make a name stand for a collection; return the name of the collection."""
        wanted = names_pb2.Alias(alias_id=alias, collection=collection_name(collection))
        made = yield from ask(self._stub.SetAlias, names_pb2.SetAliasRequest(alias=wanted))
        return parse_collection(made.collection)

    def delete_alias(self, alias: str) -> Script[None]:
        """Delete an alias."""
        yield from ask(self._stub.DeleteAlias, names_pb2.DeleteAliasRequest(alias_id=alias))


class Client(Connection):
    """The collections of a server at ``address``, which is as in ``Connection``; a context manager.

    Every method raises the errors of the engine. It also raises ServerUnavailableError if no server answers,
    ServerStoppedError if the server stops during the call, ServerFaultError if the server fails unexpectedly, and
    DeadlineExceededError after ``timeout`` seconds.
    """

    @cached_property
    def _home(self) -> HomeScript:
        return HomeScript(self)

    @cached_property
    def jobs(self) -> RemoteJobs:
        """The jobs of the server."""
        return RemoteJobs(self)

    def names(self) -> list[str]:
        """Return the names of the collections, in order."""
        return self.run(self._home.names())

    def create(self, name: str, views: Sequence[str] = (), description: str = "") -> RemoteCollection:
        """Create and return an empty collection [default: with the views color, sift and gist]."""
        self.run(self._home.create(name, views, description))
        return RemoteCollection(self, name)

    def open(self, name: str) -> RemoteCollection:
        """Return an existing collection; raise NotFoundError if it does not exist."""
        self.run(self._home.check(name))
        return RemoteCollection(self, name)

    def delete(self, name: str) -> None:
        """Delete a collection with all its data."""
        self.run(self._home.delete(name))

    def rename(self, name: str, new: str, *, keep_alias: bool = False) -> None:
        """Rename a collection; with ``keep_alias``, its old name becomes an alias. See ``Home.rename``."""
        self.run(self._home.rename(name, new, keep_alias))

    def copy(self, name: str, new: str, progress: Progress | None = None) -> RemoteCollection:
        """Copy a collection and return the copy; see ``Home.copy``. A server reports no progress."""
        self.run(self._home.copy(name, new))
        return RemoteCollection(self, new)

    def aliases(self) -> dict[str, str]:
        """Return the collection of each alias, sorted by alias."""
        return self.run(self._home.aliases())

    def set_alias(self, alias: str, collection: str) -> str:
        """Make a name stand for a collection; return the collection's name. See ``Home.set_alias``."""
        return self.run(self._home.set_alias(alias, collection))

    def delete_alias(self, alias: str) -> None:
        """Delete an alias; its collection stays."""
        self.run(self._home.delete_alias(alias))


class AsyncClient(AsyncConnection):
    """The collections of the server at ``address``; an asynchronous context manager.

    Arguments and errors are as in ``Client``. If a task is cancelled, its call also ends on the server.

    >>> async with AsyncClient("127.0.0.1:50051") as client:  # doctest: +SKIP
    ...     (found,) = await client.collection("flowers").search(SearchRequest([Query("color", key="rose")]))
    """

    @cached_property
    def _home(self) -> HomeScript:
        return HomeScript(self)

    @cached_property
    def jobs(self) -> AsyncJobs:
        """The jobs of the server."""
        return AsyncJobs(self)

    def collection(self, name: str) -> AsyncCollection:
        """Return a collection without a call; its first call raises NotFoundError if it does not exist."""
        return AsyncCollection(self, name)

    async def names(self) -> list[str]:
        """Return the names of the collections, in order."""
        return await self.run(self._home.names())

    async def create(self, name: str, views: Sequence[str] = (), description: str = "") -> AsyncCollection:
        """Create and return an empty collection [default: with the views color, sift and gist]."""
        await self.run(self._home.create(name, views, description))
        return self.collection(name)

    async def open(self, name: str) -> AsyncCollection:
        """Return an existing collection; raise NotFoundError if it does not exist."""
        await self.run(self._home.check(name))
        return self.collection(name)

    async def delete(self, name: str) -> None:
        """Delete a collection with all its data."""
        await self.run(self._home.delete(name))

    async def rename(self, name: str, new: str, *, keep_alias: bool = False) -> None:
        """Rename a collection; with ``keep_alias``, its old name becomes an alias. See ``Home.rename``."""
        await self.run(self._home.rename(name, new, keep_alias))

    async def copy(self, name: str, new: str) -> AsyncCollection:
        """Copy a collection and return the copy; see ``Home.copy``."""
        await self.run(self._home.copy(name, new))
        return self.collection(new)

    async def aliases(self) -> dict[str, str]:
        """Return the collection of each alias, sorted by alias."""
        return await self.run(self._home.aliases())

    async def set_alias(self, alias: str, collection: str) -> str:
        """Make a name stand for a collection; return the collection's name. See ``Home.set_alias``."""
        return await self.run(self._home.set_alias(alias, collection))

    async def delete_alias(self, alias: str) -> None:
        """Delete an alias; its collection stays."""
        await self.run(self._home.delete_alias(alias))
