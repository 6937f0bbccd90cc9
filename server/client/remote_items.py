"""The items and views of a collection on a server: each method encodes its arguments and decodes the response."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.errors import warn_of
from crossview.engine.values.facet import FACET_VALUES, Facet
from crossview.engine.values.info import ViewInfo
from crossview.engine.values.item import (
    DeletedPicture,
    Failure,
    FileChanges,
    ImportReport,
    Item,
    ItemUpdate,
    NewItem,
    Picture,
    PictureForm,
    ValueCount,
    new_items,
    one_or_several,
    pictures_of,
)
from crossview.engine.values.query import ITEMS_AT_ONCE, ItemEmbeddings, ItemNeighbors
from crossview.server.client.script import (
    C,
    CollectionScripts,
    Exchange,
    Runner,
    Script,
    Stubs,
    ask,
    call,
    local,
    pages_of,
    stream,
)
from crossview.server.wire import pages
from crossview.server.wire.convert import (
    from_new_item,
    from_picture,
    from_update,
    messages_of,
    to_collection,
    to_item_embeddings,
    to_item_neighbors,
    to_thumbnail_size,
    to_value,
)
from crossview.server.wire.convert_conditions import from_filter, from_row
from crossview.server.wire.message_batches import batches, merged
from crossview.server.wire.names import item_name
from crossview.server.wire.settings import THUMBNAILS_AT_ONCE
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import neighbors_pb2

ROWS_AT_ONCE = 1_000
"""Maximum number of updates or rows in one message."""


class RemoteItems(CollectionScripts[C]):
    """The items of a collection on a server; call the object to list the items. See ``engine.collections.items``."""

    @call
    def __call__(
        self,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = 100,
        *,
        sort_by: str = "",
        sample: int = 0,
        seed: int = 0,
    ) -> Script[list[Item]]:
        """Return the items after a key; see ``engine.collections.items.Items``."""
        items: list[Item] = []
        request = pb.ListItemsRequest(
            parent=self.resource, filter=from_filter(filter), sort_by=sort_by, sample=sample, seed=seed
        )
        request.page_token = pages.to_token(after)
        while len(items) < limit:
            request.page_size = min(limit - len(items), pages.LARGEST_SIZE)
            page = yield from ask(self.stubs.collections.ListItems, request)
            items += [to_value(Item, item) for item in page.items]
            for text in page.warnings:
                warn_of(text)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        return items

    @call
    def get(self, key: str) -> Script[Item]:
        """Return one item."""
        request = pb.GetItemRequest(name=item_name(self.name, key))
        return to_value(Item, (yield from ask(self.stubs.collections.GetItem, request)))

    @call
    def count(self, filter: FilterForm = EVERY_ITEM) -> Script[int]:
        """Return how many items pass the filter."""
        request = pb.CountItemsRequest(parent=self.resource, filter=from_filter(filter))
        return (yield from counted(self.stubs, request)).items

    @call
    def counts(self, field: str, filter: FilterForm = EVERY_ITEM, limit: int = 100) -> Script[list[ValueCount]]:
        """Return the values of a field with how many items have each."""
        request = pb.CountItemsRequest(parent=self.resource, filter=from_filter(filter), field=field, limit=limit)
        return [to_value(ValueCount, count) for count in (yield from counted(self.stubs, request)).counts]

    @call
    def facets(
        self, fields: Sequence[str], filter: FilterForm = EVERY_ITEM, limit: int = FACET_VALUES, below: str = ""
    ) -> Script[list[Facet]]:
        """Return how the items that pass the filter are distributed over the values of each field."""
        facets, condition = one_or_several(fields), from_filter(filter)
        request = pb.CountItemsRequest(parent=self.resource, filter=condition, facets=facets, limit=limit, below=below)
        return [to_value(Facet, facet) for facet in (yield from counted(self.stubs, request)).facets]

    @call
    def keys(self) -> Script[tuple[str, ...]]:
        """Return the keys of all items, in their order."""
        keys: list[str] = []
        request = pb.ListItemsRequest(parent=self.resource, page_size=pages.LARGEST_SIZE)
        while True:
            page = yield from ask(self.stubs.collections.ListItems, request)
            keys += (item.key for item in page.items)
            if not page.next_page_token:
                return tuple(keys)
            request.page_token = page.next_page_token

    @call
    def attribute_names(self) -> Script[tuple[str, ...]]:
        """Return the names of the attributes that any item has."""
        request = pb.ListAttributesRequest(parent=self.resource)
        return tuple((yield from ask(self.stubs.collections.ListAttributes, request)).names)

    @call
    def deleted(self) -> Script[list[DeletedPicture]]:
        """Return the pictures whose items were deleted, in the order of keys."""
        request = pb.ListDeletedItemsRequest(parent=self.resource)
        responses = yield from pages_of(self.stubs.collections.ListDeletedItems, request)
        return [to_value(DeletedPicture, item) for page in responses for item in page.items]

    @call
    def thumbnail(self, key: str, size: str = "small") -> Script[bytes]:
        """Return the small or large picture of an item, JPEG."""
        request = pb.GetThumbnailRequest(name=item_name(self.name, key), size=to_thumbnail_size(size))
        return (yield from ask(self.stubs.collections.GetThumbnail, request)).image

    @call
    def thumbnails(self, keys: Sequence[str], size: str = "small") -> Script[list[bytes]]:
        """Return the small or large pictures of many items, JPEG; b"" for an item without one."""
        every_key, images = one_or_several(keys), list[bytes]()
        request = pb.GetThumbnailsRequest(parent=self.resource, size=to_thumbnail_size(size))
        while len(images) < len(every_key):
            request.keys[:] = every_key[len(images) : len(images) + THUMBNAILS_AT_ONCE]
            response = yield from ask(self.stubs.collections.GetThumbnails, request)
            images += [thumbnail.image for thumbnail in response.thumbnails]
        return images

    @call
    def put(self, items: Iterable[NewItem], workers: int = 1) -> Script[ImportReport]:
        """Add or update items, in batches below the message limit; the server ignores ``workers``."""
        failures: list[Failure] = []
        reports = []
        for batch in batches(messages_of(new_items(items), from_new_item, failures), pb.NewItem.ByteSize):
            request = pb.ImportItemsRequest(parent=self.resource, items=batch)
            reports.append(to_value(ImportReport, (yield from ask(self.stubs.collections.ImportItems, request))))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    @stream
    def put_stream(self, items: Iterable[NewItem]) -> Exchange[ImportReport]:
        """Add or update items in one stream, and yield a report for each batch that is on disk.

        The stream reads further items as the server writes earlier ones. The last report lists the items that no
        message can contain as failures.
        """
        failures: list[Failure] = []
        sent = batches(messages_of(new_items(items), from_new_item, failures), pb.NewItem.ByteSize)
        requests = (pb.ImportItemsRequest(parent=self.resource, items=batch) for batch in sent)

        def rest() -> list[ImportReport]:
            return [ImportReport(failures=tuple(failures))] if failures else []

        return Exchange(self.stubs.collections.StreamImportItems, requests, partial(to_value, ImportReport), rest)

    @call
    def update(
        self, updates: Collection[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> Script[ImportReport]:
        """Change labels, attributes and texts of items, in batches below the message limit."""
        failures: list[Failure] = []
        reports: list[ImportReport] = []
        done = 0
        for batch in batches(messages_of(updates, from_update, failures), pb.ItemUpdate.ByteSize, ROWS_AT_ONCE):
            request = pb.UpdateItemsRequest(parent=self.resource, updates=batch, match_paths=match_paths)
            reports.append(to_value(ImportReport, (yield from ask(self.stubs.collections.UpdateItems, request))))
            done += len(batch)
            if progress is not None:
                progress("updating", done + len(failures), len(updates))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    @local
    def annotate(
        self: "RemoteItems[Runner]",
        path: str | PathLike[str],
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Annotate items from a file of this machine; see ``engine.collections.items``."""
        from crossview.engine.catalog.ingest.annotations import annotate

        return annotate(self, path, cell, replace_labels, notion, new_attributes, progress)

    @call
    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> Script[ImportReport]:
        """Store rows of a view, in batches below the message limit."""
        from crossview.engine.catalog.ingest.vectors import check_keys

        check_keys(keys, len(rows))
        reports = []
        for batch in batches(zip(one_or_several(keys), rows, strict=True), lambda pair: pair[1].nbytes, ROWS_AT_ONCE):
            request = pb.PutVectorsRequest(parent=self.resource, view=view, keys=[key for key, _ in batch])
            request.rows.extend(from_row(row) for _, row in batch)
            reports.append(to_value(ImportReport, (yield from ask(self.stubs.collections.PutVectors, request))))
        return merged(reports)

    @local
    def index_vectors(
        self: "RemoteItems[Runner]", view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Send the rows of a file of this machine; see ``engine.collections.items``."""
        from crossview.engine.catalog.ingest.vectors import index_vectors

        return index_vectors(self, RemoteViews(self.connection, self.name), view, path, keys, progress)

    @call
    def delete(self, keys: Sequence[str]) -> Script[int]:
        """Delete the items that exist, and return how many."""
        request = pb.DeleteItemsRequest(parent=self.resource, keys=one_or_several(keys))
        return (yield from ask(self.stubs.collections.DeleteItems, request)).deleted

    @call
    def follow_files(self, changes: FileChanges) -> Script[None]:
        """Move items along with their files, and mark those whose files are missing."""
        moved = [pb.FileMove(**move._asdict()) for move in changes.moved]
        request = pb.FollowFilesRequest(parent=self.resource, moved=moved, missing=changes.missing, found=changes.found)
        yield from ask(self.stubs.collections.FollowFiles, request)

    @call
    def embed(
        self,
        view: str,
        *,
        space: str = "",
        target: str = "",
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = ITEMS_AT_ONCE,
    ) -> Script[ItemEmbeddings]:
        """Return the vectors of items with keys above ``after``."""
        request = pb.EmbedItemsRequest(
            parent=self.resource,
            view=view,
            space=space,
            target=target,
            page_size=limit,
            page_token=pages.to_token(after),
            filter=from_filter(filter),
        )
        return to_item_embeddings((yield from ask(self.stubs.collections.EmbedItems, request)))

    @call
    def neighbors(
        self,
        view: str,
        *,
        target: str = "",
        space: str = "",
        k: int = 15,
        filter: FilterForm = EVERY_ITEM,
        after: str = "",
        limit: int = ITEMS_AT_ONCE,
    ) -> Script[ItemNeighbors]:
        """Return the nearest other items of items with keys above ``after``."""
        request = neighbors_pb2.ListNeighborsRequest(
            parent=self.resource,
            view=view,
            space=space,
            target=target,
            k=k,
            page_size=limit,
            page_token=pages.to_token(after),
            filter=from_filter(filter),
        )
        return to_item_neighbors((yield from ask(self.stubs.collections.ListNeighbors, request)))


def counted(stubs: Stubs, request: pb.CountItemsRequest) -> Script[pb.CountItemsResponse]:
    """Count items, and warn of what the server warns of, as a script."""
    response = yield from ask(stubs.collections.CountItems, request)
    for text in response.warnings:
        warn_of(text)
    return response


class RemoteViews(CollectionScripts[C]):
    """The views of a collection on a server; call the object to list the views. See ``engine.collections.views``."""

    @call
    def __call__(self) -> Script[tuple[ViewInfo, ...]]:
        """Return the views."""
        request = pb.GetCollectionRequest(name=self.resource)
        return to_collection((yield from ask(self.stubs.collections.GetCollection, request))).views

    @call
    def add(self, spec: str) -> Script[ViewInfo]:
        """Add a view."""
        request = pb.AddViewRequest(parent=self.resource, spec=spec)
        return to_value(ViewInfo, (yield from ask(self.stubs.collections.AddView, request)))

    @call
    def fit(
        self,
        images: Iterable[PictureForm | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> Script[tuple[ViewInfo, ...]]:
        """Fit views from a sample of pictures or the items' texts; the server ignores ``workers``."""

        def requests() -> Iterator[pb.FitViewsRequest]:
            yield pb.FitViewsRequest(parent=self.resource, views=one_or_several(views or ()), seed=seed, refit=refit)
            for batch in batches(map(from_picture, pictures_of(images)), pb.Picture.ByteSize):
                yield pb.FitViewsRequest(pictures=batch)

        response = yield from ask(self.stubs.collections.FitViews, requests())
        return tuple(to_value(ViewInfo, view) for view in response.views)

    @call
    def delete(self, view: str) -> Script[None]:
        """Delete a view with its rows."""
        request = pb.DeleteViewRequest(parent=self.resource, view=view)
        yield from ask(self.stubs.collections.DeleteView, request)
