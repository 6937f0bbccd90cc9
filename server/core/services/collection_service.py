"""The collection service: a method opens the collection of its request, calls the engine and converts the result."""
# ruff: noqa: N802 - methods have the names of their rpcs

from collections.abc import Iterator
from itertools import accumulate, chain

from google.protobuf.empty_pb2 import Empty

from crossview.engine.values.audit import AuditRequest
from crossview.engine.values.errors import InvalidInputError, collected_warnings
from crossview.engine.values.item import Picture
from crossview.engine.values.map import POINTS_A_PAGE
from crossview.engine.values.query import ITEMS_AT_ONCE, CalibrationRequest
from crossview.server.core.cache import OpenCollections
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.core.writing.item_writes import ItemWrites
from crossview.server.wire import pages
from crossview.server.wire.convert import (
    from_collection,
    from_item,
    from_item_embeddings,
    from_item_neighbors,
    from_map,
    from_map_points,
    from_space,
    from_thumbnail_size,
    to_message,
    to_picture,
    to_value,
)
from crossview.server.wire.convert_conditions import to_filter
from crossview.server.wire.identity import identity_here
from crossview.server.wire.message_batches import batches
from crossview.server.wire.names import collection_name, parse_collection, parse_item, parse_space
from crossview.server.wire.settings import THUMBNAILS_AT_ONCE
from crossview.v1 import audit_pb2, facets_pb2, maps_pb2, names_pb2, neighbors_pb2, types_pb2
from crossview.v1 import collections_pb2 as pb

COUNTS, MOST_COUNTS = 100, 10_000
"""Number of values that are counted by default, and at most."""
_THUMBNAIL_BYTES = 16 << 20
"""Maximum bytes of the thumbnails of a response."""
NEIGHBORS = 15
"""Number of neighbours of an item by default."""


