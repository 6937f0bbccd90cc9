"""The scripts that read the items of a collection on a server."""

from collections.abc import Sequence

from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.errors import warn_of
from crossview.engine.values.facet import FACET_VALUES, Facet
from crossview.engine.values.item import (
    DeletedPicture,
    Item,
    ValueCount,
    one_or_several,
)
from crossview.engine.values.query import (
    ITEMS_AT_ONCE,
    ItemEmbeddings,
    ItemNeighbors,
)
from crossview.server.client.script import Script, Stubs, ask, pages_of
from crossview.server.client.search_script import SearchScript
from crossview.server.wire import pages
from crossview.server.wire.convert import to_item_embeddings, to_item_neighbors, to_thumbnail_size, to_value
from crossview.server.wire.convert_conditions import from_filter
from crossview.server.wire.names import item_name
from crossview.server.wire.settings import THUMBNAILS_AT_ONCE
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import neighbors_pb2


class ItemScript(SearchScript):
    """The scripts that read items; see ``CollectionScript``."""

    def __init__(self, stubs: Stubs, name: str) -> None:
        super().__init__(stubs, name)
        self._collections = stubs.collections

    def deleted_pictures(self) -> Script[list[DeletedPicture]]:
        """Return the pictures whose items were deleted, in the order of keys."""
        request = pb.ListDeletedItemsRequest(parent=self.resource)
        responses = yield from pages_of(self._collections.ListDeletedItems, request)
        return [to_value(DeletedPicture, item) for page in responses for item in page.items]

    def list_items(
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
            page = yield from ask(self._collections.ListItems, request)
            items += [to_value(Item, item) for item in page.items]
            for text in page.warnings:
                warn_of(text)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        return items

    def count(self, filter: FilterForm = EVERY_ITEM) -> Script[int]:
        """Return how many items pass the filter."""
        request = pb.CountItemsRequest(parent=self.resource, filter=from_filter(filter))
        counted = yield from ask(self._collections.CountItems, request)
        for text in counted.warnings:
            warn_of(text)
        return counted.items

    def counts(self, field: str, filter: FilterForm = EVERY_ITEM, limit: int = 100) -> Script[list[ValueCount]]:
        """Return the values of a field with how many items have each."""
        request = pb.CountItemsRequest(parent=self.resource, filter=from_filter(filter), field=field, limit=limit)
        counted = yield from ask(self._collections.CountItems, request)
        for text in counted.warnings:
            warn_of(text)
        return [to_value(ValueCount, one) for one in counted.counts]

    def facets(
        self, fields: Sequence[str], filter: FilterForm = EVERY_ITEM, limit: int = FACET_VALUES, below: str = ""
    ) -> Script[list[Facet]]:
        """Return how the items that pass the filter are distributed over the values of each field."""
        request = pb.CountItemsRequest(
            parent=self.resource,
            filter=from_filter(filter),
            facets=one_or_several(fields),
            limit=limit,
            below=below,
        )
        counted = yield from ask(self._collections.CountItems, request)
        for text in counted.warnings:
            warn_of(text)
        return [to_value(Facet, one) for one in counted.facets]

    def keys(self) -> Script[tuple[str, ...]]:
        """Return the keys of all items, in their order."""
        keys: list[str] = []
        request = pb.ListItemsRequest(parent=self.resource, page_size=pages.LARGEST_SIZE)
        while True:
            page = yield from ask(self._collections.ListItems, request)
            keys += (item.key for item in page.items)
            if not page.next_page_token:
                return tuple(keys)
            request.page_token = page.next_page_token

    def attribute_names(self) -> Script[tuple[str, ...]]:
        """Return the names of the attributes that any item has."""
        request = pb.ListAttributesRequest(parent=self.resource)
        return tuple((yield from ask(self._collections.ListAttributes, request)).names)

    def item(self, key: str) -> Script[Item]:
        """Return one item."""
        request = pb.GetItemRequest(name=item_name(self.name, key))
        return to_value(Item, (yield from ask(self._collections.GetItem, request)))

    def thumbnail(self, key: str, size: str = "small") -> Script[bytes]:
        """Return the small or large picture of an item, JPEG."""
        request = pb.GetThumbnailRequest(name=item_name(self.name, key), size=to_thumbnail_size(size))
        return (yield from ask(self._collections.GetThumbnail, request)).image

    def thumbnails(self, keys: Sequence[str], size: str = "small") -> Script[list[bytes]]:
        """Return the small or large pictures of many items, JPEG; b"" for an item without one."""
        named, found = one_or_several(keys), list[bytes]()
        request = pb.GetThumbnailsRequest(parent=self.resource, size=to_thumbnail_size(size))
        while len(found) < len(named):
            request.keys[:] = named[len(found) : len(found) + THUMBNAILS_AT_ONCE]
            found += [one.image for one in (yield from ask(self._collections.GetThumbnails, request)).thumbnails]
        return found

    def embed_items(
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
        return to_item_embeddings((yield from ask(self._collections.EmbedItems, request)))

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
        return to_item_neighbors((yield from ask(self._collections.ListNeighbors, request)))
