"""The published collections of a server without a catalog: bundles from object storage, items in an engine."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

from google.protobuf.message import Message

from crossview.engine.collections.home import Home
from crossview.engine.publishing import aliases
from crossview.engine.publishing.address import engine_address
from crossview.engine.publishing.collection import PublishedCollection
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.features.picture_pool import PicturePool
from crossview.server.core.cache import OpenCollections
from crossview.server.core.dispatch.call import Served
from crossview.server.wire.errors import NotServedError

ANSWERED: Mapping[str, frozenset[str]] = {
    "SearchService": frozenset({"Search", "StreamSearch", "Embed", "SuggestLabels", "Same"}),
    "CollectionService": frozenset(
        {
            *("GetCollection", "ListCollections", "GetItem", "ListSpaces"),
            *("ImportItems", "StreamImportItems", "PutVectors", "UpdateItems", "DeleteItem", "DeleteItems"),
        }
    ),
}
"""The methods that such a server answers, by service."""


class PublishedCollections(OpenCollections):
    """The published collections of an engine, opened at their first use.

    ``home`` contains the keys of callers.
    """

    def __init__(self, home: Home, bundles: str, engine: str, pictures: PicturePool) -> None:
        super().__init__(home, pictures=pictures)
        self._storage, self._engine = ObjectStorage(bundles), Milvus(engine_address(engine))
        self._published: dict[str, PublishedCollection] = {}
        self._opening = threading.Lock()

    @contextmanager
    def use(self, name: str) -> Iterator[Any]:
        """Yield a published collection; raise the errors of ``PublishedCollection``."""
        collection = self._published.get(name)
        if collection is None:
            with self._opening:
                collection = self._published.get(name)
                if collection is None:
                    collection = PublishedCollection(name, self._storage, self._engine, self.pictures)
                    self._published[name] = collection
        yield collection

    @contextmanager
    def if_open(self, name: str) -> Iterator[None]:
        """Yield None: the event loop must not wait for an engine."""
        yield None

    def names(self) -> list[str]:
        """Return the names of the open collections, in order."""
        return sorted(self._published)

    def every_name(self) -> list[str]:
        """Return the names of all published collections, in order."""
        generations = aliases.all_pointed(self._engine).values()
        return sorted(str(aliases.description(self._engine, name)["name"]) for name in generations)

    def close(self, patience: float = 1.0) -> bool:
        """Close all collections and the connection to the engine."""
        for collection in self._published.values():
            collection.close()
        self._published.clear()
        self._engine.close()
        return super().close(patience)


def without_catalog(served: Mapping[str, Served]) -> dict[str, Served]:
    """Return the ways of answering the methods of a server, of which those that need a catalog are refused."""
    return {
        path: replace(handler, immediate=None)
        if handler.method.name in ANSWERED.get(handler.method.service.rpartition(".")[2], ())
        else Served(handler.method, _refusing(handler.method.name))
        for path, handler in served.items()
    }


def _refusing(name: str) -> Any:
    def refuse(request: Message, context: None) -> NoReturn:
        raise NotServedError(
            f"this server has a bundle and an engine, and {name} needs the catalog of the collection: call a server of "
            "the collection's home, and publish again"
        )

    return refuse
