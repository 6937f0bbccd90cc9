"""A collection on a server, with the methods of ``engine.collection.Collection``."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from crossview.engine.changes.request import Changes, ChangesRequest
from crossview.engine.condition import EVERY_ITEM, Filter
from crossview.engine.errors import CrossviewError
from crossview.engine.evaluation import Evaluation, EvaluationRequest
from crossview.engine.info import CollectionInfo, SpaceInfo, Threshold, ViewInfo
from crossview.engine.item import (
    DEFAULT_INDEXING,
    DeletedPicture,
    Failure,
    ImportReport,
    IndexOptions,
    Item,
    ItemUpdate,
    NewItem,
    Picture,
    one_or_several,
)
from crossview.engine.query import (
    CalibrationRequest,
    Embedding,
    HitList,
    ItemEmbeddings,
    OneQuery,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
    request_of,
)
from crossview.engine.recipe import Recipe
from crossview.engine.runtime.progress import Progress
from crossview.engine.spaces.item_embeddings import ITEMS_AT_ONCE
from crossview.server import pages
from crossview.server.batches import batches, merged
from crossview.server.connection import Connection
from crossview.server.convert import (
    from_filter,
    from_new_item,
    from_picture,
    from_row,
    from_update,
    messages_of,
    to_item,
    to_report,
)
from crossview.server.convert_changes import from_changes_request, to_changes
from crossview.server.convert_embeddings import to_item_embeddings
from crossview.server.convert_evaluation import to_evaluation
from crossview.server.convert_info import to_collection, to_space, to_threshold
from crossview.server.convert_jobs import (
    from_assignment,
    from_calibration_of,
    from_evaluation_of,
    from_extension,
    from_training,
)
from crossview.server.convert_search import (
    from_query,
    from_same_request,
    from_search_request,
    from_suggest_request,
    to_embeddings,
    to_hit_lists,
    to_suggestions,
    to_verdicts,
)
from crossview.server.detached import DetachedCollection
from crossview.server.fields import to_value
from crossview.server.names import collection_name, item_name, space_name
from crossview.server.remote_jobs import Follower, RemoteJobs
from crossview.server.remote_questions import RemoteQuestions
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import search_pb2

ROWS_AT_ONCE = 1_000
_Long = TypeVar(
    "_Long",
    pb.TrainRequest,
    pb.ExtendSpaceRequest,
    pb.AssignLabelRequest,
    pb.CalibrateSpaceRequest,
    pb.EvaluateRequest,
)
_Response = TypeVar("_Response")


class RemoteCollection:
    """A collection on a server, with the methods of ``engine.Collection``."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self.resource = collection_name(name)
        self._stub = connection.collections
        self.views = RemoteViews(self)
        self.items = RemoteItems(self)
        self.spaces = RemoteSpaces(self)
        self.storage = RemoteStorage(self)

    def __repr__(self) -> str:
        return f"<crossview collection {self.name!r} on the server at {self.connection.address}>"

    def info(self) -> CollectionInfo:
        """Its description."""
        return to_collection(
            self.connection.call(self._stub.GetCollection, pb.GetCollectionRequest(name=self.resource))
        )

    def findings(self) -> tuple[str, ...]:
        """What is inconsistent in it, a sentence each."""
        request = pb.CheckCollectionRequest(name=self.resource)
        return tuple(self.connection.call(self._stub.CheckCollection, request).findings)

    def deleted_pictures(self) -> list[DeletedPicture]:
        """The pictures whose items were deleted, in the order of keys."""
        request = pb.ListDeletedItemsRequest(parent=self.resource)
        responses = self.connection.pages(self._stub.ListDeletedItems, request)
        return [to_value(DeletedPicture, item) for page in responses for item in page.items]

    def list_views(self) -> tuple[ViewInfo, ...]:
        """Its views."""
        return self.info().views

    def list_spaces(self) -> tuple[SpaceInfo, ...]:
        """Its spaces."""
        response = self.connection.call(self._stub.ListSpaces, pb.ListSpacesRequest(parent=self.resource))
        return tuple(map(to_space, response.spaces))

    def space(self, name: str) -> SpaceInfo:
        """One space."""
        request = pb.GetSpaceRequest(name=space_name(self.name, name))
        return to_space(self.connection.call(self._stub.GetSpace, request))

    def index(
        self, paths: Sequence[Path], options: IndexOptions = DEFAULT_INDEXING, *, progress: Progress | None = None
    ) -> ImportReport:
        """Sends the pictures below paths of this machine; ``workers`` is the server's own choice."""
        from crossview.server.remote_index import index

        return index(self, paths, options, progress)

    def update_items(
        self, updates: Sequence[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Changes labels, attributes and texts of items, in batches below the message limit."""
        failures: list[Failure] = []
        reports: list[ImportReport] = []
        done = 0
        for batch in batches(messages_of(updates, from_update, failures), pb.ItemUpdate.ByteSize, ROWS_AT_ONCE):
            request = pb.UpdateItemsRequest(parent=self.resource, updates=batch, match_paths=match_paths)
            reports.append(to_report(self.connection.call(self._stub.UpdateItems, request)))
            done += len(batch)
            if progress is not None:
                progress("updating", done + len(failures), len(updates))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    def annotate(
        self,
        path: Path | str,
        cell: str = "label",
        replace_labels: bool = False,
        notion: str = "",
        new_attributes: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Annotates items from a file of this machine; see ``engine.services.items``."""
        from crossview.engine.ingest.annotations import annotate

        return annotate(self.items, path, cell, replace_labels, notion, new_attributes, progress)

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Sends the rows of a file of this machine; see ``engine.services.items``."""
        from crossview.engine.ingest.vectors import index_vectors

        return index_vectors(self.items, self.views, view, path, keys, progress)

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Gives items rows of a view, in changes below the message limit."""
        from crossview.engine.ingest.vectors import check_keys

        check_keys(keys, len(rows))
        reports = []
        for batch in batches(zip(one_or_several(keys), rows, strict=True), lambda pair: pair[1].nbytes, ROWS_AT_ONCE):
            request = pb.PutVectorsRequest(parent=self.resource, view=view, keys=[key for key, _ in batch])
            request.rows.extend(from_row(row) for _, row in batch)
            reports.append(to_report(self.connection.call(self._stub.PutVectors, request)))
        return merged(reports)

    def add_view(self, spec: str) -> ViewInfo:
        """Adds a view."""
        return to_value(
            ViewInfo, self.connection.call(self._stub.AddView, pb.AddViewRequest(parent=self.resource, spec=spec))
        )

    def fit_views(
        self,
        images: Iterable[bytes | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> tuple[ViewInfo, ...]:
        """Fits views from a sample of pictures or the items' texts; ``workers`` is the server's own choice."""

        def requests() -> Iterator[pb.FitViewsRequest]:
            yield pb.FitViewsRequest(parent=self.resource, views=one_or_several(views or ()), seed=seed, refit=refit)
            for batch in batches(map(from_picture, images), pb.Picture.ByteSize):
                yield pb.FitViewsRequest(pictures=batch)

        response = self.connection.call(self._stub.FitViews, requests())
        return tuple(to_value(ViewInfo, view) for view in response.views)

    def import_items(self, items: Iterable[NewItem], workers: int = 1) -> ImportReport:
        """Adds or updates items, in batches below the message limit; ``workers`` is the server's own choice."""
        failures: list[Failure] = []
        reports = []
        for batch in batches(messages_of(items, from_new_item, failures), pb.NewItem.ByteSize):
            request = pb.ImportItemsRequest(parent=self.resource, items=batch)
            reports.append(to_report(self.connection.call(self._stub.ImportItems, request)))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    def import_stream(self, items: Iterable[NewItem]) -> Iterator[ImportReport]:
        """Adds or updates items, and yields a report for each batch that is on disk, in one stream.

        Items are taken as the server writes them. One that cannot be sent is a failure of the last report.
        """
        failures: list[Failure] = []
        sent = batches(messages_of(items, from_new_item, failures), pb.NewItem.ByteSize)
        requests = (pb.ImportItemsRequest(parent=self.resource, items=batch) for batch in sent)
        yield from map(to_report, self.connection.stream(self._stub.StreamImportItems, requests))
        if failures:
            yield ImportReport(failures=tuple(failures))

    def list_items(self, filter: Filter = EVERY_ITEM, after: str = "", limit: int = 100) -> list[Item]:
        """Items in the order of keys, those above ``after``."""
        items: list[Item] = []
        request = pb.ListItemsRequest(parent=self.resource, filter=from_filter(filter))
        request.page_token = pages.to_token(after)
        while len(items) < limit:
            request.page_size = min(limit - len(items), pages.LARGEST_SIZE)
            page = self.connection.call(self._stub.ListItems, request)
            items += map(to_item, page.items)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        return items

    def count(self, filter: Filter = EVERY_ITEM) -> int:
        """How many items pass the filter."""
        request = pb.CountItemsRequest(parent=self.resource, filter=from_filter(filter))
        return self.connection.call(self._stub.CountItems, request).items

    def attribute_names(self) -> tuple[str, ...]:
        """The names of the attributes that any item has."""
        request = pb.ListAttributesRequest(parent=self.resource)
        return tuple(self.connection.call(self._stub.ListAttributes, request).names)

    def item(self, key: str) -> Item:
        """One item."""
        return to_item(self.connection.call(self._stub.GetItem, pb.GetItemRequest(name=item_name(self.name, key))))

    def delete_items(self, keys: Sequence[str]) -> int:
        """Deletes those that exist, and returns how many."""
        request = pb.DeleteItemsRequest(parent=self.resource, keys=one_or_several(keys))
        return self.connection.call(self._stub.DeleteItems, request).deleted

    def thumbnail(self, key: str) -> bytes:
        """The small picture of an item, JPEG."""
        request = pb.GetThumbnailRequest(name=item_name(self.name, key))
        return self.connection.call(self._stub.GetThumbnail, request).image

    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo:
        """Fits a learner and places every item; who leaves meanwhile cancels it."""
        request = from_training(self.name, recipe, space, activate)
        return to_space(self._carried_out(self._stub.Train, request, progress, request_id))

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> SpaceInfo:
        """Adds views to a trained space, in which the others stay as they are."""
        request = from_extension(self.name, space, one_or_several(views), name, activate)
        return to_space(self._carried_out(self._stub.ExtendSpace, request, progress, request_id))

    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> SpaceInfo:
        """Chooses the metric for a label that a space was not trained on."""
        request = from_assignment(self.name, space, label, activate)
        return to_space(self._carried_out(self._stub.AssignLabel, request, None, request_id))

    def activate(self, space: str, generation: int | None = None) -> SpaceInfo:
        """Switches to a space and generation."""
        request = pb.ActivateSpaceRequest(name=space_name(self.name, space), generation=generation)
        return to_space(self.connection.call(self._stub.ActivateSpace, request))

    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Threshold:
        """Learns up to which distance two items are the same."""
        message = from_calibration_of(self.name, request)
        return to_threshold(self._carried_out(self._stub.CalibrateSpace, message, progress))

    def delete_space(self, space: str, generation: int | None = None) -> None:
        """Deletes a space, or one of its generations."""
        request = pb.DeleteSpaceRequest(name=space_name(self.name, space), generation=generation)
        self.connection.call(self._stub.DeleteSpace, request)

    def delete_view(self, view: str) -> None:
        """Deletes a view with its rows."""
        self.connection.call(self._stub.DeleteView, pb.DeleteViewRequest(parent=self.resource, view=view))

    @overload
    def search(self, request: SearchRequest) -> list[HitList]: ...

    @overload
    def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...

    def search(self, request: SearchRequest | None = None, **query: Any) -> list[HitList]:
        """Nearest items of every query in every target; see ``Collection.search``."""
        message = from_search_request(request_of(request, cast(OneQuery, query)))
        message.parent = self.resource
        found = to_hit_lists(self.connection.call(self.connection.searches.Search, message))
        return [one.illustrated(self.items.thumbnail) for one in found]

    def search_stream(self, requests: Iterable[SearchRequest]) -> Iterator[list[HitList]]:
        """Yields the answer to each of many searches, in order: one stream costs less than as many calls."""

        def messages() -> Iterator[search_pb2.SearchRequest]:
            for request in requests:
                message = from_search_request(request)
                message.parent = self.resource
                yield message

        for response in self.connection.stream(self.connection.searches.StreamSearch, messages()):
            yield to_hit_lists(response)

    def suggest(self, request: SuggestRequest) -> Suggestions:
        """Labels for every query, by vote of the nearest labelled items."""
        message = from_suggest_request(request)
        message.parent = self.resource
        return to_suggestions(self.connection.call(self.connection.searches.SuggestLabels, message))

    def same(self, request: SameRequest) -> list[Verdict | Failure]:
        """Whether the two of each pair are the same, or why one was left out."""
        message = from_same_request(request)
        message.parent = self.resource
        return to_verdicts(self.connection.call(self.connection.searches.Same, message))

    def changes(self, request: ChangesRequest) -> Changes:
        """What changed between successive pictures, and which changes are important."""
        message = from_changes_request(request)
        message.parent = self.resource
        return to_changes(self.connection.call(self.connection.searches.FindChanges, message))

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """The vector of every query for every target."""
        request = search_pb2.EmbedRequest(
            parent=self.resource, queries=map(from_query, queries), targets=one_or_several(targets), space=space
        )
        return to_embeddings(self.connection.call(self.connection.searches.Embed, request))

    def embed_items(
        self, view: str, *, space: str = "", target: str = "", after: str = "", limit: int = ITEMS_AT_ONCE
    ) -> ItemEmbeddings:
        """The vectors of items, of those with keys above ``after``."""
        request = pb.EmbedItemsRequest(
            parent=self.resource,
            view=view,
            space=space,
            target=target,
            page_size=limit,
            page_token=pages.to_token(after),
        )
        return to_item_embeddings(self.connection.call(self._stub.EmbedItems, request))

    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Evaluation:
        """Measures retrieval on items that the spaces were not trained on."""
        message = from_evaluation_of(self.name, request)
        return to_evaluation(self._carried_out(self._stub.Evaluate, message, progress))

    @property
    def questions(self) -> RemoteQuestions:
        """Questions to people about its items, and their answers."""
        return RemoteQuestions(self.connection, self.resource)

    def detached(self) -> DetachedCollection:
        """The same collection, whose long methods return at once with the job that carries them out."""
        return DetachedCollection(RemoteJobs(self.connection), self.name)

    def _carried_out(
        self,
        method: Callable[[_Long], _Response],
        request: _Long,
        progress: Progress | None,
        request_id: str = "",
    ) -> _Response:
        """Calls a method that is a job, and reports how far that is."""
        request.request_id = request_id or uuid.uuid4().hex
        if progress is None:
            return self.connection.call(method, request)
        jobs, follower = RemoteJobs(self.connection), Follower(progress)

        def look() -> None:
            with suppress(CrossviewError):  # what goes wrong is the method's to report
                follower.take(jobs.get(request.request_id))

        response = self.connection.follow(method, request, look)
        look()
        return response

    def close(self) -> None:
        """Does nothing: the collection stays open on the server."""


class RemoteItems:
    """The items of a collection on a server: call it to list them; see ``engine.services.items``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self._list = collection.list_items
        self.count = collection.count
        self.get, self.thumbnail = collection.item, collection.thumbnail
        self.attribute_names, self.deleted = collection.attribute_names, collection.deleted_pictures
        self.put, self.update, self.delete = collection.import_items, collection.update_items, collection.delete_items
        self.annotate = collection.annotate
        self.put_vectors, self.index_vectors = collection.put_vectors, collection.index_vectors
        self.embed = collection.embed_items

    def __call__(self, filter: Filter = EVERY_ITEM, after: str = "", limit: int = 100) -> list[Item]:
        """Return items in the order of keys, those above ``after``."""
        return self._list(filter, after, limit)


class RemoteViews:
    """The views of a collection on a server: call it to list them; see ``engine.services.views``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self._list = collection.list_views
        self.add, self.fit, self.delete = collection.add_view, collection.fit_views, collection.delete_view

    def __call__(self) -> tuple[ViewInfo, ...]:
        """Return the views."""
        return self._list()


class RemoteSpaces:
    """The spaces of a collection on a server: call it to list them; see ``engine.services.spaces``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self._list = collection.list_spaces
        self.get, self.delete = collection.space, collection.delete_space
        self.extend, self.assign, self.activate = collection.extend, collection.assign, collection.activate
        self.calibrate = collection.calibrate

    def __call__(self) -> tuple[SpaceInfo, ...]:
        """Return the trained spaces, then ``raw``, the views themselves."""
        return self._list()


class RemoteStorage:
    """What a collection on a server has on disk; see ``engine.services.storage``."""

    def __init__(self, collection: RemoteCollection) -> None:
        self.findings = collection.findings
