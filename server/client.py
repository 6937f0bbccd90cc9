"""A typed client with the methods of ``engine.home.Home``; it raises the engine's own errors."""

from collections.abc import Sequence
from functools import cached_property

from crossview.engine.item import one_or_several
from crossview.server.connection import Connection
from crossview.server.names import collection_name, parse_collection
from crossview.server.remote_collection import RemoteCollection
from crossview.server.remote_jobs import RemoteJobs
from crossview.v1 import collections_pb2 as pb


class Client(Connection):
    """The collections of a server at ``address`` (HOST:PORT); a context manager.

    Every method raises what the engine raises; and ServerUnavailableError where no server answers, ServerStoppedError
    where it stops meanwhile, ServerFaultError where it fails by itself, and DeadlineExceededError after ``timeout``.
    """

    @cached_property
    def jobs(self) -> RemoteJobs:
        """The server's jobs."""
        return RemoteJobs(self)

    def names(self) -> list[str]:
        """Names of the collections, in order."""
        pages = self.pages(self.collections.ListCollections, pb.ListCollectionsRequest())
        return [parse_collection(collection.name) for page in pages for collection in page.collections]

    def create(self, name: str, views: Sequence[str] = (), description: str = "") -> "RemoteCollection":
        """A new, empty collection; without views it has color, sift and gist."""
        request = pb.CreateCollectionRequest(collection_id=name, views=one_or_several(views), description=description)
        self.call(self.collections.CreateCollection, request)
        return RemoteCollection(self, name)

    def open(self, name: str) -> "RemoteCollection":
        """A collection that exists."""
        collection = RemoteCollection(self, name)
        self.call(self.collections.ListSpaces, pb.ListSpacesRequest(parent=collection.resource))
        return collection

    def delete(self, name: str) -> None:
        """Deletes a collection with all that is in it."""
        self.call(self.collections.DeleteCollection, pb.DeleteCollectionRequest(name=collection_name(name)))
