"""A typed client with the methods of ``engine.home.Home``; it raises the engine's own errors."""

from collections.abc import Sequence
from functools import cached_property

from crossview.server.client.connection import Connection
from crossview.server.client.home_script import HomeScript
from crossview.server.client.remote_collection import RemoteCollection
from crossview.server.client.remote_jobs import RemoteJobs


class Client(Connection):
    """The collections of a server at ``address`` (HOST:PORT); a context manager.

    Every method raises what the engine raises; and ServerUnavailableError where no server answers, ServerStoppedError
    where it stops meanwhile, ServerFaultError where it fails by itself, and DeadlineExceededError after ``timeout``.
    """

    @cached_property
    def _home(self) -> HomeScript:
        return HomeScript(self)

    @cached_property
    def jobs(self) -> RemoteJobs:
        """The server's jobs."""
        return RemoteJobs(self)

    def names(self) -> list[str]:
        """Return the names of the collections, in order."""
        return self.run(self._home.names())

    def create(self, name: str, views: Sequence[str] = (), description: str = "") -> RemoteCollection:
        """Return a new, empty collection; without views it has color, sift and gist."""
        self.run(self._home.create(name, views, description))
        return RemoteCollection(self, name)

    def open(self, name: str) -> RemoteCollection:
        """Return a collection that exists."""
        self.run(self._home.check(name))
        return RemoteCollection(self, name)

    def delete(self, name: str) -> None:
        """Delete a collection with all that is in it."""
        self.run(self._home.delete(name))
