"""The client for programs with an event loop: the methods of ``Client``, awaited."""

from collections.abc import Sequence
from functools import cached_property

from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.home_script import HomeScript
from crossview.server.client.remote_collection import AsyncCollection
from crossview.server.client.remote_jobs import AsyncJobs


class AsyncClient(AsyncConnection):
    """The collections of the server at ``address`` (HOST:PORT); an asynchronous context manager.

    ``timeout`` is as in ``Client``. Calls raise what those of ``Client`` raise, and end on the server when their task
    is cancelled.

    >>> async with AsyncClient("127.0.0.1:50051") as client:  # doctest: +SKIP
    ...     (found,) = await client.collection("flowers").search(SearchRequest([Query("color", key="rose")]))
    """

    @cached_property
    def _home(self) -> HomeScript:
        return HomeScript(self)

    @cached_property
    def jobs(self) -> AsyncJobs:
        """The server's jobs."""
        return AsyncJobs(self)

    def collection(self, name: str) -> AsyncCollection:
        """Return a collection; its first call fails if it does not exist."""
        return AsyncCollection(self, name)

    async def names(self) -> list[str]:
        """Return the names of the collections, in order."""
        return await self.run(self._home.names())

    async def create(self, name: str, views: Sequence[str] = (), description: str = "") -> AsyncCollection:
        """Return a new, empty collection; without views it has color, sift and gist."""
        await self.run(self._home.create(name, views, description))
        return self.collection(name)

    async def open(self, name: str) -> AsyncCollection:
        """Return a collection that exists."""
        await self.run(self._home.check(name))
        return self.collection(name)

    async def delete(self, name: str) -> None:
        """Delete a collection with all that is in it."""
        await self.run(self._home.delete(name))
