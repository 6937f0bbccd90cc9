"""A training that runs or has ended: its progress, and afterwards what held-out items show before and after it."""

from dataclasses import dataclass
from typing import Any

from google.longrunning import operations_pb2

from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.page_calls import PageError, for_people
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.shapes import Figure, Measured, verdict
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.templates import url
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code, message_in
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import jobs_pb2, types_pb2

MEASURES = ("labels", "items")
"""The ends of the ids of the evaluations that follow a training."""
_FIGURES = {
    ("labels", "map", 0): "Mean average precision",
    ("labels", "precision", 10): "Same label among the first 10",
    ("items", "recall", 1): "Own item first",
    ("items", "recall", 10): "Own item among the first 10",
}
"""The shown figures in plain words, by measure, metric and k."""
_DATABASES = (types_pb2.DATABASE_UNSEEN, types_pb2.DATABASE_TRAINED, types_pb2.DATABASE_UNSPECIFIED)
"""The items to find: the first that was measured is shown."""


@dataclass(frozen=True)
class Work:
    """A job: its state, and its result once it has one."""

    id: str
    state: Any
    done: bool
    response: Any = None
    error: str = ""

    @property
    def share(self) -> float | None:
        """The share of the steps that are done; None if their number is unknown."""
        progress = self.state.progress
        return min(1.0, progress.done / progress.total) if progress.total else None

    @property
    def cancelled(self) -> bool:
        """Whether a person cancelled it."""
        return bool(self.state.state == jobs_pb2.JobMetadata.STATE_CANCELLED)


async def _work(visit: Visit, job: str, kind: type[Any]) -> Work | None:
    """Return a job; None if it does not exist."""
    try:
        operation = await visit.call("GetOperation", operations_pb2.GetOperationRequest(name=f"operations/{job}"))
    except PageError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return None
    state = jobs_pb2.JobMetadata()
    operation.metadata.Unpack(state)
    if not operation.HasField("response"):
        return Work(job, state, operation.done, error=for_people(message_in(operation.error)) if operation.done else "")
    response = kind()
    operation.response.Unpack(response)
    return Work(job, state, operation.done, response)


async def show(visit: Visit) -> Answer:
    """Return the state of the job ``id``, which trains ``space``, to compare with the space ``before``."""
    job, before = visit.query.text("id"), visit.query.text("before")
    work = await _work(visit, job, types_pb2.Space)
    if work is None:
        raise PageError(404, f"no job {job!r}: the server keeps ended jobs for 7 days", Code.NOT_FOUND)
    if work.state.collection != visit.collection or work.state.kind != "train":
        raise PageError(404, f"the job {job!r} belongs to another collection, or does not train", Code.NOT_FOUND)
    space = short(work.response.name) if work.response is not None else visit.query.text("space")
    measured = [(name, await _work(visit, f"{job}-{name}", pb.Evaluation)) for name in MEASURES]
    info = await visit.call("GetCollection", pb.GetCollectionRequest(name=visit.collection))
    measurements = [(name, job_of_measure) for name, job_of_measure in measured if job_of_measure is not None]
    values = {
        "title": f"Training {space}",
        "tab": "teach",
        "lesson": "train",
        "work": work,
        "measured": measurements,
        "measuring": work.response is not None and any(not measurement.done for _, measurement in measurements),
        "figures": [
            each
            for name, measurement in measurements
            if measurement.response
            for each in figures(name, measurement.response, space)
        ],
        "space": space,
        "before": before,
        "exists": any(short(other.name) == space for other in info.spaces),
        "active": info.active_space == space,
    }
    return visit.page("job.html", **values)


def figures(measure: str, evaluation: Any, space: str) -> list[Figure]:
    """Return the figures of an evaluation that people are shown, of the unseen items where it has them."""
    rows: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in evaluation.rows:
        rows.setdefault((row.query_view, row.database_view, row.metric, row.k, row.database), {})[row.space] = row.value
    errors: dict[tuple[Any, ...], float] = {
        (
            difference.query_view,
            difference.database_view,
            difference.metric,
            difference.k,
            difference.database,
        ): difference.standard_error
        for difference in evaluation.differences
        if difference.space == space and difference.HasField("standard_error")
    }
    databases = {key[-1] for key in rows}
    chosen = next((database for database in _DATABASES if database in databases), None)
    lines = []
    for key, values in rows.items():
        query, database_view, metric, k, database = key
        name = _FIGURES.get((measure, metric, k))
        others = [other for other in values if other != space]
        if name is None or database != chosen or space not in values or not others:
            continue
        before, after = values[others[0]], values[space]
        views = query if query == database_view else f"{query} → {database_view}"
        lines.append(
            Figure(name, views, (_measured(others[0], before), _compared(space, before, after, errors.get(key))))
        )
    return lines


def _measured(space: str, value: float) -> Measured:
    return Measured(space, value, f"{100 * value:.1f} %", leads=False)


def _compared(space: str, before: float, after: float, error: float | None) -> Measured:
    change = f"{100 * (after - before):+.1f}".replace("-", "−") + ("" if error is None else f" ± {100 * error:.1f}")
    return _measured(space, after)._replace(leads=True, difference=change, verdict=verdict(after - before, error))


async def cancel(visit: Visit) -> Answer:
    """Cancel a training, and the measurements that wait for it."""
    form = await visit.form()
    job = form.text("id")
    for operation in (*(f"{job}-{name}" for name in MEASURES), job):
        try:
            await visit.call("CancelOperation", operations_pb2.CancelOperationRequest(name=f"operations/{operation}"))
        except PageError as error:
            if error.code is not Code.NOT_FOUND or operation == job:
                raise
    path = f"/c/{visit.path['collection']}/teach/job"
    return visit.redirect(url(path, id=job, space=form.text("space"), before=form.text("before")))


PAGES = (Page("/c/{collection}/teach/job", show), Page("/c/{collection}/teach/cancel", cancel, "POST"))
