"""The jobs of a server, as methods of a client."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from google.longrunning import operations_pb2

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.errors import CrossviewError
from crossview.server.client.convert_jobs import to_job
from crossview.server.client.job import Job, JobStep
from crossview.server.client.script import LOOK_SECONDS, Ask, C, Q, R, Script, Scripts, Stubs, ask, call, pages_of
from crossview.server.wire.names import operation_name
from crossview.server.wire.status import error_in
from crossview.v1.jobs_pb2 import SubmitJobRequest


class RemoteJobs(Scripts[C]):
    """The jobs of a server; methods raise the errors of ``Connection.call``."""

    @call
    def submit(self, request: SubmitJobRequest) -> Script[Job]:
        """Put a request in the queue of the server, and return its job."""
        return to_job((yield from ask(self.stubs.jobs_stub.SubmitJob, request)))

    @call
    def get(self, job: str) -> Script[Job]:
        """Return one job, by its id."""
        request = operations_pb2.GetOperationRequest(name=operation_name(job))
        return to_job((yield from ask(self.stubs.operations.GetOperation, request)))

    @call
    def list(self, collection: str = "") -> Script[Sequence[Job]]:
        """Return the jobs of one collection [default: of all collections], the newest first."""
        condition = f"collection={collection}" if collection else ""
        request = operations_pb2.ListOperationsRequest(name="operations", filter=condition)
        responses = yield from pages_of(self.stubs.operations.ListOperations, request)
        return [to_job(operation) for page in responses for operation in page.operations]

    @call
    def cancel(self, job: str) -> Script[None]:
        """Request the cancellation of a job; it ends soon, unless it has already ended."""
        request = operations_pb2.CancelOperationRequest(name=operation_name(job))
        yield from ask(self.stubs.operations.CancelOperation, request)

    @call
    def delete(self, job: str) -> Script[None]:
        """Delete the record of a job that has ended."""
        request = operations_pb2.DeleteOperationRequest(name=operation_name(job))
        yield from ask(self.stubs.operations.DeleteOperation, request)

    @call
    def wait(self, job: str, progress: Progress | None = None) -> Script[Job]:
        """Wait until a job is done and return it, or raise its error; the job continues if the caller stops waiting."""
        request = operations_pb2.WaitOperationRequest(name=operation_name(job))
        request.timeout.FromMilliseconds(int(1e3 * LOOK_SECONDS))
        follower = Follower(progress)
        while True:
            operation = yield from ask(self.stubs.operations.WaitOperation, request)
            follower.take(to_job(operation))
            if operation.HasField("error"):
                raise error_in(operation.error)
            if operation.done:
                return to_job(operation)


class Follower:
    """Reports each step of a job once, from repeated snapshots of the job."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._logged = 0
        self._last: JobStep | None = None

    def take(self, job: Job) -> None:
        """Report the steps that are new in the current state of the job."""
        if self._progress is None:
            return
        new = job.log[len(job.log) - min(job.logged - self._logged, len(job.log)) :]
        self._logged = job.logged
        step = job.progress
        latest = () if step is None or step in (self._last, *new) else (step,)
        for step in (*new, *latest):
            self._progress(step.what, step.done, step.total, step.note)
            self._last = step


def run_job(
    stubs: Stubs, method: Callable[[Q], R], request: Q, progress: Progress | None, request_id: str = ""
) -> Script[R]:
    """Call a method that is a job, and report the progress of the job, as a script."""
    message: Any = request
    message.request_id = request_id or uuid.uuid4().hex
    if progress is None:
        return (yield from ask(method, request))
    follower, operation = (
        Follower(progress),
        operations_pb2.GetOperationRequest(name=operation_name(message.request_id)),
    )

    def look() -> Script[None]:
        with suppress(CrossviewError):  # the call of the method itself reports errors
            follower.take(to_job((yield from ask(stubs.operations.GetOperation, operation))))

    response: R = yield Ask(method, request, look)
    yield from look()
    return response
