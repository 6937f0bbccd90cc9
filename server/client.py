"""A typed client with the methods of ``engine.Home`` and ``engine.Collection``; it raises the engine's own errors."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
import numpy as np
from numpy.typing import NDArray

from engine.comparisons import ItemComparisons
from engine.errors import InvalidInputError
from engine.info import CollectionInfo, Evaluation, SpaceInfo, ViewInfo
from engine.item import DeletedPicture, Failure, ImportReport, Item, ItemUpdate, NewItem, Picture
from engine.progress import Progress
from engine.query import Embedding, Filter, HitList, Query
from engine.recipe import Pair, Tune
from engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings
from server import pages
from server.batches import batches, merged
from server.convert import (
    from_filter,
    from_new_item,
    from_picture,
    from_query,
    from_row,
    from_update,
    to_deleted,
    to_embeddings,
    to_hit_lists,
    to_item,
    to_report,
)
from server.convert_embeddings import to_item_embeddings
from server.convert_evaluation import to_evaluation
from server.convert_info import to_collection, to_space, to_view
from server.convert_training import from_comparisons, from_pairs, from_tune
from server.limits import MESSAGE_BYTES
from server.names import collection_name, item_name, parse_collection, space_name
from server.pb.crossview.v1 import collections_pb2 as pb
from server.pb.crossview.v1 import collections_pb2_grpc, search_pb2, search_pb2_grpc
from server.status import error_of
from server.structs import to_struct

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
)
EVERY = Filter()
ROWS_AT_ONCE = 1_000
_Answer = TypeVar("_Answer")
_Entry = TypeVar("_Entry", NewItem, ItemUpdate)
_Message = TypeVar("_Message", pb.NewItem, pb.ItemUpdate)


class Client:
    """The collections of a server at ``address`` (HOST:PORT); a context manager.

    Every method raises ServerUnavailableError where no server answers, ServerStoppedError where it stops meanwhile,
    ServerFaultError where it fails by itself, and what the engine raises otherwise.

    Args:
        address: HOST:PORT.
        timeout: seconds that each call may take, a training as well as one batch of an import; then it raises
            DeadlineExceededError, and the server gives the call up. None: any time.
    """

    def __init__(self, address: str, timeout: float | None = None) -> None:
        if timeout is not None and not 0 < timeout < math.inf:
            raise InvalidInputError(f"a timeout is a positive number of seconds, not {timeout}")
        self.address = address
        self.timeout = timeout
        self.channel = grpc.insecure_channel(address, options=OPTIONS)
        self.collections = collections_pb2_grpc.CollectionServiceStub(self.channel)
        self.searches = search_pb2_grpc.SearchServiceStub(self.channel)

    def call(self, method: Callable[..., _Answer], request: Any) -> _Answer:
        """Calls a method of the server, its failures raised as errors."""
        try:
            return method(request, timeout=self.timeout)
        except grpc.RpcError as failure:
            raise error_of(failure, self.address, self._name_of(method), self.timeout) from failure

    def _name_of(self, method: Callable[..., Any]) -> str:
        stubs = {**vars(self.collections), **vars(self.searches)}
        return next(name for name, known in stubs.items() if known is method)

    def names(self) -> list[str]:
        """Names of the collections, in order."""
        names: list[str] = []
        request = pb.ListCollectionsRequest(page_size=pages.LARGEST_SIZE)
        while True:
            page = self.call(self.collections.ListCollections, request)
            names += [parse_collection(collection.name) for collection in page.collections]
            if not page.next_page_token:
                return names
            request.page_token = page.next_page_token

    def create(self, name: str, views: Sequence[str] = (), description: str = "") -> "RemoteCollection":
        """A new, empty collection; without views it has color, sift and gist."""
        request = pb.CreateCollectionRequest(collection_id=name, views=views, description=description)
        self.call(self.collections.CreateCollection, request)
        return RemoteCollection(self, name)

    def open(self, name: str) -> "RemoteCollection":
        """A collection that exists."""
        collection = RemoteCollection(self, name)
        self.call(self.collections.ListSpaces, pb.ListSpacesRequest(parent=collection.resource))
        return collection

    def delete(self, name: str) -> None:
        """Deletes a collection with all that is in it."""
        self.call(self.collections.DeleteCollection, pb.DeleteCollectionRequest(name=collection_name(name)))

    def close(self) -> None:
        """Closes the connection."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RemoteCollection:
    """A collection on a server, with the methods of ``engine.Collection``."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self.resource = collection_name(name)
        self._stub = client.collections

    def info(self) -> CollectionInfo:
        """What it tells of itself."""
        return to_collection(self.client.call(self._stub.GetCollection, pb.GetCollectionRequest(name=self.resource)))

    def findings(self) -> tuple[str, ...]:
        """What is odd in it."""
        request = pb.CheckCollectionRequest(name=self.resource)
        return tuple(self.client.call(self._stub.CheckCollection, request).findings)

    def deleted_pictures(self) -> list[DeletedPicture]:
        """What is remembered of items that were deleted and had a picture, in the order of keys."""
        found: list[DeletedPicture] = []
        request = pb.ListDeletedItemsRequest(parent=self.resource, page_size=pages.LARGEST_SIZE)
        while True:
            page = self.client.call(self._stub.ListDeletedItems, request)
            found += map(to_deleted, page.items)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def views(self) -> tuple[ViewInfo, ...]:
        """Its views."""
        return self.info().views

    def spaces(self) -> tuple[SpaceInfo, ...]:
        """Its spaces."""
        answer = self.client.call(self._stub.ListSpaces, pb.ListSpacesRequest(parent=self.resource))
        return tuple(map(to_space, answer.spaces))

    def space(self, name: str) -> SpaceInfo:
        """One space."""
        request = pb.GetSpaceRequest(name=space_name(self.name, name))
        return to_space(self.client.call(self._stub.GetSpace, request))

    def index(
        self,
        paths: Sequence[Path],
        labels: str | Path | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        *,
        captions: str | Path | None = None,
        replace_labels: bool = False,
        include_deleted: bool = False,
    ) -> ImportReport:
        """Sends the pictures below paths of this machine; ``workers`` is the server's own choice."""
        from engine.ingest.annotations import Annotations
        from server.remote_index import index

        return index(self, paths, Annotations(labels, captions, replace_labels), progress, include_deleted)

    def update_items(self, updates: Iterable[ItemUpdate], match_paths: bool = False) -> ImportReport:
        """Changes labels, attributes and texts of items, in batches below the message limit."""
        failures: list[Failure] = []
        reports = []
        for batch in batches(_messages(updates, from_update, failures), pb.ItemUpdate.ByteSize, ROWS_AT_ONCE):
            request = pb.UpdateItemsRequest(parent=self.resource, updates=batch, match_paths=match_paths)
            reports.append(to_report(self.client.call(self._stub.UpdateItems, request)))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    def annotate(self, path: Path | str, cell: str = "label", replace_labels: bool = False) -> ImportReport:
        """Gives items what a file of this machine says of them; see ``Collection.annotate``."""
        from engine.ingest.annotations import annotate

        return annotate(self, path, cell, replace_labels)

    def index_vectors(
        self, view: str, path: Path, keys: Path | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """Sends the rows of a file of this machine; see ``Collection.index_vectors``."""
        from engine.ingest.vectors import index_vectors

        return index_vectors(self, view, path, keys, progress)

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> ImportReport:
        """Gives items rows of a view, in changes below the message limit."""
        reports = []
        for batch in batches(zip(keys, rows, strict=True), lambda pair: pair[1].nbytes, ROWS_AT_ONCE):
            request = pb.PutVectorsRequest(parent=self.resource, view=view, keys=[key for key, _ in batch])
            request.rows.extend(from_row(row) for _, row in batch)
            reports.append(to_report(self.client.call(self._stub.PutVectors, request)))
        return merged(reports)

    def add_view(self, spec: str) -> ViewInfo:
        """Adds a view."""
        return to_view(self.client.call(self._stub.AddView, pb.AddViewRequest(parent=self.resource, spec=spec)))

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
            yield pb.FitViewsRequest(parent=self.resource, views=views or (), seed=seed, refit=refit)
            for batch in batches(map(from_picture, images), pb.Picture.ByteSize):
                yield pb.FitViewsRequest(pictures=batch)

        answer = self.client.call(self._stub.FitViews, requests())
        return tuple(map(to_view, answer.views))

    def import_items(self, items: Iterable[NewItem], workers: int = 1) -> ImportReport:
        """Adds or updates items, in batches below the message limit; ``workers`` is the server's own choice."""
        failures: list[Failure] = []
        reports = []
        for batch in batches(_messages(items, from_new_item, failures), pb.NewItem.ByteSize):
            request = pb.ImportItemsRequest(parent=self.resource, items=batch)
            reports.append(to_report(self.client.call(self._stub.ImportItems, request)))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    def items(self, filter: Filter = EVERY, after: str = "", limit: int = 100) -> list[Item]:
        """Items in order of key, those after ``after``."""
        items: list[Item] = []
        request = pb.ListItemsRequest(parent=self.resource, filter=from_filter(filter))
        request.page_token = pages.to_token(after)
        while len(items) < limit:
            request.page_size = min(limit - len(items), pages.LARGEST_SIZE)
            page = self.client.call(self._stub.ListItems, request)
            items += map(to_item, page.items)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        return items

    def count(self, filter: Filter = EVERY) -> int:
        """How many items a filter lets through."""
        request = pb.CountItemsRequest(parent=self.resource, filter=from_filter(filter))
        return self.client.call(self._stub.CountItems, request).items

    def item(self, key: str) -> Item:
        """One item."""
        return to_item(self.client.call(self._stub.GetItem, pb.GetItemRequest(name=item_name(self.name, key))))

    def delete_items(self, keys: Sequence[str]) -> int:
        """Deletes those that exist; how many."""
        request = pb.DeleteItemsRequest(parent=self.resource, keys=keys)
        return self.client.call(self._stub.DeleteItems, request).deleted

    def thumbnail(self, key: str) -> bytes:
        """The small picture of an item, JPEG."""
        request = pb.GetThumbnailRequest(name=item_name(self.name, key))
        return self.client.call(self._stub.GetThumbnail, request).image

    def train(
        self,
        learner: str,
        views: Sequence[str],
        *,
        dim: int | None = None,
        space: str | None = None,
        settings: Mapping[str, Any] | None = None,
        holdout: float = 0.0,
        seed: int = 0,
        pairs: Sequence[Pair] = (),
        tune: Tune | None = None,
        constraints: ItemComparisons | None = None,
        rerank: int = 0,
        activate: bool = True,
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Fits a learner and places every item; answers when that is done, without telling progress."""
        request = pb.TrainRequest(
            parent=self.resource,
            learner=learner,
            views=views,
            dim=dim,
            space_id=space or "",
            settings=to_struct(settings or {}),
            holdout=holdout,
            seed=seed,
            pairs=from_pairs(pairs),
            tune=None if tune is None else from_tune(tune),
            constraints=None if constraints is None else from_comparisons(constraints),
            rerank=rerank,
            activate=activate,
        )
        return to_space(self.client.call(self._stub.Train, request))

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool = True,
        progress: Progress | None = None,
    ) -> SpaceInfo:
        """Adds views to a trained space, the others held; the server tells no progress."""
        request = pb.ExtendSpaceRequest(
            name=space_name(self.name, space), views=views, space_id=name or "", activate=activate
        )
        return to_space(self.client.call(self._stub.ExtendSpace, request))

    def assign(self, space: str, label: str, *, activate: bool = True) -> SpaceInfo:
        """Chooses the metric for a label that a space was not trained on."""
        request = pb.AssignLabelRequest(name=space_name(self.name, space), label=label, activate=activate)
        return to_space(self.client.call(self._stub.AssignLabel, request))

    def activate(self, space: str, generation: int | None = None) -> SpaceInfo:
        """Switches to a space and generation."""
        request = pb.ActivateSpaceRequest(name=space_name(self.name, space), generation=generation)
        return to_space(self.client.call(self._stub.ActivateSpace, request))

    def delete_space(self, space: str, generation: int | None = None) -> None:
        """Deletes a space, or one of its generations."""
        request = pb.DeleteSpaceRequest(name=space_name(self.name, space), generation=generation)
        self.client.call(self._stub.DeleteSpace, request)

    def delete_view(self, view: str) -> None:
        """Deletes a view with its rows."""
        self.client.call(self._stub.DeleteView, pb.DeleteViewRequest(parent=self.resource, view=view))

    def search(
        self,
        queries: Sequence[Query],
        *,
        targets: Sequence[str] = (),
        k: int = 10,
        space: str = "",
        filter: Filter = EVERY,
        merge: bool | None = None,
    ) -> list[HitList]:
        """Nearest items of every query in every target."""
        request = search_pb2.SearchRequest(
            collection=self.resource,
            queries=map(from_query, queries),
            targets=targets,
            space=space,
            k=k,
            filter=from_filter(filter),
            merge=merge,
        )
        return to_hit_lists(self.client.call(self.client.searches.Search, request))

    def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """What a space makes of every query for every target."""
        request = search_pb2.EmbedRequest(
            collection=self.resource, queries=map(from_query, queries), targets=targets, space=space
        )
        return to_embeddings(self.client.call(self.client.searches.Embed, request))

    def embed_items(
        self, view: str, *, space: str = "", target: str = "", after: str = "", limit: int = ITEMS_AT_ONCE
    ) -> ItemEmbeddings:
        """What a space makes of items' rows, those after ``after``."""
        request = pb.EmbedItemsRequest(
            parent=self.resource,
            view=view,
            space=space,
            target=target,
            page_size=limit,
            page_token=pages.to_token(after),
        )
        return to_item_embeddings(self.client.call(self._stub.EmbedItems, request))

    def evaluate(
        self,
        *,
        space: str = "",
        view: str,
        targets: Sequence[str] = (),
        k: Sequence[int] = (),
        refit: bool = False,
        test_size: float = 0.2,
        seed: int = 0,
        spaces: Sequence[str] = (),
        constraints: ItemComparisons | None = None,
    ) -> Evaluation:
        """Measures retrieval on items that the space was not trained on."""
        request = pb.EvaluateRequest(
            collection=self.resource,
            space=space,
            view=view,
            targets=targets,
            k=k,
            refit=refit,
            test_size=test_size,
            seed=seed,
            spaces=spaces,
            constraints=None if constraints is None else from_comparisons(constraints),
        )
        return to_evaluation(self.client.call(self._stub.Evaluate, request))

    def close(self) -> None:
        """Nothing to let go of: the server keeps the collection."""


def _messages(
    entries: Iterable[_Entry], convert: Callable[[_Entry], _Message], failures: list[Failure]
) -> Iterator[_Message]:
    """The messages of items; those that no message can hold join ``failures``."""
    from engine.ingest.updating import check_entry

    for entry in entries:
        checked = check_entry(entry)
        if isinstance(checked, Failure):
            failures.append(checked)
            continue
        try:
            yield convert(checked)
        except InvalidInputError as error:
            failures.append(Failure(entry.key, str(error)))
