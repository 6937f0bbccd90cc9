"""The writes of items: the methods of the collection service that a server can run in another process."""
# ruff: noqa: N802 - methods have the names of their rpcs

from collections.abc import Sized

import numpy as np
from google.protobuf.empty_pb2 import Empty

from crossview.engine.values.errors import InvalidInputError, NotFoundError
from crossview.engine.values.item import FileChanges, FileMove, ImportReport
from crossview.server.core.cache import OpenCollections
from crossview.server.wire.convert import readable_entries, to_message, to_new_item, to_update
from crossview.server.wire.convert_conditions import to_row
from crossview.server.wire.message_batches import merged
from crossview.server.wire.names import item_name, parse_collection, parse_item
from crossview.v1 import collections_pb2 as pb

_MOST_ITEMS = 10_000
"""Maximum number of items in one request, because each takes some kilobytes of memory; our clients send 64."""


class ItemWrites:
    """The methods that change only items; ``workers`` is the number of processes that compute rows for an import."""

    def __init__(self, collections: OpenCollections, workers: int = 1) -> None:
        self.collections = collections
        self.workers = workers

    def ImportItems(self, request: pb.ImportItemsRequest, context: None) -> pb.ImportItemsResponse:
        """Add or update a batch of items."""
        _check_count(request.items)
        with self.collections.use(parse_collection(request.parent)) as collection:
            items, failures = readable_entries(request.items, to_new_item)
            report = collection.items.put(items, workers=self.workers)
        return to_message(pb.ImportItemsResponse, merged([report, ImportReport(failures=failures)]))

    def UpdateItems(self, request: pb.UpdateItemsRequest, context: None) -> pb.ImportItemsResponse:
        """Change labels, attributes and texts."""
        _check_count(request.updates)
        with self.collections.use(parse_collection(request.parent)) as collection:
            updates, failures = readable_entries(request.updates, to_update)
            report = collection.items.update(updates, request.match_paths)
        return to_message(pb.ImportItemsResponse, merged([report, ImportReport(failures=failures)]))

    def PutVectors(self, request: pb.PutVectorsRequest, context: None) -> pb.ImportItemsResponse:
        """Store rows that another program computed."""
        widths = {len(row.values) for row in request.rows}
        if len(widths) != 1:
            raise InvalidInputError("send one or more vectors, all of the same length")
        with self.collections.use(parse_collection(request.parent)) as collection:
            rows = np.stack([to_row(row) for row in request.rows])
            report = collection.items.put_vectors(request.view, tuple(request.keys), rows)
            return to_message(pb.ImportItemsResponse, report)

    def DeleteItem(self, request: pb.DeleteItemRequest, context: None) -> Empty:
        """Delete one item, which must exist."""
        name, key = parse_item(request.name)
        with self.collections.use(name) as collection:
            if collection.items.delete([key]) == 0:
                raise NotFoundError(f"no item {item_name(name, key)!r}")
        return Empty()

    def DeleteItems(self, request: pb.DeleteItemsRequest, context: None) -> pb.DeleteItemsResponse:
        """Delete the existing items among the keys."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return pb.DeleteItemsResponse(deleted=collection.items.delete(list(request.keys)))

    def FollowFiles(self, request: pb.FollowFilesRequest, context: None) -> Empty:
        """Let items follow their files."""
        moved = tuple(FileMove(move.key, move.new_key, move.source) for move in request.moved)
        with self.collections.use(parse_collection(request.parent)) as collection:
            collection.items.follow_files(FileChanges(moved, tuple(request.missing), tuple(request.found)))
        return Empty()


def _check_count(items: Sized) -> None:
    if len(items) > _MOST_ITEMS:
        raise InvalidInputError(
            f"one request has at most {_MOST_ITEMS:,} items, not {len(items):,}: send fewer at a time"
        )
