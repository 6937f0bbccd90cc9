"""Collections on a server, with the methods of ``engine.collections.collection.Collection``, blocking or awaited."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, Concatenate, Final, Self, Unpack, cast, overload

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.hits import HitLists
from crossview.engine.values.info import SpaceInfo, ViewInfo, collection_html
from crossview.engine.values.item import DEFAULT_INDEXING, ImportReport, IndexOptions, Item
from crossview.engine.values.map import MapInfo
from crossview.engine.values.markup import Markup
from crossview.engine.values.notebook import SAMPLE, shown
from crossview.engine.values.query import HITS_A_PAGE, HitList, OneQuery, SearchRequest, check_size, request_of
from crossview.server.client.async_connection import AsyncConnection, Bridge
from crossview.server.client.collection_script import CollectionScript
from crossview.server.client.detached import AsyncDetachedCollection, DetachedCollection
from crossview.server.client.remote_duplicates import AsyncDuplicateJudgements, RemoteDuplicateJudgements
from crossview.server.client.remote_feedback import AsyncFeedback, RemoteFeedback
from crossview.server.client.remote_questions import AsyncQuestions, RemoteQuestions
from crossview.server.client.script import P, R, Runner, awaited, blocking, streamed, streaming


class RemoteCollection:
    """A collection on a server, with the methods of ``engine.Collection``."""

    connection: Runner
    name: str

    def __init__(self, connection: Runner, name: str) -> None:
        self.connection, self.name = connection, name
        self.script: CollectionScript = CollectionScript(connection.stubs, name)
        self.resource: str = self.script.resource
        self.views: RemoteViews = RemoteViews(self)
        self.items: RemoteItems = RemoteItems(self)
        self.spaces: RemoteSpaces = RemoteSpaces(self)
        self.maps: RemoteMaps = RemoteMaps(self)
        self.storage: RemoteStorage = RemoteStorage(self)

    def __reduce__(self) -> Any:
        """Keep the connection and the name."""
        return type(self), (self.connection, self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<crossview collection {self.name!r} on the server at {self.connection.address}>"

    @shown
    def _repr_html_(self) -> Markup:
        return collection_html(self.info(), self.items(limit=SAMPLE, sample=SAMPLE), self.thumbnail)

    info: Final = blocking(CollectionScript.info)
    findings: Final = blocking(CollectionScript.findings)
    deleted_pictures: Final = blocking(CollectionScript.deleted_pictures)
    list_views: Final = blocking(CollectionScript.list_views)
    list_spaces: Final = blocking(CollectionScript.list_spaces)
    space: Final = blocking(CollectionScript.space)
    update_items: Final = blocking(CollectionScript.update_items)
    put_vectors: Final = blocking(CollectionScript.put_vectors)
    add_view: Final = blocking(CollectionScript.add_view)
    fit_views: Final = blocking(CollectionScript.fit_views)
    import_items: Final = blocking(CollectionScript.import_items)
    list_items: Final = blocking(CollectionScript.list_items)
    count: Final = blocking(CollectionScript.count)
    counts: Final = blocking(CollectionScript.counts)
    facets: Final = blocking(CollectionScript.facets)
    attribute_names: Final = blocking(CollectionScript.attribute_names)
    keys: Final = blocking(CollectionScript.keys)
    item: Final = blocking(CollectionScript.item)
    delete_items: Final = blocking(CollectionScript.delete_items)
    follow_files: Final = blocking(CollectionScript.follow_files)
    thumbnail: Final = blocking(CollectionScript.thumbnail)
    thumbnails: Final = blocking(CollectionScript.thumbnails)
    train: Final = blocking(CollectionScript.train)
    extend: Final = blocking(CollectionScript.extend)
    assign: Final = blocking(CollectionScript.assign)
    reindex: Final = blocking(CollectionScript.reindex)
    activate: Final = blocking(CollectionScript.activate)
    calibrate: Final = blocking(CollectionScript.calibrate)
    delete_space: Final = blocking(CollectionScript.delete_space)
    delete_view: Final = blocking(CollectionScript.delete_view)
    _search: Final = blocking(CollectionScript.search)
    _search_page: Final = blocking(CollectionScript.search_page)
    explain: Final = blocking(CollectionScript.explain)
    suggest: Final = blocking(CollectionScript.suggest)
    same: Final = blocking(CollectionScript.same)
    audit: Final = blocking(CollectionScript.audit)
    changes: Final = blocking(CollectionScript.changes)
    duplicates: Final = blocking(CollectionScript.duplicates)
    embed: Final = blocking(CollectionScript.embed)
    embed_items: Final = blocking(CollectionScript.embed_items)
    neighbors: Final = blocking(CollectionScript.neighbors)
    evaluate: Final = blocking(CollectionScript.evaluate)
    make_map: Final = blocking(CollectionScript.make_map)
    list_maps: Final = blocking(CollectionScript.list_maps)
    map: Final = blocking(CollectionScript.map)
    delete_map: Final = blocking(CollectionScript.delete_map)
    map_points: Final = blocking(CollectionScript.map_points)
    search_stream: Final = streaming(CollectionScript.search_stream)
    import_stream: Final = streaming(CollectionScript.import_stream)

    @overload
    def search(self, request: SearchRequest) -> list[HitList]: ...

    @overload
    def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...

    def search(self, request: SearchRequest | None = None, **query: Any) -> list[HitList]:
        """Return the nearest items of every query in every target; see ``Collection.search``."""
        found = self._search(request_of(request, cast(OneQuery, query)))
        return HitLists(one.illustrated(self.thumbnail) for one in found)

    @overload
    def search_pages(self, request: SearchRequest, size: int = HITS_A_PAGE) -> Iterator[list[HitList]]: ...

    @overload
    def search_pages(self, *, size: int = HITS_A_PAGE, **query: Unpack[OneQuery]) -> Iterator[list[HitList]]: ...

    def search_pages(
        self, request: SearchRequest | None = None, size: int = HITS_A_PAGE, **query: Any
    ) -> Iterator[list[HitList]]:
        """Yield all hits of a search, ``size`` at a time; see ``Collection.search_pages``."""
        wanted, token = request_of(request, cast(OneQuery, query)), ""
        check_size(size)
        while True:
            found, token = self._search_page(wanted, size, token)
            yield HitLists(one.illustrated(self.thumbnail) for one in found)
            if not token:
                return

    def index(
        self,
        paths: Sequence[Path | str],
        options: IndexOptions = DEFAULT_INDEXING,
        *,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Send the pictures below paths of this machine; the server ignores ``options.workers``."""
        from crossview.server.client.remote_index import index

        return index(self, paths, options, progress)

    def annotate(
        self,
        path: str | PathLike[str],
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Annotate items from a file of this machine; see ``engine.collections.items``."""
        from crossview.engine.catalog.ingest.annotations import annotate

        return annotate(self.items, path, cell, replace_labels, notion, new_attributes, progress)

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Send the rows of a file of this machine; see ``engine.collections.items``."""
        from crossview.engine.catalog.ingest.vectors import index_vectors

        return index_vectors(self.items, self.views, view, path, keys, progress)

    @property
    def questions(self) -> RemoteQuestions:
        """The questions to people about the items, and their answers."""
        return RemoteQuestions(self.connection, self.name)

    @property
    def duplicate_judgements(self) -> RemoteDuplicateJudgements:
        """The judgements of people on pairs of pictures."""
        return RemoteDuplicateJudgements(self.connection, self.name)

    @property
    def feedback(self) -> RemoteFeedback:
        """The judgements of items in searches, by which later searches go on."""
        return RemoteFeedback(self.connection, self.name)

    def detached(self) -> DetachedCollection:
        """Return this collection with long methods that return their job at once."""
        return DetachedCollection(self.connection, self.name)

    def close(self) -> None:
        """Do nothing: the collection stays open on the server."""


class RemoteItems:
    """The items of a collection on a server; call the object to list the items. See ``engine.collections.items``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self._list = collection.list_items
        self.count: Final = collection.count
        self.get: Final = collection.item
        self.thumbnail: Final = collection.thumbnail
        self.thumbnails: Final = collection.thumbnails
        self.counts: Final = collection.counts
        self.facets: Final = collection.facets
        self.keys: Final = collection.keys
        self.attribute_names: Final = collection.attribute_names
        self.deleted: Final = collection.deleted_pictures
        self.put: Final = collection.import_items
        self.update: Final = collection.update_items
        self.delete: Final = collection.delete_items
        self.annotate: Final = collection.annotate
        self.follow_files: Final = collection.follow_files
        self.put_vectors: Final = collection.put_vectors
        self.index_vectors: Final = collection.index_vectors
        self.embed: Final = collection.embed_items
        self.neighbors: Final = collection.neighbors

    def __call__(
        self,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = 100,
        *,
        sort_by: str = "",
        sample: int = 0,
        seed: int = 0,
    ) -> list[Item]:
        """Return items; see ``engine.collections.items.Items``."""
        return self._list(filter, after, limit, sort_by=sort_by, sample=sample, seed=seed)


class RemoteViews:
    """The views of a collection on a server; call the object to list the views. See ``engine.collections.views``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self._list = collection.list_views
        self.add: Final = collection.add_view
        self.fit: Final = collection.fit_views
        self.delete: Final = collection.delete_view

    def __call__(self) -> tuple[ViewInfo, ...]:
        """Return the views."""
        return self._list()


class RemoteSpaces:
    """The spaces of a collection on a server; call the object to list the spaces. See ``engine.collections.spaces``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self._list = collection.list_spaces
        self.get: Final = collection.space
        self.delete: Final = collection.delete_space
        self.extend: Final = collection.extend
        self.assign: Final = collection.assign
        self.activate: Final = collection.activate
        self.reindex: Final = collection.reindex
        self.calibrate: Final = collection.calibrate

    def __call__(self) -> tuple[SpaceInfo, ...]:
        """Return the trained spaces, then ``raw``, which contains the views themselves."""
        return self._list()


class RemoteMaps:
    """The maps of a collection on a server; call the object to list the maps. See ``engine.collections.maps``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self._list = collection.list_maps
        self.make: Final = collection.make_map
        self.get: Final = collection.map
        self.delete: Final = collection.delete_map
        self.points: Final = collection.map_points

    def __call__(self) -> tuple[MapInfo, ...]:
        """Return the maps, the newest first."""
        return self._list()


class RemoteStorage:
    """The storage of a collection on a server; see ``engine.collections.storage``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self.findings: Final = collection.findings


def _in_thread(
    method: Callable[Concatenate[RemoteCollection, P], R],
) -> Callable[Concatenate["AsyncCollection", P], Coroutine[Any, Any, R]]:
    """Return a coroutine that runs a blocking method in a thread, and its calls of the server in the event loop."""

    @wraps(method)
    async def threaded(self: "AsyncCollection", /, *args: P.args, **kwargs: P.kwargs) -> R:
        bridge = Bridge(self.connection)
        try:
            return await asyncio.to_thread(method, RemoteCollection(bridge, self.name), *args, **kwargs)
        finally:
            bridge.close()

    return threaded


class AsyncCollection:
    """A collection on a server: the methods of ``RemoteCollection``, awaited.

    ``items``, ``views`` and ``spaces`` are methods that list the items, views and spaces; their other methods have flat
    names, such as ``add_view``.

    Methods call ``progress`` in the event loop; ``index``, ``annotate`` and ``index_vectors``, which read files, call
    it in a thread.
    """

    connection: AsyncConnection
    name: str

    def __init__(self, connection: AsyncConnection, name: str) -> None:
        self.connection, self.name = connection, name
        self.script: CollectionScript = CollectionScript(connection.stubs, name)

    def __repr__(self) -> str:
        return f"<crossview collection {self.name!r} on the server at {self.connection.address}>"

    info: Final = awaited(CollectionScript.info)
    findings: Final = awaited(CollectionScript.findings)
    deleted_pictures: Final = awaited(CollectionScript.deleted_pictures)
    views: Final = awaited(CollectionScript.list_views)
    spaces: Final = awaited(CollectionScript.list_spaces)
    space: Final = awaited(CollectionScript.space)
    update_items: Final = awaited(CollectionScript.update_items)
    put_vectors: Final = awaited(CollectionScript.put_vectors)
    add_view: Final = awaited(CollectionScript.add_view)
    fit_views: Final = awaited(CollectionScript.fit_views)
    import_items: Final = awaited(CollectionScript.import_items)
    items: Final = awaited(CollectionScript.list_items)
    count: Final = awaited(CollectionScript.count)
    counts: Final = awaited(CollectionScript.counts)
    facets: Final = awaited(CollectionScript.facets)
    attribute_names: Final = awaited(CollectionScript.attribute_names)
    keys: Final = awaited(CollectionScript.keys)
    item: Final = awaited(CollectionScript.item)
    delete_items: Final = awaited(CollectionScript.delete_items)
    follow_files: Final = awaited(CollectionScript.follow_files)
    thumbnail: Final = awaited(CollectionScript.thumbnail)
    thumbnails: Final = awaited(CollectionScript.thumbnails)
    train: Final = awaited(CollectionScript.train)
    extend: Final = awaited(CollectionScript.extend)
    assign: Final = awaited(CollectionScript.assign)
    reindex: Final = awaited(CollectionScript.reindex)
    activate: Final = awaited(CollectionScript.activate)
    calibrate: Final = awaited(CollectionScript.calibrate)
    delete_space: Final = awaited(CollectionScript.delete_space)
    delete_view: Final = awaited(CollectionScript.delete_view)
    _search: Final = awaited(CollectionScript.search)
    _search_page: Final = awaited(CollectionScript.search_page)
    explain: Final = awaited(CollectionScript.explain)
    suggest: Final = awaited(CollectionScript.suggest)
    same: Final = awaited(CollectionScript.same)
    audit: Final = awaited(CollectionScript.audit)
    changes: Final = awaited(CollectionScript.changes)
    duplicates: Final = awaited(CollectionScript.duplicates)
    embed: Final = awaited(CollectionScript.embed)
    embed_items: Final = awaited(CollectionScript.embed_items)
    neighbors: Final = awaited(CollectionScript.neighbors)
    evaluate: Final = awaited(CollectionScript.evaluate)
    make_map: Final = awaited(CollectionScript.make_map)
    maps: Final = awaited(CollectionScript.list_maps)
    map: Final = awaited(CollectionScript.map)
    delete_map: Final = awaited(CollectionScript.delete_map)
    map_points: Final = awaited(CollectionScript.map_points)
    search_stream: Final = streamed(CollectionScript.search_stream)
    import_stream: Final = streamed(CollectionScript.import_stream)
    index: Final = _in_thread(RemoteCollection.index)
    annotate: Final = _in_thread(RemoteCollection.annotate)
    index_vectors: Final = _in_thread(RemoteCollection.index_vectors)

    @overload
    async def search(self, request: SearchRequest) -> list[HitList]: ...

    @overload
    async def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...

    async def search(self, request: SearchRequest | None = None, **query: Any) -> list[HitList]:
        """Return the nearest items of every query in every target; see ``Collection.search``."""
        return await self._search(request_of(request, cast(OneQuery, query)))

    @overload
    def search_pages(self, request: SearchRequest, size: int = HITS_A_PAGE) -> AsyncIterator[list[HitList]]: ...

    @overload
    def search_pages(self, *, size: int = HITS_A_PAGE, **query: Unpack[OneQuery]) -> AsyncIterator[list[HitList]]: ...

    async def search_pages(
        self, request: SearchRequest | None = None, size: int = HITS_A_PAGE, **query: Any
    ) -> AsyncIterator[list[HitList]]:
        """Yield all hits of a search, ``size`` at a time; see ``Collection.search_pages``."""
        wanted, token = request_of(request, cast(OneQuery, query)), ""
        check_size(size)
        while True:
            found, token = await self._search_page(wanted, size, token)
            yield found
            if not token:
                return

    @property
    def questions(self) -> AsyncQuestions:
        """The questions to people about the items, and their answers."""
        return AsyncQuestions(self.connection, self.name)

    @property
    def duplicate_judgements(self) -> AsyncDuplicateJudgements:
        """The judgements of people on pairs of pictures."""
        return AsyncDuplicateJudgements(self.connection, self.name)

    @property
    def feedback(self) -> AsyncFeedback:
        """The judgements of items in searches, by which later searches go on."""
        return AsyncFeedback(self.connection, self.name)

    def detached(self) -> AsyncDetachedCollection:
        """Return this collection with long methods that return their job at once."""
        return AsyncDetachedCollection(self.connection, self.name)
