"""The scripts of a collection on a server: each encodes its arguments, calls the server and decodes the response."""

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.audit import Audit, AuditRequest
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.index_choice import AUTO, RECALL, VECTORS
from crossview.engine.values.info import CollectionInfo, SpaceInfo, Threshold, ViewInfo
from crossview.engine.values.item import (
    Failure,
    FileChanges,
    ImportReport,
    ItemUpdate,
    NewItem,
    Picture,
    PictureForm,
    new_items,
    one_or_several,
    pictures_of,
)
from crossview.engine.values.map import POINTS_A_PAGE, MapInfo, MapPoints, MapRequest, known_map
from crossview.engine.values.query import (
    CalibrationRequest,
)
from crossview.engine.values.recipe import Recipe
from crossview.server.client.convert_jobs import (
    from_assignment,
    from_extension,
    from_reindexing,
    from_training,
)
from crossview.server.client.item_script import ItemScript
from crossview.server.client.remote_jobs import Follower, JobScript
from crossview.server.client.script import Ask, Exchange, R, Script, Stubs, ask
from crossview.server.wire import pages
from crossview.server.wire.convert import (
    from_new_item,
    from_picture,
    from_update,
    messages_of,
    to_collection,
    to_map_points,
    to_message,
    to_space,
    to_value,
)
from crossview.server.wire.convert_conditions import from_filter, from_row
from crossview.server.wire.message_batches import batches, merged
from crossview.server.wire.names import space_name
from crossview.v1 import audit_pb2, maps_pb2
from crossview.v1 import collections_pb2 as pb

ROWS_AT_ONCE = 1_000
"""Maximum number of updates or rows in one message."""
_Long = TypeVar(
    "_Long",
    pb.TrainRequest,
    pb.ExtendSpaceRequest,
    pb.AssignLabelRequest,
    pb.ReindexSpaceRequest,
    pb.CalibrateSpaceRequest,
    pb.EvaluateRequest,
    maps_pb2.MakeMapRequest,
)


