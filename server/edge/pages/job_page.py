"""A training that runs or has ended: its progress, and afterwards what held-out items show before and after it."""

from typing import Any

from crossview.engine.values.evaluation import TRAINED, UNSEEN, Evaluation, EvaluationRow
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.figures import Figure, figures
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.page_jobs import work_of
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.fields import to_value
from crossview.server.wire.status import Code
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import types_pb2

MEASURES = ("labels", "items")
"""The ends of the ids of the evaluations that follow a training."""
_FIGURES = {
    ("labels", "map", None): "Mean average precision",
    ("labels", "precision", 10): "Same label among the first 10",
    ("items", "recall", 1): "Own item first",
    ("items", "recall", 10): "Own item among the first 10",
}
"""The shown figures in plain words, by measure, metric and k."""
_DATABASES = (UNSEEN, TRAINED, "")
"""The items to find: the first that was measured is shown."""


async def show(visit: Visit) -> Answer:
    """Return the state of the job ``id``, which trains ``space``, to compare with the space ``before``."""
    job, before = visit.query.text("id"), visit.query.text("before")
    work = await work_of(visit, job, types_pb2.Space)
    if work is None:
        raise PageError(404, f"no job {job!r}: the server keeps ended jobs for 7 days", Code.NOT_FOUND)
    if work.state.collection != visit.collection or work.state.kind != "train":
        raise PageError(404, f"the job {job!r} belongs to another collection, or does not train", Code.NOT_FOUND)
    space = short(work.response.name) if work.response is not None else visit.query.text("space")
    measured = [(name, await work_of(visit, f"{job}-{name}", pb.Evaluation)) for name in MEASURES]
    info = await visit.call("GetCollection", pb.GetCollectionRequest(name=visit.collection))
    measurements = [(name, job_of_measure) for name, job_of_measure in measured if job_of_measure is not None]
    values = {
        "title": f"Training {space}",
        "tab": "teach",
        "lesson": "train",
        "work": work,
        "measures": [f"{job}-{name}" for name in MEASURES],
        "measured": measurements,
        "measuring": work.response is not None and any(not measurement.done for _, measurement in measurements),
        "figures": [
            figure
            for name, measurement in measurements
            if measurement.response
            for figure in _shown(name, measurement.response, space)
        ],
        "space": space,
        "before": before,
        "exists": any(short(other.name) == space for other in info.spaces),
        "active": info.active_space == space,
    }
    return visit.page("job.html", **values)


def _shown(measure: str, message: Any, space: str) -> list[Figure]:
    """Return the figures of an evaluation that people are shown, of the unseen items where it has them."""
    evaluation = to_value(Evaluation, message)
    databases = {row.database for row in evaluation.rows}
    chosen = next((database for database in _DATABASES if database in databases), None)
    rows = [row for row in evaluation.rows if row.database == chosen and (measure, row.metric, row.k) in _FIGURES]
    lines = figures(evaluation, rows, lambda row: (_FIGURES[measure, row.metric, row.k], _views(row)), percent=True)
    return [line for line in lines if space in line.spaces and len(line.spaces) > 1]


def _views(row: EvaluationRow) -> str:
    return " → ".join(dict.fromkeys((row.query_view, row.database_view)))


PAGES = (Page("/c/{collection}/teach/job", show),)
