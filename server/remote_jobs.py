"""The jobs of a server, from a client."""

from collections.abc import Iterator

from google.longrunning import operations_pb2

from crossview.engine.runtime.progress import Progress
from crossview.server.connection import Connection
from crossview.server.convert_jobs import to_job
from crossview.server.job import Job, JobStep
from crossview.server.names import operation_name
from crossview.server.status import error_in
from crossview.v1.jobs_pb2 import SubmitJobRequest

_WAIT_SECONDS = 0.5
"""Between two looks at how far a job is."""


class RemoteJobs:
    """The jobs of the server at the end of a connection; methods raise what ``Connection.call`` raises."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = connection.operations

    def submit(self, request: SubmitJobRequest) -> Job:
        """Puts a request in the server's queue."""
        return to_job(self._connection.call(self._connection.jobs_stub.SubmitJob, request))

    def get(self, job: str) -> Job:
        """One job, by its id."""
        request = operations_pb2.GetOperationRequest(name=operation_name(job))
        return to_job(self._connection.call(self._stub.GetOperation, request))

    def list(self, collection: str = "") -> Iterator[Job]:
        """Yields the jobs of a collection, or of all, the newest first."""
        condition = f"collection={collection}" if collection else ""
        request = operations_pb2.ListOperationsRequest(name="operations", filter=condition)
        for page in self._connection.pages(self._stub.ListOperations, request):
            yield from map(to_job, page.operations)

    def cancel(self, job: str) -> None:
        """Asks that a job ends, which it does in a moment unless it is done."""
        self._connection.call(
            self._stub.CancelOperation, operations_pb2.CancelOperationRequest(name=operation_name(job))
        )

    def delete(self, job: str) -> None:
        """Deletes the record of a job that has ended."""
        self._connection.call(
            self._stub.DeleteOperation, operations_pb2.DeleteOperationRequest(name=operation_name(job))
        )

    def wait(self, job: str, progress: Progress | None = None) -> Job:
        """Waits until a job is done and returns it; raises what ended it otherwise. Who leaves cancels nothing."""
        request = operations_pb2.WaitOperationRequest(name=operation_name(job))
        request.timeout.FromMilliseconds(int(1e3 * _WAIT_SECONDS))
        follower = Follower(progress)
        while True:
            operation = self._connection.call(self._stub.WaitOperation, request)
            follower.take(to_job(operation))
            if operation.HasField("error"):
                raise error_in(operation.error)
            if operation.done:
                return to_job(operation)


class Follower:
    """Passes the steps of a job on, each once."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._logged = 0
        self._last: JobStep | None = None

    def take(self, job: Job) -> None:
        """Takes the job as it is now."""
        if self._progress is None:
            return
        new = job.log[len(job.log) - min(job.logged - self._logged, len(job.log)) :]
        self._logged = job.logged
        step = job.progress
        latest = () if step is None or step in (self._last, *new) else (step,)
        for step in (*new, *latest):
            self._progress(step.what, step.done, step.total, step.note)
            self._last = step
