"""Requests to a collection on a server that nobody waits for."""

from collections.abc import Sequence

from crossview.engine.evaluation import EvaluationRequest
from crossview.engine.query import CalibrationRequest
from crossview.engine.recipe import Recipe
from crossview.server.convert_jobs import (
    from_assignment,
    from_calibration_of,
    from_evaluation_of,
    from_extension,
    from_training,
)
from crossview.server.job import Job
from crossview.server.remote_jobs import RemoteJobs
from crossview.v1.jobs_pb2 import SubmitJobRequest


class DetachedCollection:
    """A collection on a server whose long methods return at once, with the job that carries them out.

    Arguments are those of the methods of ``engine.Collection``. Under a ``request_id`` that was given before, they
    return the job of then.
    """

    def __init__(self, jobs: RemoteJobs, name: str) -> None:
        self._jobs = jobs
        self.name = name

    def train(
        self, recipe: Recipe, *, space: str | None = None, activate: bool | None = None, request_id: str = ""
    ) -> Job:
        """Fits a learner and places every item."""
        request = from_training(self.name, recipe, space, activate)
        return self._jobs.submit(SubmitJobRequest(train=request, request_id=request_id))

    def extend(
        self,
        space: str,
        views: Sequence[str],
        *,
        name: str | None = None,
        activate: bool | None = None,
        request_id: str = "",
    ) -> Job:
        """Adds views to a trained space."""
        request = from_extension(self.name, space, views, name, activate)
        return self._jobs.submit(SubmitJobRequest(extend_space=request, request_id=request_id))

    def assign(self, space: str, label: str, *, activate: bool | None = None, request_id: str = "") -> Job:
        """Chooses the metric for a label that a space was not trained on."""
        request = from_assignment(self.name, space, label, activate)
        return self._jobs.submit(SubmitJobRequest(assign_label=request, request_id=request_id))

    def calibrate(self, request: CalibrationRequest, *, request_id: str = "") -> Job:
        """Learns up to which distance two items are the same."""
        message = from_calibration_of(self.name, request)
        return self._jobs.submit(SubmitJobRequest(calibrate_space=message, request_id=request_id))

    def evaluate(self, request: EvaluationRequest, *, request_id: str = "") -> Job:
        """Measures retrieval on items that the spaces were not trained on."""
        message = from_evaluation_of(self.name, request)
        return self._jobs.submit(SubmitJobRequest(evaluate=message, request_id=request_id))
