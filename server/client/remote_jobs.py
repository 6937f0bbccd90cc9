"""The jobs of a server, as methods of a client."""

from collections.abc import Sequence
from typing import Final

from google.longrunning import operations_pb2

from crossview.engine.runtime.progress import Progress
from crossview.server.client.async_connection import AsyncConnection
from crossview.server.client.convert_jobs import to_job
from crossview.server.client.job import Job, JobStep
from crossview.server.client.script import LOOK_SECONDS, Runner, Script, Stubs, ask, awaited, blocking, pages_of
from crossview.server.wire.names import operation_name
from crossview.server.wire.status import error_in
from crossview.v1.jobs_pb2 import SubmitJobRequest


class JobScript:
    """The scripts of the jobs of a server; see ``RemoteJobs`` and ``AsyncJobs``."""

    def __init__(self, stubs: Stubs) -> None:
        self._stubs, self._operations = stubs, stubs.operations

    def submit(self, request: SubmitJobRequest) -> Script[Job]:
        """Put a request in the queue of the server, and return its job."""
        return to_job((yield from ask(self._stubs.jobs_stub.SubmitJob, request)))

    def get(self, job: str) -> Script[Job]:
        """Return one job, by its id."""
        request = operations_pb2.GetOperationRequest(name=operation_name(job))
        return to_job((yield from ask(self._operations.GetOperation, request)))

    def list(self, collection: str = "") -> Script[Sequence[Job]]:
        """Return the jobs of one collection [default: of all collections], the newest first."""
        condition = f"collection={collection}" if collection else ""
        request = operations_pb2.ListOperationsRequest(name="operations", filter=condition)
        found = yield from pages_of(self._operations.ListOperations, request)
        return [to_job(operation) for page in found for operation in page.operations]

    def cancel(self, job: str) -> Script[None]:
        """Request the cancellation of a job; it ends soon, unless it has already ended."""
        request = operations_pb2.CancelOperationRequest(name=operation_name(job))
        yield from ask(self._operations.CancelOperation, request)

    def delete(self, job: str) -> Script[None]:
        """Delete the record of a job that has ended."""
        request = operations_pb2.DeleteOperationRequest(name=operation_name(job))
        yield from ask(self._operations.DeleteOperation, request)

    def wait(self, job: str, progress: Progress | None = None) -> Script[Job]:
        """Wait until a job is done and return it, or raise its error; the job continues if the caller stops waiting."""
        request = operations_pb2.WaitOperationRequest(name=operation_name(job))
        request.timeout.FromMilliseconds(int(1e3 * LOOK_SECONDS))
        follower = Follower(progress)
        while True:
            operation = yield from ask(self._operations.WaitOperation, request)
            follower.take(to_job(operation))
            if operation.HasField("error"):
                raise error_in(operation.error)
            if operation.done:
                return to_job(operation)


class RemoteJobs:
    """The jobs of a server; methods raise the errors of ``Connection.call``."""

    connection: Runner
    script: JobScript

    def __init__(self, connection: Runner) -> None:
        self.connection, self.script = connection, JobScript(connection.stubs)

    submit: Final = blocking(JobScript.submit)
    get: Final = blocking(JobScript.get)
    list: Final = blocking(JobScript.list)
    cancel: Final = blocking(JobScript.cancel)
    delete: Final = blocking(JobScript.delete)
    wait: Final = blocking(JobScript.wait)


class AsyncJobs:
    """The methods of ``RemoteJobs``, awaited."""

    connection: AsyncConnection
    script: JobScript

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection, self.script = connection, JobScript(connection.stubs)

    submit: Final = awaited(JobScript.submit)
    get: Final = awaited(JobScript.get)
    list: Final = awaited(JobScript.list)
    cancel: Final = awaited(JobScript.cancel)
    delete: Final = awaited(JobScript.delete)
    wait: Final = awaited(JobScript.wait)


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
