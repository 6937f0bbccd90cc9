"""After a publication: later changes are sent, and published collections are listed and removed."""

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import TypedDict

from crossview.engine.collections.collection import Collection
from crossview.engine.publishing import aliases
from crossview.engine.publishing.generation import Generation, Names, alias_of, drop
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.publication import Publication, PublishRequest
from crossview.engine.publishing.publish import CatalogFilling, publish
from crossview.engine.publishing.serving import Serving
from crossview.engine.values.errors import EngineUnavailableError, NotReadyError

_LOOK_EVERY = 1.0
"""Seconds between two looks at the catalog."""


class Listed(TypedDict):
    """A published collection."""

    name: str
    space: str
    bundle: str
    items: int
    generations: int


def follow(collection: Collection, request: PublishRequest, stopping: threading.Event) -> Iterator[Publication]:
    """Send the changes of a collection to its engine until an event; yield each publication that an alias went over to.

    Another generation of the space is published as a whole. An engine that does not answer is asked again.

    Raises the errors of ``publish``.
    """
    done = publish(collection, request)
    if done.switched:
        yield done
    while not stopping.is_set():
        if request.engine is None:
            return
        path = "/".join(done.bundle.rsplit("/", 2)[1:])
        with closing(Serving(ObjectStorage(request.to), path, request.engine)) as serving:
            filling = CatalogFilling(collection, serving, request.index)
            while not stopping.wait(_LOOK_EVERY) and _generation(collection, done.space) == done.generation:
                try:
                    filling.follow()
                except EngineUnavailableError:
                    continue
        if not stopping.is_set():
            done = publish(collection, request)
            yield done


def _generation(collection: Collection, space: str) -> int:
    """Return the generation of a space that is in use; 0 for ``raw``."""
    return next((info.generation for info in collection.spaces() if info.name == space and info.generations), 0)


def listed(engine: Milvus) -> list[Listed]:
    """Return the published collections of an engine, by name."""
    collections = list[Listed]()
    for alias, collection in aliases.all_pointed(engine).items():
        facts = aliases.description(engine, collection)
        generation = Generation(engine=engine, names=Names.of_items(collection), views=(), targets=(), indexes={})
        collections.append(
            Listed(
                name=facts["name"],
                space=facts["space"],
                bundle=facts["bundle"],
                items=generation.count(),
                generations=len(aliases.generations(engine, alias)),
            )
        )
    return sorted(collections, key=lambda entry: entry["name"])


def remove(engine: Milvus, name: str) -> int:
    """Remove a published collection from an engine; return how many generations it had.

    Raises NotReadyError if the engine does not have it.
    """
    generations = aliases.generations(engine, alias_of(name))
    if not generations and not aliases.pointed(engine, name):
        raise NotReadyError(f"engine {engine.address} has no published collection {name!r}")
    aliases.remove(engine, name)
    for generation in generations:
        drop(engine, generation)
    return len(generations)
