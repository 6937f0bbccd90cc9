"""A collection on a server, with the methods of ``engine.collection.Collection``: they wait, or are awaited."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate

from crossview.engine.item import DEFAULT_INDEXING, ImportReport, IndexOptions
from crossview.engine.runtime.progress import Progress
from crossview.server.client.async_connection import AsyncConnection, Bridge
from crossview.server.client.collection_script import CollectionScript
from crossview.server.client.detached import AsyncDetachedCollection, DetachedCollection
from crossview.server.client.remote_questions import AsyncQuestions, RemoteQuestions
from crossview.server.client.script import P, R, Runner, awaited, blocking, streamed, streaming


class RemoteCollection:
    """A collection on a server, with the methods of ``engine.Collection``."""

    def __init__(self, connection: Runner, name: str) -> None:
        self.connection, self.name = connection, name
        self.script = CollectionScript(connection.stubs, name)
        self.resource = self.script.resource

    info = blocking(CollectionScript.info)
    findings = blocking(CollectionScript.findings)
    deleted_pictures = blocking(CollectionScript.deleted_pictures)
    views = blocking(CollectionScript.views)
    spaces = blocking(CollectionScript.spaces)
    space = blocking(CollectionScript.space)
    update_items = blocking(CollectionScript.update_items)
    put_vectors = blocking(CollectionScript.put_vectors)
    add_view = blocking(CollectionScript.add_view)
    fit_views = blocking(CollectionScript.fit_views)
    import_items = blocking(CollectionScript.import_items)
    items = blocking(CollectionScript.items)
    count = blocking(CollectionScript.count)
    attribute_names = blocking(CollectionScript.attribute_names)
    item = blocking(CollectionScript.item)
    delete_items = blocking(CollectionScript.delete_items)
    thumbnail = blocking(CollectionScript.thumbnail)
    train = blocking(CollectionScript.train)
    extend = blocking(CollectionScript.extend)
    assign = blocking(CollectionScript.assign)
    activate = blocking(CollectionScript.activate)
    calibrate = blocking(CollectionScript.calibrate)
    delete_space = blocking(CollectionScript.delete_space)
    delete_view = blocking(CollectionScript.delete_view)
    search = blocking(CollectionScript.search)
    suggest = blocking(CollectionScript.suggest)
    same = blocking(CollectionScript.same)
    changes = blocking(CollectionScript.changes)
    embed = blocking(CollectionScript.embed)
    embed_items = blocking(CollectionScript.embed_items)
    evaluate = blocking(CollectionScript.evaluate)
    search_stream = streaming(CollectionScript.search_stream)
    import_stream = streaming(CollectionScript.import_stream)

    def index(
        self,
        paths: Sequence[Path | str],
        options: IndexOptions = DEFAULT_INDEXING,
        *,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Sends the pictures below paths of this machine; ``workers`` is the server's own choice."""
        from crossview.server.client.remote_index import index

        return index(self, paths, options, progress)

    def annotate(
        self,
        path: Path | str,
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Annotates items from a file of this machine; see ``Collection.annotate``."""
        from crossview.engine.ingest.annotations import annotate

        return annotate(self, path, cell, replace_labels, notion, new_attributes, progress)

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Sends the rows of a file of this machine; see ``Collection.index_vectors``."""
        from crossview.engine.ingest.vectors import index_vectors

        return index_vectors(self, view, path, keys, progress)

    @property
    def questions(self) -> RemoteQuestions:
        """Questions to people about its items, and their answers."""
        return RemoteQuestions(self.connection, self.name)

    def detached(self) -> DetachedCollection:
        """The same collection, whose long methods return at once with the job that carries them out."""
        return DetachedCollection(self.connection, self.name)

    def close(self) -> None:
        """Does nothing: the collection stays open on the server."""


def _in_thread(
    method: Callable[Concatenate[RemoteCollection, P], R],
) -> Callable[Concatenate["AsyncCollection", P], Coroutine[Any, Any, R]]:
    """The method that reads files of this machine in a thread, and calls the server in the event loop."""

    @wraps(method)
    async def threaded(self: "AsyncCollection", /, *args: P.args, **kwargs: P.kwargs) -> R:
        bridge = Bridge(self.connection)
        try:
            return await asyncio.to_thread(method, RemoteCollection(bridge, self.name), *args, **kwargs)
        finally:
            bridge.leave()

    return threaded


class AsyncCollection:
    """A collection on a server: the methods of ``RemoteCollection``, awaited.

    A method with ``progress`` calls it in the event loop; ``index``, ``annotate`` and ``index_vectors``, which read
    files, call it in a thread.
    """

    def __init__(self, connection: AsyncConnection, name: str) -> None:
        self.connection, self.name = connection, name
        self.script = CollectionScript(connection.stubs, name)

    info = awaited(CollectionScript.info)
    findings = awaited(CollectionScript.findings)
    deleted_pictures = awaited(CollectionScript.deleted_pictures)
    views = awaited(CollectionScript.views)
    spaces = awaited(CollectionScript.spaces)
    space = awaited(CollectionScript.space)
    update_items = awaited(CollectionScript.update_items)
    put_vectors = awaited(CollectionScript.put_vectors)
    add_view = awaited(CollectionScript.add_view)
    fit_views = awaited(CollectionScript.fit_views)
    import_items = awaited(CollectionScript.import_items)
    items = awaited(CollectionScript.items)
    count = awaited(CollectionScript.count)
    attribute_names = awaited(CollectionScript.attribute_names)
    item = awaited(CollectionScript.item)
    delete_items = awaited(CollectionScript.delete_items)
    thumbnail = awaited(CollectionScript.thumbnail)
    train = awaited(CollectionScript.train)
    extend = awaited(CollectionScript.extend)
    assign = awaited(CollectionScript.assign)
    activate = awaited(CollectionScript.activate)
    calibrate = awaited(CollectionScript.calibrate)
    delete_space = awaited(CollectionScript.delete_space)
    delete_view = awaited(CollectionScript.delete_view)
    search = awaited(CollectionScript.search)
    suggest = awaited(CollectionScript.suggest)
    same = awaited(CollectionScript.same)
    changes = awaited(CollectionScript.changes)
    embed = awaited(CollectionScript.embed)
    embed_items = awaited(CollectionScript.embed_items)
    evaluate = awaited(CollectionScript.evaluate)
    search_stream = streamed(CollectionScript.search_stream)
    import_stream = streamed(CollectionScript.import_stream)
    index = _in_thread(RemoteCollection.index)
    annotate = _in_thread(RemoteCollection.annotate)
    index_vectors = _in_thread(RemoteCollection.index_vectors)

    @property
    def questions(self) -> AsyncQuestions:
        """Questions to people about its items, and their answers."""
        return AsyncQuestions(self.connection, self.name)

    def detached(self) -> AsyncDetachedCollection:
        """The same collection, whose long methods return at once with the job that carries them out."""
        return AsyncDetachedCollection(self.connection, self.name)
