"""A slot: runs one job at a time, each in a separate process, and settles jobs whose processes died."""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from google.longrunning.operations_pb2 import Operation
from google.protobuf.any_pb2 import Any
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc.status_pb2 import Status

from crossview.engine.catalog.folder import CollectionFolder
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError, CrossviewError, NotEnoughMemoryError, NotFoundError, StorageError
from crossview.features.background import NO_MORE, begun
from crossview.features.picture_pool import PicturePool
from crossview.features.stages import Packed
from crossview.server.core.channel import ERROR, PROGRESS, STAGES
from crossview.server.core.jobs.operation import collection_of, kind_of
from crossview.server.core.jobs.owner import Owner
from crossview.server.core.jobs.process import WorkerProcess
from crossview.server.core.jobs.records import Records
from crossview.server.wire.convert import from_space
from crossview.server.wire.errors import JobStoppedError
from crossview.server.wire.methods import JOBS
from crossview.server.wire.status import error_in, refusal
from crossview.v1.jobs_pb2 import JobMetadata, SubmitJobRequest

KILL_SECONDS = 5.0
"""Time that a cancelled job has to end before its process is killed; single calls of NumPy cannot be interrupted."""
_TICK = 0.1
"""Interval at which the slot checks for messages of the process and for cancellation."""
_NOTE_SECONDS = 0.5
"""Interval at which the slot stores the progress of a job."""
_AGAIN_SECONDS = 1.0
"""Delay before the slot retries a failed write of the records."""
_log = logging.getLogger("crossview.jobs")


Ended = Callable[[Operation, Sequence[Packed]], None]
"""Takes the operation of an ended job, and the stages of its process."""


