"""The jobs of a server: a queue of requests, carried out in order, a few at once."""

import threading
import time

from google.longrunning.operations_pb2 import Operation
from google.protobuf.any_pb2 import Any
from google.rpc.status_pb2 import Status

from engine.errors import CancelledError, CrossviewError, NotFoundError
from engine.home import Home
from engine.learners.cancellation import checkpoint
from server.errors import JobStoppedError
from server.jobs.operation import collection_of, metadata_of, new_operation
from server.jobs.owner import Owner, bury
from server.jobs.records import Records
from server.jobs.settling import settled
from server.jobs.slot import Slot
from server.names import parse_collection, parse_operation
from server.pb.crossview.v1.jobs_pb2 import SubmitJobRequest
from server.status import error_in, refusal

_LOOK_SECONDS = 0.1
"""Between two looks at a job that another process may end."""
_QUICK = ("assign_label",)
"""Kinds that learn nothing: they have a slot of their own, so as not to wait behind trainings."""
_LONG = ("train", "extend_space", "calibrate_space", "evaluate", "fit_views", "import_items")
_STOPPED = (
    "the server stopped before the job had ended. What it had not committed is undone; submit it again, under another "
    "request id"
)


class Jobs:
    """The jobs of a home that one server carries out, at most ``at_once`` long ones at a time; others wait in order.

    Jobs that servers left which are dead by now end with the construction: as done where what they made is in their
    collection, else with JobStoppedError. Methods may be called from several threads.
    """

    def __init__(self, home: Home, at_once: int = 1) -> None:
        self._home, self._at_once = home, at_once
        self.records = Records(home.path)
        self._owner: Owner | None = None
        self._slots: list[Slot] = []
        self._starting = threading.Lock()
        self._ended = threading.Condition()
        self._endings = 0
        self._closing = threading.Event()
        self._recovery: threading.Thread | None = None
        if self._recover():
            self._recovery = threading.Thread(target=self._keep_recovering, name="jobs-recovery", daemon=True)
            self._recovery.start()

    def submit(self, request: SubmitJobRequest) -> tuple[Operation, bool]:
        """Returns the operation of a request, and whether it is a new one.

        Raises InvalidInputError, NotFoundError for the collection, AlreadyExistsError where another request had its id,
        OverloadedError where too many jobs wait, JobStoppedError where the server stops, StorageError.
        """
        operation, name = new_operation(request), collection_of(request)
        if name not in (names := self._home.names()):
            raise NotFoundError(f"no collection {name!r}; there are: {', '.join(names) or 'none'}")
        with self._starting:
            if self._closing.is_set():
                raise JobStoppedError("the server stops, and takes no more jobs")
            if self._owner is None:
                self._owner = Owner(self.records.folder)
                lanes = [*[_LONG] * self._at_once, _QUICK]
                self._slots = [Slot(self._home, self.records, self._owner, kinds, self._note_end) for kinds in lanes]
            self._owner.stay()
            submitted = self.records.add(request, operation, self._owner.id)
            for slot in self._slots:
                slot.wake()
        return submitted

    def call(self, request: SubmitJobRequest) -> Any:
        """Submits a request and returns its response; raises what ended it.

        A job that this call has submitted is cancelled where the caller leaves, or the server stops.
        """
        operation, new = self.submit(request)
        job = parse_operation(operation.name)
        try:
            operation = self.wait(job)
        except CrossviewError as left:
            if new:
                self.records.ask_to_stop(job, refusal(left).status)
            raise
        if operation.HasField("error"):
            raise error_in(operation.error)
        response: Any = operation.response
        return response

    def wait(self, job: str, seconds: float | None = None) -> Operation:
        """Returns the operation of a job that has ended, or as it is after so many seconds; NotFoundError.

        Raises what ``checkpoint`` raises.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            seen = self._endings
            operation = self.records.get(job)
            left = _LOOK_SECONDS if end is None else min(_LOOK_SECONDS, end - time.monotonic())
            if operation.done or left <= 0:
                return operation
            checkpoint()
            with self._ended:
                self._ended.wait_for(lambda: self._endings != seen, left)  # noqa: B023  # called in this turn only

    def cancel(self, job: str) -> None:
        """Asks that a job ends, which it does in a moment unless it is done; NotFoundError."""
        self.records.ask_to_stop(job, refusal(CancelledError("the job was cancelled")).status)
        self._note_end()

    def cancel_all(self, collection: str) -> None:
        """Cancels the jobs of a collection, which was deleted."""
        error = refusal(CancelledError(f"collection {collection!r} was deleted")).status
        self._ask_all(error, collection)

    def close(self) -> None:
        """Takes no more jobs, and ends those that have not ended with JobStoppedError; closing again does nothing."""
        with self._starting:
            self._closing.set()
        self._ask_all(refusal(JobStoppedError(_STOPPED)).status)
        for slot in self._slots:
            slot.join()
        if self._recovery is not None:
            self._recovery.join()
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.close()
        self.records.close()

    def _ask_all(self, error: Status, collection: str | None = None) -> None:
        """Asks the jobs of this server to end, of one collection or of all."""
        for job, owner in self.records.unfinished():
            if self._owner is None or owner != self._owner.id:
                continue
            if collection in (None, parse_collection(metadata_of(self.records.get(job)).collection)):
                self.records.ask_to_stop(job, error)
        self._note_end()

    def _note_end(self) -> None:
        with self._ended:
            self._endings += 1
            self._ended.notify_all()

    def _recover(self) -> bool:
        """Ends the jobs of servers that are dead; returns whether others have jobs that have not ended."""
        left = False
        for job, owner in self.records.unfinished():
            if self._owner is not None and owner == self._owner.id:
                continue
            if not bury(self.records.folder, owner):
                left = True
                continue
            self.records.end(job, settled(self._home, self.records.request(job), JobStoppedError(_STOPPED)))
        return left

    def _keep_recovering(self) -> None:
        """Looks again while processes of a killed server are about to end, or another server has jobs."""
        while not self._closing.wait(_LOOK_SECONDS * 5) and self._recover():
            pass
