"""The training of a space: what to learn from which views, and the spaces that searches can use instead."""

import secrets
from typing import Any

from google.longrunning import operations_pb2

from crossview.engine.training.guide import LearnerGuide, learner_guides
from crossview.server.edge.pages.answer import Answer
from crossview.server.edge.pages.fields import Fields
from crossview.server.edge.pages.page_calls import PageError
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.templates import url
from crossview.server.edge.pages.visit import Visit
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import jobs_pb2, questions_pb2, types_pb2

_HELD_OUT = {"0.1": "1 in 10", "0.2": "1 in 5", "0.3": "3 in 10", "0": "none, so nothing is measured"}
_NAME, _JOBS = "taught", 5


async def show(visit: Visit) -> Answer:
    """Return the form of a training, the jobs that run, and the spaces."""
    info, answers, jobs = await visit.call_all(
        ("GetCollection", pb.GetCollectionRequest(name=visit.collection)),
        ("ListAnswers", questions_pb2.ListAnswersRequest(parent=visit.collection, page_size=1)),
        ("ListOperations", _recent(visit)),
    )
    has_answers = bool(answers.answers)
    values = {
        "title": f"Train {visit.path['collection']}",
        "tab": "teach",
        "lesson": "train",
        "info": info,
        "learners": _learners(),
        "held_out": _HELD_OUT,
        "free_name": free_name({short(space.name) for space in info.spaces}),
        "has_answers": has_answers,
        "from_answers": has_answers and visit.query.text("answers") == "1",
        "jobs": [_job(job) for job in jobs.operations if not job.done][:_JOBS],
        "short": short,
    }
    return visit.page("training.html", **values)


def _recent(visit: Visit) -> Any:
    wanted = f"collection={visit.path['collection']}"
    return operations_pb2.ListOperationsRequest(name="operations", filter=wanted, page_size=50)


def _job(operation: Any) -> tuple[str, Any]:
    """Return the id of a job and its state."""
    state = jobs_pb2.JobMetadata()
    operation.metadata.Unpack(state)
    return short(operation.name), state


def _learners() -> list[LearnerGuide]:
    return [learner for learner in learner_guides() if not learner.stage]


def free_name(taken: set[str]) -> str:
    """Return a name that no space has."""
    number = 1
    while (name := _NAME if number == 1 else f"{_NAME}-{number}") in taken:
        number += 1
    return name


async def train(visit: Visit) -> Answer:
    """Submit a training as a job, and the measurements before and after it, which wait for it."""
    form = await visit.form()
    if not form.texts("view"):
        raise PageError(400, "choose at least one view to learn from")
    info = await visit.call("GetCollection", pb.GetCollectionRequest(name=visit.collection))
    spaces = {short(space.name): space for space in info.spaces}
    space = form.text("space") or free_name(set(spaces))
    if space in spaces:
        raise PageError(409, f"there is a space {space!r} already: choose another name, so that both can be compared")
    job = f"page-{secrets.token_hex(8)}"
    request = _training(form, visit.collection, space, job)
    await visit.call("SubmitJob", jobs_pb2.SubmitJobRequest(train=request, request_id=job))
    before = _before(info, spaces)
    if request.holdout:
        for by, name in _measures(info, len(request.views)):
            wanted = pb.EvaluateRequest(parent=visit.collection, spaces=[before, space], by=by)
            wanted.view = request.views[0]
            measuring = jobs_pb2.SubmitJobRequest(evaluate=wanted, request_id=f"{job}-{name}")
            await visit.call("SubmitJob", measuring)
    path = f"/c/{visit.path['collection']}/teach/job"
    return visit.redirect(url(path, id=job, space=space, before=before))


def _training(form: Fields, parent: str, space: str, job: str) -> pb.TrainRequest:
    held_out = form.text("held_out")
    request = pb.TrainRequest(parent=parent, space_id=space, learner=form.text("learner"), request_id=job)
    request.views.extend(form.texts("view"))
    request.holdout = float(held_out) if held_out in _HELD_OUT else 0.2
    request.answers = form.text("answers") == "1"
    return request


def _before(info: Any, spaces: dict[str, types_pb2.Space]) -> str:
    """Return the space to compare with: the active one if it has held-out items, otherwise the raw views."""
    active = spaces.get(info.active_space)
    return info.active_space if active is not None and active.held_out else "raw"


def _measures(info: Any, views: int) -> list[tuple[pb.Relevance.ValueType, str]]:
    """Return what to measure: by labels if there are any, and by the items' own other views if there are several."""
    by_labels = [(pb.RELEVANCE_LABELS, "labels")] if info.labels else []
    by_items = [(pb.RELEVANCE_ITEMS, "items")] if views > 1 else []
    return by_labels + by_items


async def use(visit: Visit) -> Answer:
    """Make a space, and one of its generations, the one that searches use."""
    form = await visit.form()
    request = pb.ActivateSpaceRequest(name=f"{visit.collection}/spaces/{form.text('space')}")
    if form.text("generation"):
        request.generation = form.number("generation", 0, 0, 1 << 30)
    await visit.call("ActivateSpace", request)
    return visit.redirect(f"/c/{visit.path['collection']}/teach/train")


async def discard(visit: Visit) -> Answer:
    """Delete a space."""
    form = await visit.form()
    await visit.call("DeleteSpace", pb.DeleteSpaceRequest(name=f"{visit.collection}/spaces/{form.text('space')}"))
    return visit.redirect(f"/c/{visit.path['collection']}/teach/train")


PAGES = (
    Page("/c/{collection}/teach/train", show),
    Page("/c/{collection}/teach/train", train, "POST"),
    Page("/c/{collection}/teach/use", use, "POST"),
    Page("/c/{collection}/teach/discard", discard, "POST"),
)
