"""The jobs of a server: a queue of requests, carried out in order, a few at once."""

import logging
import threading
from collections.abc import Callable

from google.longrunning.operations_pb2 import Operation
from google.rpc.status_pb2 import Status

from crossview.engine.errors import CancelledError, CrossviewError
from crossview.engine.home import Home
from crossview.features.picture_pool import PicturePool
from crossview.server.errors import JobStoppedError
from crossview.server.jobs.operation import collection_of, metadata_of, new_operation
from crossview.server.jobs.owner import Owner, bury
from crossview.server.jobs.records import Records
from crossview.server.jobs.slot import Slot, settled
from crossview.server.jobs.waiting import Waiting
from crossview.server.methods import JOBS, Lane
from crossview.server.wire.names import parse_collection
from crossview.server.wire.status import refusal
from crossview.v1.jobs_pb2 import SubmitJobRequest

_LOOK_SECONDS = 0.5
"""Between two looks at the jobs of a server that is dying, or of another one."""
_STOPPED = (
    "the server stopped before the job had ended. What it had not committed is undone; submit it again, under another "
    "request id"
)
_log = logging.getLogger("crossview.jobs")


class Jobs:
    """The jobs of a home that one server carries out, at most ``at_once`` long ones at a time; others wait in order.

    Jobs that servers left which are dead by now end with the construction: as done where what they made is in their
    collection, else with JobStoppedError. ``pictures`` makes, in the process of a job, what reads the pictures of its
    request. Methods may be called from several threads.
    """

    def __init__(self, home: Home, at_once: int = 1, pictures: Callable[[], PicturePool] = PicturePool) -> None:
        self._home, self._at_once, self._pictures = home, at_once, pictures
        self.records = Records(home.path)
        self._owner: Owner | None = None
        self._slots: list[Slot] = []
        self._starting = threading.Lock()
        self.waiting = Waiting(self.records)
        self._closing = threading.Event()
        self._recovery: threading.Thread | None = None
        if self._recover():
            self._recovery = threading.Thread(target=self._keep_recovering, name="jobs-recovery", daemon=True)
            self._recovery.start()

    def submit(self, request: SubmitJobRequest) -> tuple[Operation, bool]:
        """Put a request in the queue; return its operation, and whether it is a new one.

        Raises InvalidInputError, NotFoundError for the collection, AlreadyExistsError where another request had its id,
        OverloadedError where too many jobs wait, JobStoppedError where the server stops, StorageError.
        """
        operation, name = new_operation(request), collection_of(request)
        self._home.check_exists(name)
        with self._starting:
            if self._closing.is_set():
                raise JobStoppedError("the server stops, and takes no more jobs")
            if self._owner is None:
                self._owner = Owner(self.records.folder)
                lanes = [*[_kinds(Lane.LONG)] * self._at_once, _kinds(Lane.QUICK)]
                shared = self._home, self.records, self._owner, self.waiting.look, self._pictures
                self._slots = [Slot(kinds, *shared) for kinds in lanes]
            self._owner.stay()
            submitted = self.records.add(request, operation, self._owner.id)
            for slot in self._slots:
                slot.wake()
        return submitted

    def cancel(self, job: str) -> None:
        """Ask a job to end, which it does in a moment unless it is done; raise NotFoundError."""
        self.records.ask_to_stop(job, refusal(CancelledError("the job was cancelled")).status)
        self.waiting.look()

    def cancel_all(self, collection: str) -> None:
        """Cancel the jobs of a deleted collection."""
        error = refusal(CancelledError(f"collection {collection!r} was deleted")).status
        self._ask_all(error, collection)

    def close(self) -> None:
        """Take no more jobs, and end those under way with JobStoppedError; closing again does nothing."""
        with self._starting:
            self._closing.set()
        self._ask_all(refusal(JobStoppedError(_STOPPED)).status)
        for slot in self._slots:
            slot.join()
        self.waiting.close()
        if self._recovery is not None:
            self._recovery.join()
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.close()
        self.records.close()

    def _ask_all(self, error: Status, collection: str | None = None) -> None:
        """Ask the jobs of this server to end, those of one collection or all."""
        for job, owner in self.records.unfinished():
            if self._owner is None or owner != self._owner.id:
                continue
            if collection in (None, parse_collection(metadata_of(self.records.get(job)).collection)):
                self.records.ask_to_stop(job, error)
        self.waiting.look()

    def _recover(self) -> bool:
        """End the jobs of servers that are dead; return whether others have jobs that have not ended."""
        left = False
        for job, owner in self.records.unfinished():
            if self._owner is not None and owner == self._owner.id:
                continue
            if not bury(self.records.folder, owner):
                left = True
                continue
            try:
                self.records.end(job, settled(self._home, self.records.request(job), JobStoppedError(_STOPPED)))
            except CrossviewError as error:  # such as a collection that others write: the next look settles the job
                _log.warning("job %s of a server that is gone is not settled yet: %s", job, error)
                left = True
        return left

    def _keep_recovering(self) -> None:
        """Look again while processes of a killed server are about to end, or another server has jobs."""
        left = True
        while left and not self._closing.wait(_LOOK_SECONDS):
            try:
                left = self._recover()
            except CrossviewError as error:  # the records cannot be read at present
                _log.warning("%s", error)


def _kinds(lane: Lane) -> tuple[str, ...]:
    return tuple(kind for kind, method in JOBS.items() if method.job is not None and method.job.lane is lane)
