"""The services of jobs: ``JobService`` submits them, ``google.longrunning.Operations`` manages them."""
# ruff: noqa: N802 - methods have the names of their rpcs

import re

from google.longrunning import operations_pb2
from google.protobuf.empty_pb2 import Empty

from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.dispatch.origin import origin_here
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.wire import pages
from crossview.server.wire.identity import Scope, identity_here
from crossview.server.wire.message_batches import batches
from crossview.server.wire.names import collection_name
from crossview.v1 import jobs_pb2

_FILTER = re.compile(
    r'\s*(?:collection\s*=\s*"?(?:collections/)?([a-z0-9][a-z0-9_-]{0,62})"?)?(?:(?:^|\s+AND\s+)(done\s*=\s*false))?\s*'
)


class JobService:
    """The service that submits jobs without waiting for them."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs

    def SubmitJob(self, request: jobs_pb2.SubmitJobRequest, context: None) -> operations_pb2.Operation:
        """Put a request in the queue and return its operation."""
        return self.jobs.submit(request, identity_here(), origin_here())[0]


class OperationsService:
    """The service that gets, lists, cancels and deletes operations; ``AwaitedJobs`` implements WaitOperation."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs

    def GetOperation(self, request: operations_pb2.GetOperationRequest, context: None) -> operations_pb2.Operation:
        """Return one operation."""
        return self.jobs.records.get(self._seen(request.name))

    def ListOperations(
        self, request: operations_pb2.ListOperationsRequest, context: None
    ) -> operations_pb2.ListOperationsResponse:
        """Return a page of the caller's operations of one or all collections, the newest first.

        Large results shorten the page.
        """
        if request.name not in ("", "operations"):
            raise InvalidInputError(f"the name of the list is 'operations', not {request.name!r}")
        size, before = pages.page_size(request.page_size), pages.number_from_token(request.page_token)
        (collection, unfinished), who = _parsed(request.filter), identity_here()
        if collection:
            who.check_reaches(collection)
            collection = collection_name(self.jobs.home.collection_of(collection))
        rows = self.jobs.records.page(
            collection, before, size + 1, None if who.scope is Scope.ADMIN else who.id, unfinished
        )
        page = next(batches(rows[:size], lambda row: row[1].ByteSize(), pages.LARGEST_SIZE), [])
        return operations_pb2.ListOperationsResponse(
            operations=[operation for _, operation in page],
            next_page_token=pages.to_token(str(page[-1][0])) if len(rows) > len(page) else "",
        )

    def CancelOperation(self, request: operations_pb2.CancelOperationRequest, context: None) -> Empty:
        """Request the cancellation of a job; an ended job does not change."""
        self.jobs.cancel(self._seen(request.name))
        return Empty()

    def DeleteOperation(self, request: operations_pb2.DeleteOperationRequest, context: None) -> Empty:
        """Delete the record of a job that has ended."""
        self.jobs.records.delete(self._seen(request.name))
        return Empty()

    def _seen(self, name: str) -> str:
        """Return the id of an operation's job; raise NotFoundError unless the caller sees the job."""
        return self.jobs.seen(identity_here(), name)


def _parsed(condition: str) -> tuple[str, bool]:
    """Return the collection or alias of a filter, "" for none, and whether it wants only unfinished operations."""
    match = _FILTER.fullmatch(condition)
    if match is None:
        raise InvalidInputError(
            f"the filter {condition!r} is not a filter of operations: use collection=NAME, done=false, or "
            "collection=NAME AND done=false"
        )
    return match[1] or "", match[2] is not None
