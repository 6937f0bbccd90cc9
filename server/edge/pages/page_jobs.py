"""Jobs as pages show them: their state, and their result once they have one."""

from dataclasses import dataclass
from typing import Any

from google.longrunning import operations_pb2
from google.protobuf.message import Message

from crossview.server.edge.pages.answer import Answer, local
from crossview.server.edge.pages.page_calls import PageError, for_people
from crossview.server.edge.pages.search_requests import short
from crossview.server.edge.pages.site import Page
from crossview.server.edge.pages.visit import Visit
from crossview.server.wire.status import Code, message_in
from crossview.v1 import collections_pb2, jobs_pb2

_NEWEST = 20


@dataclass(frozen=True)
class Work:
    """A job: its state, and its result once it has one."""

    id: str
    state: Any
    done: bool
    response: Any = None
    error: str = ""

    @classmethod
    def of(cls, operation: Any, kind: type[Message] | None = None) -> "Work":
        """Return the job of an operation, with a response of this type."""
        state, response = jobs_pb2.JobMetadata(), None
        operation.metadata.Unpack(state)
        if kind is not None and operation.HasField("response"):
            response = kind()
            operation.response.Unpack(response)
        error = for_people(message_in(operation.error)) if operation.HasField("error") else ""
        return cls(short(operation.name), state, operation.done, response, error)

    @property
    def share(self) -> float | None:
        """The share of the steps that are done; None if their number is unknown."""
        progress = self.state.progress
        return min(1.0, progress.done / progress.total) if progress.total else None

    @property
    def waits(self) -> bool:
        """Whether it waits for other jobs."""
        return bool(self.state.state == jobs_pb2.JobMetadata.STATE_WAITING)

    @property
    def cancelled(self) -> bool:
        """Whether a person cancelled it."""
        return bool(self.state.state == jobs_pb2.JobMetadata.STATE_CANCELLED)


async def work_of(visit: Visit, job: str, kind: type[Message]) -> Work | None:
    """Return a job; None if it does not exist."""
    try:
        operation = await visit.call("GetOperation", operations_pb2.GetOperationRequest(name=f"operations/{job}"))
    except PageError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return None
    return Work.of(operation, kind)


async def import_of(visit: Visit, items: int) -> Work | None:
    """Return the job that adds pictures to the collection; one that has ended only if there are no ``items``."""
    wanted = f"collection={visit.path['collection']}" + (" AND done=false" if items else "")
    request = operations_pb2.ListOperationsRequest(name="operations", filter=wanted, page_size=_NEWEST)
    try:
        listed = await visit.call("ListOperations", request)
    except PageError as error:
        if error.code is not Code.UNIMPLEMENTED:  # published collections have no jobs
            raise
        return None
    works = (Work.of(operation, collections_pb2.ImportItemsResponse) for operation in listed.operations)
    return next((work for work in works if work.state.kind == "import_items"), None)


async def show_import(visit: Visit) -> Answer:
    """Return the progress of the job that adds pictures, as a part of a page."""
    info = await visit.call("GetCollection", collections_pb2.GetCollectionRequest(name=visit.collection))
    adding = await import_of(visit, info.items)
    return visit.page(
        "adding.html", title="Pictures to come", adding=adding, info=info, back=local(visit.query.text("back"))
    )


async def cancel(visit: Visit) -> Answer:
    """Cancel the jobs ``id``, the last first, and return to the page ``back``."""
    form = await visit.form()
    for job in reversed(form.texts("id")):
        try:
            await visit.call("CancelOperation", operations_pb2.CancelOperationRequest(name=f"operations/{job}"))
        except PageError as error:
            if error.code is not Code.NOT_FOUND:
                raise
    return visit.redirect(form.text("back"))


PAGES = (
    Page("/c/{collection}/adding", show_import),
    Page("/c/{collection}/cancel", cancel, "POST"),
)
