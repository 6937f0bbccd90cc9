"""What the methods of a client do for the collections of its server."""

from collections.abc import Sequence

from crossview.engine.item import one_or_several
from crossview.server.client.script import Script, Stubs, ask, pages_of
from crossview.server.wire.names import collection_name, parse_collection
from crossview.v1 import collections_pb2 as pb


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
        """Delete a collection with all that is in it."""
        yield from ask(self._stub.DeleteCollection, pb.DeleteCollectionRequest(name=collection_name(name)))