class Slot:
    """A thread that runs the owner's jobs of some kinds, one at a time, from construction to ``join``.

    Calls ``on_end`` after each job. ``pictures`` makes, in the process of a job, the pool that reads its pictures.
    ``ended`` takes each ended job with its stages, if the slot is to record them.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        home: Home,
        records: Records,
        owner: Owner,
        on_end: Callable[[], None],
        pictures: Callable[[], PicturePool],
        ended: "Ended | None" = None,
    ) -> None:
        self._kinds, self._pictures, self._ended = kinds, pictures, ended
        self._home, self._records, self._owner, self._on_end = home, records, owner, on_end
        self._wanted, self._closing = threading.Event(), threading.Event()
        thread = begun(self._serve, "jobs")
        if thread is None:
            raise NotEnoughMemoryError(f"no thread can run jobs; {NO_MORE}")
        self._thread = thread

    def wake(self) -> None:
        """Wake the slot: a job waits, or the server stops."""
        self._wanted.set()

    def join(self) -> None:
        """Take no further job, and wait for the end of the current job."""
        self._closing.set()
        self.wake()
        self._thread.join()

    def _serve(self) -> None:
        while not self._closing.is_set():
            self._wanted.clear()  # before the look at the records, so that a wake meanwhile is not lost
            try:
                request = self._records.next_waiting(self._owner.id, self._kinds)
                if request is not None:
                    self._run(request)
                else:
                    self._wanted.wait()
            except CrossviewError as error:
                _log.error("%s", error)
                self._closing.wait(_AGAIN_SECONDS)

    def _check_collection(self, request: SubmitJobRequest) -> None:
        """Raise NotFoundError if another collection than that of the request has its name now."""
        name, identity = collection_of(request), self._records.identity_of(request.request_id)
        if identity and CollectionFolder(self._home.path / name).identity() != identity:
            raise NotFoundError(f"collection {name!r} has been deleted or renamed")

    def _run(self, request: SubmitJobRequest) -> None:
        stages: list[Packed] = []
        try:
            recorded = self._ended is not None
            folder = self._records.folders.get(request.request_id)
            process = WorkerProcess(self._home.path, self._owner.descriptor, self._pictures, recorded, folder)
            try:
                self._check_collection(request)
                outcome = _Run(self._records, request, process, stages).outcome()
            finally:
                process.end()
        except Exception as error:  # noqa: BLE001  # such as a process that cannot start: callers get the error
            outcome = refusal(error).status
        while True:  # without a stored outcome, waiting callers would wait forever
            try:
                if isinstance(outcome, Exception):
                    outcome = settled(self._home, request, outcome)
                self._records.end(request.request_id, outcome)
                break
            except Exception as error:  # noqa: BLE001 - the thread must stay for the next job
                _log.error("cannot settle job %s yet: %s", request.request_id, error)
                if not isinstance(error, (BusyError, StorageError)):  # such as a collection of a later version
                    outcome = refusal(error).status
                if self._closing.wait(_AGAIN_SECONDS):
                    break
        self._on_end()
        if self._ended is not None:
            with suppress(CrossviewError):  # such as a record that is already deleted
                self._ended(self._records.get(request.request_id), stages)


@dataclass
class _Run:
    """One job in its process."""

    records: Records
    request: SubmitJobRequest
    process: WorkerProcess
    stages: list[Packed]
    """Takes the stages that the process reports."""
    _steps: list[JobMetadata.Progress] = field(default_factory=list)
    _noted: float = 0.0
    _looked: float = 0.0
    _stop: Status | None = None
    _kill_at: float = float("inf")

    def outcome(self) -> Status | Any | Exception:
        """Run the job and return its outcome; an exception if its process died, perhaps after it stored a space."""
        try:
            self.process.carry_out(self.request)
            while True:
                received = self.process.receive(_TICK)
                if received is not None and received[0] == STAGES:
                    self.stages.extend(json.loads(StringValue.FromString(received[1]).value))
                    continue
                if received is not None and received[0] != PROGRESS:
                    self._note()
                    tag, body = received
                    return self._failed(Status.FromString(body)) if tag == ERROR else Any.FromString(body)
                if received is not None:
                    self._steps.append(JobMetadata.Progress.FromString(received[1]))
                if time.monotonic() - self._noted >= _NOTE_SECONDS:
                    self._note()
                self._look()
                if time.monotonic() >= self._kill_at:
                    return self._dead()
        except EOFError:  # the process has ended
            return self._dead()

    def _note(self) -> None:
        """Store the progress of the job."""
        if self._steps:
            with suppress(StorageError):  # the next write includes these steps
                self.records.advance(self.request.request_id, self._steps)
                self._steps = []
            self._noted = time.monotonic()

    def _look(self) -> None:
        """Send the process, once, the status with which the job must end."""
        now = time.monotonic()
        if self._stop is None and now - self._looked >= _TICK:
            self._looked = now
            with suppress(StorageError):
                self._stop = self.records.asked_to_stop(self.request.request_id)
            if self._stop is not None:
                self.process.stop(self._stop)
                self._kill_at = now + KILL_SECONDS

    def _failed(self, error: Status) -> Status:
        """Return the status of a failed job: the reason for its cancellation if it was cancelled, or its error."""
        return self._stop or self.records.asked_to_stop(self.request.request_id) or error

    def _dead(self) -> Exception:
        """Kill the process, and return the error of the job."""
        died = self.process.kill()
        error: Exception = JobStoppedError(
            f"the process of the job {died}: perhaps it needs more memory than the machine has. Uncommitted "
            "changes of the job are undone; submit it again, with another request id"
        )
        if self._stop is not None:
            error = error_in(self._stop)
        return error


_log = logging.getLogger("crossview.jobs")


def settled(home: Home, request: SubmitJobRequest, otherwise: Exception) -> Status | Any:
    """Return the outcome of a job whose process is dead: its space if the collection has it, otherwise an error status.

    The engine stores a generation in one transaction, together with the id of the job. Call this only when no process
    runs the job. Raises BusyError while writers block the collection: call it again later.
    """
    if JOBS[kind_of(request)].makes_space:
        try:
            with home.open(collection_of(request)) as collection:
                space = collection.spaces.made_by(request.request_id)
                if space is not None:
                    response = Any()
                    response.Pack(from_space(collection.name, space))
                    return response
        except NotFoundError:
            pass  # the collection was deleted, together with any result of the job
        except StorageError as error:
            _log.error("%s", error)
            otherwise = type(otherwise)(f"{otherwise}. Whether it made a space is unknown: {error.message}")
    return refusal(otherwise).status
