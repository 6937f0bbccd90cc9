"""The spaces and maps of a collection on a server, and the state of its storage."""

from collections.abc import Sequence

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.index_choice import AUTO, RECALL, VECTORS
from crossview.engine.values.info import SpaceInfo, Threshold
from crossview.engine.values.map import POINTS_A_PAGE, MapInfo, MapPoints, MapRequest, known_map
from crossview.engine.values.query import CalibrationRequest
from crossview.server.client.convert_jobs import (
    from_assignment,
    from_extension,
    from_reindexing,
)
from crossview.server.client.remote_jobs import run_job
from crossview.server.client.script import C, CollectionScripts, Script, ask, call
from crossview.server.wire import pages
from crossview.server.wire.convert import to_map_points, to_message, to_space, to_value
from crossview.server.wire.convert_conditions import from_filter
from crossview.server.wire.names import space_name
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import maps_pb2


class RemoteSpaces(CollectionScripts[C]):
    """The spaces of a collection on a server; call the object to list the spaces. See ``engine.collections.spaces``."""

    @call
    def __call__(self) -> Script[tuple[SpaceInfo, ...]]:
        """Return the trained spaces, then ``raw``, which contains the views themselves."""
        response = yield from ask(self.stubs.collections.ListSpaces, pb.ListSpacesRequest(parent=self.resource))
        return tuple(map(to_space, response.spaces))

    @call
    def get(self, name: str) -> Script[SpaceInfo]:
        """Return one space."""
        request = pb.GetSpaceRequest(name=space_name(self.name, name))
        return to_space((yield from ask(self.stubs.collections.GetSpace, request)))

    @call
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
        request = from_extension(self.name, space, views, name, activate)
        return to_space(
            (yield from run_job(self.stubs, self.stubs.collections.ExtendSpace, request, progress, request_id))
        )

    @call
    def assign(
        self, space: str, label: str, *, activate: bool | None = None, request_id: str = ""
    ) -> Script[SpaceInfo]:
        """Choose the metric for a label that a space was not trained on."""
        request = from_assignment(self.name, space, label, activate)
        return to_space((yield from run_job(self.stubs, self.stubs.collections.AssignLabel, request, None, request_id)))

    @call
    def activate(self, space: str, generation: int | None = None) -> Script[SpaceInfo]:
        """Switch to a space and generation."""
        request = pb.ActivateSpaceRequest(name=space_name(self.name, space), generation=generation)
        return to_space((yield from ask(self.stubs.collections.ActivateSpace, request)))

    @call
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
        return to_space((yield from run_job(self.stubs, self.stubs.collections.ReindexSpace, request, progress)))

    @call
    def calibrate(self, request: CalibrationRequest, *, progress: Progress | None = None) -> Script[Threshold]:
        """Learn the distance up to which two items are the same."""
        message = to_message(pb.CalibrateSpaceRequest, request, parent=self.resource)
        return to_value(
            Threshold, (yield from run_job(self.stubs, self.stubs.collections.CalibrateSpace, message, progress))
        )

    @call
    def delete(self, space: str, generation: int | None = None) -> Script[None]:
        """Delete a space, or one of its generations."""
        request = pb.DeleteSpaceRequest(name=space_name(self.name, space), generation=generation)
        yield from ask(self.stubs.collections.DeleteSpace, request)


class RemoteMaps(CollectionScripts[C]):
    """The maps of a collection on a server; call the object to list the maps. See ``engine.collections.maps``."""

    @call
    def __call__(self) -> Script[tuple[MapInfo, ...]]:
        """Return the maps, the newest first."""
        response = yield from ask(self.stubs.collections.ListMaps, maps_pb2.ListMapsRequest(parent=self.resource))
        return tuple(to_value(MapInfo, info) for info in response.maps)

    @call
    def make(self, request: MapRequest, *, progress: Progress | None = None) -> Script[MapInfo]:
        """Place the items of a space in a plane; if the caller stops waiting, the server cancels the work."""
        message = to_message(maps_pb2.MakeMapRequest, request, parent=self.resource)
        return to_value(MapInfo, (yield from run_job(self.stubs, self.stubs.collections.MakeMap, message, progress)))

    @call
    def get(self, number: int) -> Script[MapInfo]:
        """Return a map by its id."""
        maps = yield from RemoteMaps.__call__(self)
        return known_map({info.id: info for info in maps}, number)

    @call
    def points(
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
        return to_map_points((yield from ask(self.stubs.collections.ListMapPoints, request)))

    @call
    def delete(self, number: int) -> Script[None]:
        """Delete a map."""
        yield from ask(self.stubs.collections.DeleteMap, maps_pb2.DeleteMapRequest(parent=self.resource, id=number))


class RemoteStorage(CollectionScripts[C]):
    """The storage of a collection on a server; see ``engine.collections.storage``."""

    @call
    def findings(self) -> Script[tuple[str, ...]]:
        """Return the inconsistencies of the collection, a sentence each."""
        request = pb.CheckCollectionRequest(name=self.resource)
        return tuple((yield from ask(self.stubs.collections.CheckCollection, request)).findings)