class CollectionService(ItemWrites):
    """The service that creates, fills and describes the collections of a server.

    ``jobs`` runs trainings and evaluations. ``workers`` is the number of processes that compute feature rows for an
    import.
    """

    def __init__(self, collections: OpenCollections, jobs: Jobs, workers: int = 1) -> None:
        super().__init__(collections, workers)
        self.jobs = jobs

    def CreateCollection(self, request: pb.CreateCollectionRequest, context: None) -> pb.Collection:
        """Create an empty collection."""
        info = self.collections.create(request.collection_id, tuple(request.views), request.description)
        return from_collection(info)

    def GetCollection(self, request: pb.GetCollectionRequest, context: None) -> pb.Collection:
        """Return the description of a collection."""
        with self.collections.use(parse_collection(request.name)) as collection:
            return from_collection(collection.info())

    def ListCollections(self, request: pb.ListCollectionsRequest, context: None) -> pb.ListCollectionsResponse:
        """Return a page of names."""
        size, after = pages.page_size(request.page_size), pages.from_token(request.page_token)
        who = identity_here()
        names = [name for name in self.collections.every_name() if name > after and who.reaches(name)]
        return pb.ListCollectionsResponse(
            collections=[pb.Collection(name=collection_name(name)) for name in names[:size]],
            next_page_token=pages.to_token(names[size - 1]) if len(names) > size else "",
        )

    def DeleteCollection(self, request: pb.DeleteCollectionRequest, context: None) -> Empty:
        """Delete a collection with all its data, and cancel its jobs."""
        name = parse_collection(request.name)
        self.collections.delete(name)
        self.jobs.cancel_all(name)
        return Empty()

    def RenameCollection(self, request: names_pb2.RenameCollectionRequest, context: None) -> pb.Collection:
        """Rename a collection without unfinished jobs."""
        name = parse_collection(request.name)
        self.jobs.check_none(name)
        self.collections.rename(name, request.collection_id, request.keep_alias)
        return pb.Collection(name=collection_name(request.collection_id))

    def CopyCollection(self, request: names_pb2.CopyCollectionRequest, context: None) -> pb.Collection:
        """Copy a collection."""
        with self.collections.home.copy(parse_collection(request.name), request.collection_id) as copy:
            return from_collection(copy.info())

    def SetAlias(self, request: names_pb2.SetAliasRequest, context: None) -> names_pb2.Alias:
        """Make a name stand for a collection."""
        alias = request.alias.alias_id
        name = self.collections.home.set_alias(alias, parse_collection(request.alias.collection))
        return names_pb2.Alias(alias_id=alias, collection=collection_name(name))

    def DeleteAlias(self, request: names_pb2.DeleteAliasRequest, context: None) -> Empty:
        """Delete an alias."""
        self.collections.home.delete_alias(request.alias_id)
        return Empty()

    def ListAliases(self, request: names_pb2.ListAliasesRequest, context: None) -> names_pb2.ListAliasesResponse:
        """Return a page of aliases."""
        size, after = pages.page_size(request.page_size), pages.from_token(request.page_token)
        who, aliases = identity_here(), self.collections.home.aliases()
        rows = [(alias, name) for alias, name in aliases.items() if alias > after and who.reaches(alias)]
        return names_pb2.ListAliasesResponse(
            aliases=[names_pb2.Alias(alias_id=alias, collection=collection_name(name)) for alias, name in rows[:size]],
            next_page_token=pages.to_token(rows[size - 1][0]) if len(rows) > size else "",
        )

    def AddView(self, request: pb.AddViewRequest, context: None) -> types_pb2.View:
        """Add a view to a collection."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return to_message(types_pb2.View, collection.views.add(request.spec))

    def FitViews(self, request_iterator: Iterator[pb.FitViewsRequest], context: None) -> pb.FitViewsResponse:
        """Fit views to a stream of pictures, read on demand; without pictures, fit text views to the stored texts."""
        first = next(request_iterator, None)
        if first is None:
            raise InvalidInputError("the stream is empty; its first message names the collection")

        def pictures() -> Iterator[Picture]:
            for request in chain([first], request_iterator):
                yield from map(to_picture, request.pictures)

        with self.collections.use(parse_collection(first.parent)) as collection:
            views = collection.views.fit(
                pictures(), views=tuple(first.views) or None, seed=first.seed, workers=self.workers, refit=first.refit
            )
        return pb.FitViewsResponse(views=[to_message(types_pb2.View, view) for view in views])

    def ListDeletedItems(self, request: pb.ListDeletedItemsRequest, context: None) -> pb.ListDeletedItemsResponse:
        """Return a page of the pictures whose items were deleted."""
        size, after = pages.page_size(request.page_size), pages.from_token(request.page_token)
        with self.collections.use(parse_collection(request.parent)) as collection:
            deleted = collection.items.deleted_after(after, size + 1)
        return pb.ListDeletedItemsResponse(
            items=[to_message(pb.DeletedItem, item) for item in deleted[:size]],
            next_page_token=pages.to_token(deleted[size - 1].key) if len(deleted) > size else "",
        )

    def CheckCollection(self, request: pb.CheckCollectionRequest, context: None) -> pb.CheckCollectionResponse:
        """Return the inconsistencies of a collection."""
        with self.collections.use(parse_collection(request.name)) as collection:
            return pb.CheckCollectionResponse(findings=collection.storage.findings())

    def GetItem(self, request: pb.GetItemRequest, context: None) -> types_pb2.Item:
        """Return one item."""
        name, key = parse_item(request.name)
        with self.collections.use(name) as collection:
            return from_item(name, collection.items.get(key))

    def ListItems(self, request: pb.ListItemsRequest, context: None) -> pb.ListItemsResponse:
        """Return a page of items; long texts shorten the page, so that it fits into a message."""
        name = parse_collection(request.parent)
        size, after = pages.page_size(request.page_size), pages.from_token(request.page_token)
        with self.collections.use(name) as collection, collected_warnings() as warnings:
            items, more = collection.items.page(
                to_filter(request.filter),
                after,
                size,
                sort_by=request.sort_by,
                sample=request.sample,
                seed=request.seed,
            )
        messages = [from_item(name, item) for item in items]
        page = next(batches(messages, types_pb2.Item.ByteSize, pages.LARGEST_SIZE), [])
        more = more or len(items) > len(page)
        token = pages.to_token(page[-1].key) if more else ""
        return pb.ListItemsResponse(items=page, next_page_token=token, warnings=warnings)

    def CountItems(self, request: pb.CountItemsRequest, context: None) -> pb.CountItemsResponse:
        """Return the number of items that pass a filter, and of items by value of fields."""
        condition, limit = to_filter(request.filter), min(request.limit or COUNTS, MOST_COUNTS)
        with self.collections.use(parse_collection(request.parent)) as collection, collected_warnings() as warnings:
            counts = collection.items.counts(request.field, condition, limit) if request.field else []
            facets = collection.items.facets(request.facets, condition, limit, request.below) if request.facets else []
            return pb.CountItemsResponse(
                items=collection.count(condition),
                counts=[to_message(facets_pb2.ValueCount, count) for count in counts],
                facets=[to_message(facets_pb2.Facet, facet) for facet in facets],
                warnings=warnings,
            )

    def ListAttributes(self, request: pb.ListAttributesRequest, context: None) -> pb.ListAttributesResponse:
        """Return the names of the attributes that any item has."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return pb.ListAttributesResponse(names=collection.items.attribute_names())

    def GetThumbnail(self, request: pb.GetThumbnailRequest, context: None) -> pb.Thumbnail:
        """Return the small or large picture of an item."""
        name, key = parse_item(request.name)
        with self.collections.use(name) as collection:
            return _thumbnail(collection.items.thumbnail(key, from_thumbnail_size(request)))

    def GetThumbnails(self, request: pb.GetThumbnailsRequest, context: None) -> pb.GetThumbnailsResponse:
        """Return the pictures of the first items of a request that fit into a response."""
        if len(request.keys) > THUMBNAILS_AT_ONCE:
            raise InvalidInputError(
                f"one call returns at most {THUMBNAILS_AT_ONCE} thumbnails, not {len(request.keys):,}: send fewer keys"
            )
        with self.collections.use(parse_collection(request.parent)) as collection:
            images = collection.items.thumbnails(tuple(request.keys), from_thumbnail_size(request))
        ends = accumulate(len(image) for image in images)
        fitting = sum(end <= _THUMBNAIL_BYTES for end in ends)
        return pb.GetThumbnailsResponse(thumbnails=map(_thumbnail, images[: max(1, fitting)]))

    def ActivateSpace(self, request: pb.ActivateSpaceRequest, context: None) -> types_pb2.Space:
        """Switch to a space and generation."""
        name, space = parse_space(request.name)
        with self.collections.use(name) as collection:
            generation = request.generation if request.HasField("generation") else None
            return from_space(name, collection.spaces.activate(space, generation))

    def CalibrateSpace(self, request: pb.CalibrateSpaceRequest, context: None) -> types_pb2.Threshold:
        """Calibrate the distance up to which two items are the same."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            threshold = collection.spaces.calibrate(to_value(CalibrationRequest, request))
            return to_message(types_pb2.Threshold, threshold)

    def GetSpace(self, request: pb.GetSpaceRequest, context: None) -> types_pb2.Space:
        """Return one space."""
        name, space = parse_space(request.name)
        with self.collections.use(name) as collection:
            return from_space(name, collection.spaces.get(space))

    def ListSpaces(self, request: pb.ListSpacesRequest, context: None) -> pb.ListSpacesResponse:
        """Return every space of a collection."""
        name = parse_collection(request.parent)
        with self.collections.use(name) as collection:
            return pb.ListSpacesResponse(spaces=[from_space(name, space) for space in collection.spaces()])

    def DeleteSpace(self, request: pb.DeleteSpaceRequest, context: None) -> Empty:
        """Delete a space, or one of its generations."""
        name, space = parse_space(request.name)
        with self.collections.use(name) as collection:
            collection.spaces.delete(space, request.generation if request.HasField("generation") else None)
        return Empty()

    def DeleteView(self, request: pb.DeleteViewRequest, context: None) -> Empty:
        """Delete a view with its rows."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            collection.views.delete(request.view)
        return Empty()

    def EmbedItems(self, request: pb.EmbedItemsRequest, context: None) -> pb.EmbedItemsResponse:
        """Return a page of the vectors of items."""
        after = pages.from_token(request.page_token)
        with self.collections.use(parse_collection(request.parent)) as collection:
            embeddings = collection.items.embed(
                request.view,
                space=request.space,
                target=request.target,
                filter=to_filter(request.filter),
                after=after,
                limit=request.page_size or ITEMS_AT_ONCE,
            )
        return from_item_embeddings(embeddings)

    def GetAudit(self, request: audit_pb2.GetAuditRequest, context: None) -> audit_pb2.Audit:
        """Return the findings of an audit."""
        with self.collections.use(parse_collection(request.name)) as collection:
            audit = collection.audit(to_value(AuditRequest, request, files=False))  # a server opens no source files
            return to_message(audit_pb2.Audit, audit)

    def ListNeighbors(
        self, request: neighbors_pb2.ListNeighborsRequest, context: None
    ) -> neighbors_pb2.ListNeighborsResponse:
        """Return a page of the nearest items of items."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            neighbors = collection.items.neighbors(
                request.view,
                target=request.target,
                space=request.space,
                k=request.k or NEIGHBORS,
                filter=to_filter(request.filter),
                after=pages.from_token(request.page_token),
                limit=request.page_size or ITEMS_AT_ONCE,
            )
        return from_item_neighbors(neighbors)

    def ListMaps(self, request: maps_pb2.ListMapsRequest, context: None) -> maps_pb2.ListMapsResponse:
        """Return the maps of a collection."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return maps_pb2.ListMapsResponse(maps=map(from_map, collection.maps()))

    def DeleteMap(self, request: maps_pb2.DeleteMapRequest, context: None) -> Empty:
        """Delete a map."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            collection.maps.delete(request.id)
        return Empty()

    def ListMapPoints(self, request: maps_pb2.ListMapPointsRequest, context: None) -> maps_pb2.ListMapPointsResponse:
        """Return a page of the points of a map."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            page = collection.maps.points(
                request.id,
                field=request.field,
                filter=to_filter(request.filter),
                after=pages.number_from_token(request.page_token) or 0,
                limit=request.page_size or POINTS_A_PAGE,
            )
        return from_map_points(page)


def _thumbnail(image: bytes) -> pb.Thumbnail:
    return pb.Thumbnail(image=image, media_type="image/jpeg" if image else "")
