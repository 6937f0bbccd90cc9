"""Collections on a server whose long methods return a job instead of waiting for its result."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.index_choice import AUTO, RECALL, VECTORS
from crossview.engine.values.map import MapRequest
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.convert_jobs import (
    from_assignment,
    from_extension,
    from_reindexing,
    from_training,
    to_job,
)
from crossview.server.client.job import Job
from crossview.server.client.script import C, CollectionScripts, Script, Stubs, ask, call, earlier_names
from crossview.server.wire.convert import to_message
from crossview.v1 import collections_pb2 as pb
from crossview.v1.jobs_pb2 import SubmitJobRequest
from crossview.v1.maps_pb2 import MakeMapRequest


def _submitted(stubs: Stubs, request_id: str, **request: Any) -> Script[Job]:
    """Put a request in the queue of the server, by the name of its kind, and return its job, as a script."""
    message = SubmitJobRequest(request_id=request_id, **request)
    return to_job((yield from ask(stubs.jobs_stub.SubmitJob, message)))


class DetachedSpaces(CollectionScripts[C]):
    """The spaces of a collection, whose long methods return their job."""

    @call
    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool | None = None,
        request_id: str = "",
    ) -> Script[Job]:
        """Add views to a trained space."""
        request = from_extension(self.name, space, views, name, activate)
        return (yield from _submitted(self.stubs, request_id, extend_space=request))

    @call
    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> Script[Job]:
        """Choose the metric for a label that a space was not trained on."""
        request = from_assignment(self.name, space, label, activate)
        return (yield from _submitted(self.stubs, request_id, assign_label=request))

    @call
    def reindex(
        self,
        space: str = "",
        *,
        index: str = AUTO,
        recall: float = RECALL,
        vectors: str = VECTORS[0],
        targets: Sequence[str] = (),
        request_id: str = "",
    ) -> Script[Job]:
        """Build the indexes of a space in a kind."""
        request = from_reindexing(self.name, space, index=index, recall=recall, vectors=vectors, targets=targets)
        return (yield from _submitted(self.stubs, request_id, reindex_space=request))

    @call
    def calibrate(self, request: CalibrationRequest, *, request_id: str = "") -> Script[Job]:
        """Learn the distance up to which two items are the same."""
        message = to_message(pb.CalibrateSpaceRequest, request, parent=self.resource)
        return (yield from _submitted(self.stubs, request_id, calibrate_space=message))


class DetachedMaps(CollectionScripts[C]):
    """The maps of a collection, whose long methods return their job."""

    @call
    def make(self, request: MapRequest, *, request_id: str = "") -> Script[Job]:
        """Place the items of a space in a plane."""
        message = to_message(MakeMapRequest, request, parent=self.resource)
        return (yield from _submitted(self.stubs, request_id, make_map=message))


class DetachedCollection(CollectionScripts[C]):
    """A collection on a server whose long methods return at once, with the job that carries them out.

    Arguments are as in the methods of ``engine.Collection``. A repeated ``request_id`` returns the earlier job.
    """

    EARLIER: ClassVar[Mapping[str, str]] = earlier_names(
        "extend=spaces.extend assign=spaces.assign reindex=spaces.reindex calibrate=spaces.calibrate make_map=maps.make"
    )

    def __init__(self, connection: C, name: str) -> None:
        super().__init__(connection, name)
        self.spaces: DetachedSpaces[C] = DetachedSpaces(connection, name)
        self.maps: DetachedMaps[C] = DetachedMaps(connection, name)

    @call
    def train(
        self, recipe: Recipe, *, space: str | None = None, activate: bool | None = None, request_id: str = ""
    ) -> Script[Job]:
        """Fit a learner and place every item."""
        request = from_training(self.name, recipe, space, activate)
        return (yield from _submitted(self.stubs, request_id, train=request))

    @call
    def evaluate(self, request: EvaluationRequest, *, request_id: str = "") -> Script[Job]:
        """Measure retrieval on items that the spaces were not trained on."""
        message = to_message(pb.EvaluateRequest, request, parent=self.resource)
        return (yield from _submitted(self.stubs, request_id, evaluate=message))
