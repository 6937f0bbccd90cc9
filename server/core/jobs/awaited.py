"""Calls that wait for jobs in the event loop, without a thread."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from google.longrunning.operations_pb2 import Operation, WaitOperationRequest

from crossview.engine.values.errors import CancelledError, CrossviewError, InvalidInputError
from crossview.server.core.dispatch.origin import origin_here
from crossview.server.core.dispatch.streams import STOPPED, Listener, Silences, until
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.wire.errors import ServerStoppedError, SilentStreamError
from crossview.server.wire.identity import identity_here
from crossview.server.wire.names import parse_operation
from crossview.server.wire.status import error_in, refusal
from crossview.v1.jobs_pb2 import SubmitJobRequest

Run = Callable[[Callable[[], Any], str], Awaitable[Any]]
"""Runs short blocking work of a caller, by the name of its key, in a thread."""


class AwaitedJobs:
    """The calls that wait for jobs; once ``stopped`` is done, they raise ServerStoppedError.

    ``silences`` limits the calls that only wait for an operation: if there are too many, the call that has waited
    longest gets the current state of its operation.
    """

    def __init__(self, jobs: Jobs, run: Run, stopped: asyncio.Future[None], silences: Silences) -> None:
        self._jobs, self._run, self._stopped, self._silences = jobs, run, stopped, silences

    async def response(self, request: SubmitJobRequest) -> Any:
        """Submit a request and return its packed response; raise the error of the job.

        If the caller leaves or the server stops, the job is cancelled, unless an earlier call has submitted it.
        """
        who, origin = identity_here(), origin_here()
        submitting = asyncio.ensure_future(self._run(lambda: self._jobs.submit(request, who, origin), who.name))
        try:
            operation, _ = await asyncio.shield(submitting)
            if not operation.done:
                operation = await until(self._jobs.waiting.ended(parse_operation(operation.name)), self._stopped)
            if operation is None:
                raise ServerStoppedError(STOPPED)
        except (CrossviewError, asyncio.CancelledError) as error:
            gone = CancelledError("the call was cancelled by its caller, or ran out of time")
            why = refusal(error if isinstance(error, CrossviewError) else gone).status

            def leave(submitted: asyncio.Future[tuple[Operation, bool]]) -> None:
                if not submitted.cancelled() and submitted.exception() is None and submitted.result()[1]:
                    self._jobs.waiting.leave(parse_operation(submitted.result()[0].name), why)

            submitting.add_done_callback(leave)
            raise
        if operation.HasField("error"):
            raise error_in(operation.error)
        return operation.response

    async def operation(self, request: WaitOperationRequest) -> Operation:
        """Return an operation when its job has ended, or its current state after the timeout; never cancel the job."""
        seconds = request.timeout.ToNanoseconds() / 1e9 if request.HasField("timeout") else None
        if seconds is not None and seconds < 0:
            raise InvalidInputError(f"the timeout is {seconds:g} seconds; it must be 0 or more")
        who = identity_here()
        job = await self._run(lambda: self._jobs.seen(who, request.name), who.name)
        operation: Operation = await self._run(lambda: self._jobs.records.get(job), who.name)
        if operation.done or seconds == 0:
            return operation
        with suppress(SilentStreamError):
            listener = Listener(self._silences, self._stopped)
            operation = await listener.hear(self._jobs.waiting.ended(job), seconds) or operation
        return operation if operation.done else await self._run(lambda: self._jobs.records.get(job), who.name)
