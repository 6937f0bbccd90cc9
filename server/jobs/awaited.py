"""Calls that wait for jobs: in the event loop, so that none of them has a thread while it waits."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from google.longrunning.operations_pb2 import Operation, WaitOperationRequest

from engine.errors import CancelledError, CrossviewError, InvalidInputError
from server.errors import ServerStoppedError
from server.jobs.jobs import Jobs
from server.names import parse_operation
from server.pb.crossview.v1.jobs_pb2 import SubmitJobRequest
from server.status import error_in, refusal
from server.streams import until

Run = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Does what takes a moment in a thread."""


class AwaitedJobs:
    """Waits for jobs, as long as ``stopped`` is not done: then everybody gets ServerStoppedError."""

    def __init__(self, jobs: Jobs, run: Run, stopped: asyncio.Future[None]) -> None:
        self._jobs, self._run, self._stopped = jobs, run, stopped

    async def response(self, request: SubmitJobRequest) -> Any:
        """Submits a request and returns its response, packed; raises what ended it.

        A job that this call has submitted is cancelled where the caller leaves, or the server stops.
        """
        submitting = asyncio.ensure_future(self._run(lambda: self._jobs.submit(request)))
        try:
            operation, _ = await asyncio.shield(submitting)
            if not operation.done:
                operation = await self._ended(parse_operation(operation.name))
        except (CrossviewError, asyncio.CancelledError) as left:
            gone = CancelledError("the call was cancelled by its caller, or ran out of time")
            why = refusal(left if isinstance(left, CrossviewError) else gone).status

            def leave(submitted: asyncio.Future[tuple[Operation, bool]]) -> None:
                if not submitted.cancelled() and submitted.exception() is None and submitted.result()[1]:
                    self._jobs.waiting.leave(parse_operation(submitted.result()[0].name), why)

            submitting.add_done_callback(leave)
            raise
        if operation.HasField("error"):
            raise error_in(operation.error)
        return operation.response

    async def operation(self, request: WaitOperationRequest) -> Operation:
        """Returns an operation once its job has ended, or as it is after the timeout; who leaves cancels nothing."""
        seconds = request.timeout.ToNanoseconds() / 1e9 if request.HasField("timeout") else None
        if seconds is not None and seconds < 0:
            raise InvalidInputError(f"the timeout is {seconds:g} seconds; it must be 0 or more")
        job = parse_operation(request.name)
        operation: Operation = await self._run(lambda: self._jobs.records.get(job))
        if operation.done or seconds == 0:
            return operation
        ended = await self._ended(job, seconds)
        return ended or await self._run(lambda: self._jobs.records.get(job))

    async def _ended(self, job: str, seconds: float | None = None) -> Any:
        """Returns the operation of a job that has ended; None after so many seconds."""
        ended = await until(self._jobs.waiting.ended(job), self._stopped, seconds=seconds)
        if ended is None and self._stopped.done():
            raise ServerStoppedError("the server stopped during the call, and its work was given up; repeat it later")
        return ended
