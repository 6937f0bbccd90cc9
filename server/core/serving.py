"""The way in which a server answers each method: by a service, in the process for writes, or as an awaited job."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from crossview.features.stages import stage
from crossview.server.core.cache import OpenCollections
from crossview.server.core.dispatch.call import Immediate, Served, Together
from crossview.server.core.jobs.awaited import AwaitedJobs
from crossview.server.core.jobs.job_service import JobService, OperationsService
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.core.published import PublishedCollections, without_catalog
from crossview.server.core.services.collection_service import CollectionService
from crossview.server.core.services.question_service import QuestionService
from crossview.server.core.services.search_service import TOGETHER, SearchService
from crossview.server.core.writing.process import WriteProcess
from crossview.server.wire.methods import METHODS, Method, Room, Touch, job_of
from crossview.server.wire.names import parse_collection, parse_item
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import collections_pb2 as pb


def served_methods(
    settings: ServerSettings, collections: OpenCollections, jobs: Jobs, awaited: AwaitedJobs, writing: WriteProcess
) -> dict[str, Served]:
    """Return the way in which a server answers each method, by its path."""
    search = SearchService(collections, settings)
    services = {
        "crossview.v1.SearchService": search,
        "crossview.v1.CollectionService": CollectionService(collections, jobs, settings.workers),
        "crossview.v1.QuestionService": QuestionService(collections),
        "crossview.v1.JobService": JobService(jobs),
        "google.longrunning.Operations": OperationsService(jobs),
    }
    served: dict[str, Served] = {}
    for path, method in METHODS.items():
        if method.each is None:
            answer = getattr(services[method.service], method.name) if method.threaded else None
            if answer is not None and method.touches is Touch.ITEMS and settings.bundle is None:
                answer = forwarded(answer, method.response, writing, collections)
            by_model = search.by_model if method.room is Room.SEARCHES else None
            served[path] = Served(method, answer, by_model=by_model, awaited=_awaiting(method, awaited))
    path = "/crossview.v1.SearchService/Search"
    immediate = Immediate(search.suits_loop, search.searches_in_loop)
    together = Together(search.alike, search.search_together, TOGETHER)
    served[path] = replace(served[path], immediate=immediate, together=together)
    streams = ((path, method) for path, method in METHODS.items() if method.each is not None)
    served |= {path: replace(served[method.answered_by], method=method) for path, method in streams}
    return without_catalog(served) if isinstance(collections, PublishedCollections) else served


def _awaiting(method: Method, awaited: AwaitedJobs) -> Callable[[Any], Awaitable[Message | None]] | None:
    """Return a function that answers the requests of a method that are jobs; None if no request is a job."""
    if method.awaited:
        return awaited.operation
    if method.job is None or method.job.waits is None:
        return None

    async def response(request: Message) -> Message | None:
        job = job_of(method, request)
        if job is None:
            return None
        packed, message = await awaited.response(job), method.response()
        packed.Unpack(message)
        return message

    return response


Answer = Callable[[Message, None], Message]


def forwarded(answer: Answer, response: type[Message], process: WriteProcess, collections: OpenCollections) -> Answer:
    """Return a function that answers a method of ``ItemWrites`` in the process for writes, otherwise with ``answer``.

    ``answer`` handles imports of pictures, because the pool that decodes pictures belongs to this process, and all
    writes while the process for writes does not run.
    """

    def forward(request: Message, context: None) -> Message:
        if not (isinstance(request, pb.ImportItemsRequest) and any(item.image for item in request.items)):
            with (
                collections.use(_collection(request)),  # makes a deletion of the collection wait for the write
                stage("write in another process"),
            ):
                packed = process.answer(request)
            if packed is not None:
                return response.FromString(packed.value)
        return answer(request, context)

    return forward


def _collection(request: Message) -> str:
    if isinstance(request, pb.DeleteItemRequest):
        return parse_item(request.name)[0]
    return parse_collection(getattr(request, "parent", ""))
