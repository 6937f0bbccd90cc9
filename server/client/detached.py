"""Collections on a server whose long methods return a job instead of waiting for its result."""

from collections.abc import Sequence
from typing import Final

from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.index_choice import AUTO, RECALL, VECTORS
from crossview.engine.values.map import MapRequest
from crossview.engine.values.query import CalibrationRequest
from crossview.engine.values.recipe import Recipe
from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.convert_jobs import (
    from_assignment,
    from_extension,
    from_reindexing,
    from_training,
)
from crossview.server.client.job import Job
from crossview.server.client.remote_jobs import JobScript
from crossview.server.client.script import Runner, Script, Stubs, awaited, blocking
from crossview.server.wire.convert import to_message
from crossview.server.wire.names import collection_name
from crossview.v1 import collections_pb2 as pb
from crossview.v1.jobs_pb2 import SubmitJobRequest
from crossview.v1.maps_pb2 import MakeMapRequest


class DetachedScript:
    """The scripts of the long methods of a collection; see ``DetachedCollection`` and ``AsyncDetachedCollection``."""

    name: str

    def __init__(self, stubs: Stubs, name: str) -> None:
        self._jobs, self.name = JobScript(stubs), name

    def train(
        self, recipe: Recipe, *, space: str | None = None, activate: bool | None = None, request_id: str = ""
    ) -> Script[Job]:
        """Fit a learner and place every item."""
        request = from_training(self.name, recipe, space, activate)
        return (yield from self._jobs.submit(SubmitJobRequest(train=request, request_id=request_id)))

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
        return (yield from self._jobs.submit(SubmitJobRequest(extend_space=request, request_id=request_id)))

    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> Script[Job]:
        """Choose the metric for a label that a space was not trained on."""
        request = from_assignment(self.name, space, label, activate)
        return (yield from self._jobs.submit(SubmitJobRequest(assign_label=request, request_id=request_id)))

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
        return (yield from self._jobs.submit(SubmitJobRequest(reindex_space=request, request_id=request_id)))

    def calibrate(self, request: CalibrationRequest, *, request_id: str = "") -> Script[Job]:
        """Learn the distance up to which two items are the same."""
        message = to_message(pb.CalibrateSpaceRequest, request, parent=collection_name(self.name))
        return (yield from self._jobs.submit(SubmitJobRequest(calibrate_space=message, request_id=request_id)))

    def evaluate(self, request: EvaluationRequest, *, request_id: str = "") -> Script[Job]:
        """Measure retrieval on items that the spaces were not trained on."""
        message = to_message(pb.EvaluateRequest, request, parent=collection_name(self.name))
        return (yield from self._jobs.submit(SubmitJobRequest(evaluate=message, request_id=request_id)))

    def make_map(self, request: MapRequest, *, request_id: str = "") -> Script[Job]:
        """Place the items of a space in a plane."""
        message = to_message(MakeMapRequest, request, parent=collection_name(self.name))
        return (yield from self._jobs.submit(SubmitJobRequest(make_map=message, request_id=request_id)))


class DetachedCollection:
    """A collection on a server whose long methods return at once, with the job that carries them out.

    Arguments are as in the methods of ``engine.Collection``. A repeated ``request_id`` returns the earlier job.
    """

    connection: Runner
    script: DetachedScript

    def __init__(self, connection: Runner, name: str) -> None:
        self.connection, self.script = connection, DetachedScript(connection.stubs, name)

    train: Final = blocking(DetachedScript.train)
    extend: Final = blocking(DetachedScript.extend)
    assign: Final = blocking(DetachedScript.assign)
    reindex: Final = blocking(DetachedScript.reindex)
    calibrate: Final = blocking(DetachedScript.calibrate)
    evaluate: Final = blocking(DetachedScript.evaluate)
    make_map: Final = blocking(DetachedScript.make_map)


class AsyncDetachedCollection:
    """The methods of ``DetachedCollection``, awaited."""

    connection: AsyncConnection
    script: DetachedScript

    def __init__(self, connection: AsyncConnection, name: str) -> None:
        self.connection, self.script = connection, DetachedScript(connection.stubs, name)

    train: Final = awaited(DetachedScript.train)
    extend: Final = awaited(DetachedScript.extend)
    assign: Final = awaited(DetachedScript.assign)
    reindex: Final = awaited(DetachedScript.reindex)
    calibrate: Final = awaited(DetachedScript.calibrate)
    evaluate: Final = awaited(DetachedScript.evaluate)
    make_map: Final = awaited(DetachedScript.make_map)