class CollectionScript(ItemScript):
    """The scripts of a collection on a server; see ``RemoteCollection`` and ``AsyncCollection``."""

    def __init__(self, stubs: Stubs, name: str) -> None:
        super().__init__(stubs, name)
        self._jobs = JobScript(stubs)

    def info(self) -> Script[CollectionInfo]:
        """Return the description of the collection."""
        request = pb.GetCollectionRequest(name=self.resource)
        return to_collection((yield from ask(self._collections.GetCollection, request)))

    def findings(self) -> Script[tuple[str, ...]]:
        """Return the inconsistencies of the collection, a sentence each."""
        request = pb.CheckCollectionRequest(name=self.resource)
        return tuple((yield from ask(self._collections.CheckCollection, request)).findings)

    def list_views(self) -> Script[tuple[ViewInfo, ...]]:
        """Return the views."""
        return (yield from self.info()).views

    def list_spaces(self) -> Script[tuple[SpaceInfo, ...]]:
        """Return the spaces."""
        response = yield from ask(self._collections.ListSpaces, pb.ListSpacesRequest(parent=self.resource))
        return tuple(map(to_space, response.spaces))

    def space(self, name: str) -> Script[SpaceInfo]:
        """Return one space."""
        request = pb.GetSpaceRequest(name=space_name(self.name, name))
        return to_space((yield from ask(self._collections.GetSpace, request)))

    def update_items(
        self, updates: Collection[ItemUpdate], match_paths: bool = False, progress: Progress | None = None
    ) -> Script[ImportReport]:
        """Change labels, attributes and texts of items, in batches below the message limit."""
        failures: list[Failure] = []
        reports: list[ImportReport] = []
        done = 0
        for batch in batches(messages_of(updates, from_update, failures), pb.ItemUpdate.ByteSize, ROWS_AT_ONCE):
            request = pb.UpdateItemsRequest(parent=self.resource, updates=batch, match_paths=match_paths)
            reports.append(to_value(ImportReport, (yield from ask(self._collections.UpdateItems, request))))
            done += len(batch)
            if progress is not None:
                progress("updating", done + len(failures), len(updates))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    def put_vectors(self, view: str, keys: Sequence[str], rows: NDArray[np.float32]) -> Script[ImportReport]:
        """Store rows of a view, in batches below the message limit."""
        from crossview.engine.catalog.ingest.vectors import check_keys

        check_keys(keys, len(rows))
        reports = []
        for batch in batches(zip(one_or_several(keys), rows, strict=True), lambda pair: pair[1].nbytes, ROWS_AT_ONCE):
            request = pb.PutVectorsRequest(parent=self.resource, view=view, keys=[key for key, _ in batch])
            request.rows.extend(from_row(row) for _, row in batch)
            reports.append(to_value(ImportReport, (yield from ask(self._collections.PutVectors, request))))
        return merged(reports)

    def add_view(self, spec: str) -> Script[ViewInfo]:
        """Add a view."""
        return to_value(
            ViewInfo,
            (yield from ask(self._collections.AddView, pb.AddViewRequest(parent=self.resource, spec=spec))),
        )

    def fit_views(
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

        response = yield from ask(self._collections.FitViews, requests())
        return tuple(to_value(ViewInfo, view) for view in response.views)

    def import_items(self, items: Iterable[NewItem], workers: int = 1) -> Script[ImportReport]:
        """Add or update items, in batches below the message limit; the server ignores ``workers``."""
        failures: list[Failure] = []
        reports = []
        for batch in batches(messages_of(new_items(items), from_new_item, failures), pb.NewItem.ByteSize):
            request = pb.ImportItemsRequest(parent=self.resource, items=batch)
            reports.append(to_value(ImportReport, (yield from ask(self._collections.ImportItems, request))))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    def import_stream(self, items: Iterable[NewItem]) -> Exchange[ImportReport]:
        """Add or update items in one stream, and yield a report for each batch that is on disk.

        The stream reads further items as the server writes earlier ones. The last report lists the items that no
        message can contain as failures.
        """
        failures: list[Failure] = []
        sent = batches(messages_of(new_items(items), from_new_item, failures), pb.NewItem.ByteSize)
        requests = (pb.ImportItemsRequest(parent=self.resource, items=batch) for batch in sent)

        def rest() -> list[ImportReport]:
            return [ImportReport(failures=tuple(failures))] if failures else []

        return Exchange(self._collections.StreamImportItems, requests, partial(to_value, ImportReport), rest)

    def delete_items(self, keys: Sequence[str]) -> Script[int]:
        """Delete the items that exist, and return how many."""
        request = pb.DeleteItemsRequest(parent=self.resource, keys=one_or_several(keys))
        return (yield from ask(self._collections.DeleteItems, request)).deleted

    def follow_files(self, changes: FileChanges) -> Script[None]:
        """Move items along with their files, and mark those whose files are missing."""
        moved = [pb.FileMove(**one._asdict()) for one in changes.moved]
        request = pb.FollowFilesRequest(parent=self.resource, moved=moved, missing=changes.missing, found=changes.found)
        yield from ask(self._collections.FollowFiles, request)

    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> Script[SpaceInfo]:
        """Fit a learner and place every item; if the caller stops waiting, the server cancels the training."""
        request = from_training(self.name, recipe, space, activate)
        return to_space((yield from self._run_job(self._collections.Train, request, progress, request_id)))

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> Script[SpaceInfo]:
        """Add views to a trained space, whose other views do not change."""
        request = from_extension(self.name, space, one_or_several(views), name, activate)
        return to_space((yield from self._run_job(self._collections.ExtendSpace, request, progress, request_id)))

    def assign(
        self, space: str, label: str, *, activate: bool | None = None, request_id: str = ""
    ) -> Script[SpaceInfo]:
        """Choose the metric for a label that a space was not trained on."""
        request = from_assignment(self.name, space, label, activate)
        return to_space((yield from self._run_job(self._collections.AssignLabel, request, None, request_id)))

    def reindex(
        self,
        space: str = "",
        *,
        index: str = AUTO,
        recall: float = RECALL,
        vectors: str = VECTORS[0],
        targets: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Script[SpaceInfo]:
        """Build the indexes of a space in a kind; if the caller stops waiting, the server cancels the work."""
        request = from_reindexing(self.name, space, index=index, recall=recall, vectors=vectors, targets=targets)
        return to_space((yield from self._run_job(self._collections.ReindexSpace, request, progress)))

    def activate(self, space: str, generation: int | None = None) -> Script[SpaceInfo]:
        """Switch to a space and generation."""
        request = pb.ActivateSpaceRequest(name=space_name(self.name, space), generation=generation)
        return to_space((yield from ask(self._collections.ActivateSpace, request)))

    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Script[Threshold]:
        """Learn the distance up to which two items are the same."""
        message = to_message(pb.CalibrateSpaceRequest, request, parent=self.resource)
        return to_value(Threshold, (yield from self._run_job(self._collections.CalibrateSpace, message, progress)))

    def delete_space(self, space: str, generation: int | None = None) -> Script[None]:
        """Delete a space, or one of its generations."""
        request = pb.DeleteSpaceRequest(name=space_name(self.name, space), generation=generation)
        yield from ask(self._collections.DeleteSpace, request)

    def delete_view(self, view: str) -> Script[None]:
        """Delete a view with its rows."""
        yield from ask(self._collections.DeleteView, pb.DeleteViewRequest(parent=self.resource, view=view))

    def audit(self, request: AuditRequest | None = None, *, progress: Progress | None = None) -> Script[Audit]:
        """Return what makes searches worse or figures too good; a server opens no files, and reports no progress."""
        message = to_message(audit_pb2.GetAuditRequest, request or AuditRequest(), name=self.resource)
        return to_value(Audit, (yield from ask(self._collections.GetAudit, message)))

    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Script[Evaluation]:
        """Measure retrieval on items that the spaces were not trained on."""
        message = to_message(pb.EvaluateRequest, request, parent=self.resource)
        return to_value(Evaluation, (yield from self._run_job(self._collections.Evaluate, message, progress)))

    def make_map(self, request: MapRequest, *, progress: Progress | None = None) -> Script[MapInfo]:
        """Place the items of a space in a plane; if the caller stops waiting, the server cancels the work."""
        message = to_message(maps_pb2.MakeMapRequest, request, parent=self.resource)
        return to_value(MapInfo, (yield from self._run_job(self._collections.MakeMap, message, progress)))

    def list_maps(self) -> Script[tuple[MapInfo, ...]]:
        """Return the maps, the newest first."""
        response = yield from ask(self._collections.ListMaps, maps_pb2.ListMapsRequest(parent=self.resource))
        return tuple(to_value(MapInfo, one) for one in response.maps)

    def map(self, number: int) -> Script[MapInfo]:
        """Return a map by its id."""
        known = {one.id: one for one in (yield from self.list_maps())}
        return known_map(known, number)

    def delete_map(self, number: int) -> Script[None]:
        """Delete a map."""
        yield from ask(self._collections.DeleteMap, maps_pb2.DeleteMapRequest(parent=self.resource, id=number))

    def map_points(
        self,
        number: int,
        *,
        field: str = "",
        filter: FilterForm = EVERY_ITEM,
        after: int = 0,
        limit: int = POINTS_A_PAGE,
    ) -> Script[MapPoints]:
        """Return a page of the points of a map."""
        request = maps_pb2.ListMapPointsRequest(
            parent=self.resource,
            id=number,
            field=field,
            filter=from_filter(filter),
            page_size=limit,
            page_token=pages.to_token(str(after)) if after else "",
        )
        return to_map_points((yield from ask(self._collections.ListMapPoints, request)))

    def _run_job(
        self, method: Callable[[_Long], R], request: _Long, progress: Progress | None, request_id: str = ""
    ) -> Script[R]:
        """Call a method that is a job, and report the progress of the job."""
        request.request_id = request_id or uuid.uuid4().hex
        if progress is None:
            return (yield from ask(method, request))
        follower = Follower(progress)

        def look() -> Script[None]:
            with suppress(CrossviewError):  # the call of the method itself reports errors
                follower.take((yield from self._jobs.get(request.request_id)))

        response: R = yield Ask(method, request, look)
        yield from look()
        return response
