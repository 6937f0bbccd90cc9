"""A slot: carries out one job at a time, each in a process of its own."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from google.protobuf.any_pb2 import Any
from google.rpc.status_pb2 import Status

from crossview.engine.errors import BusyError, NotFoundError, StorageError
from crossview.engine.home import Home
from crossview.features.picture_pool import PicturePool
from crossview.server.channel import ERROR, PROGRESS
from crossview.server.errors import JobStoppedError
from crossview.server.jobs.operation import collection_of, kind_of
from crossview.server.jobs.owner import Owner
from crossview.server.jobs.process import WorkerProcess
from crossview.server.jobs.records import Records
from crossview.server.methods import JOBS
from crossview.server.wire.convert_info import from_space
from crossview.server.wire.status import error_in, refusal
from crossview.v1.jobs_pb2 import JobMetadata, SubmitJobRequest

KILL_SECONDS = 5.0
"""How long a job that is to stop may go on: single calls of NumPy cannot be interrupted."""
_TICK = 0.1
_NOTE_SECONDS = 0.5
"""Between two writes of how far a job is."""
_AGAIN_SECONDS = 1.0
"""Until records that could not be written are tried again."""
_log = logging.getLogger("crossview.jobs")


class Slot:
    """Carries out jobs of some kinds, an owner's, from construction to ``join``; ``on_end`` is called after each.

    ``pictures`` makes, in a job's process, what reads the pictures of its request.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        home: Home,
        records: Records,
        owner: Owner,
        on_end: Callable[[], None],
        pictures: Callable[[], PicturePool],
    ) -> None:
        self._kinds, self._pictures = kinds, pictures
        self._home, self._records, self._owner, self._on_end = home, records, owner, on_end
        self._wanted, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve, name="jobs", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Note that a job waits, or that the server stops."""
        self._wanted.set()

    def join(self) -> None:
        """Take no further job, and wait for the end of the current one."""
        self._closing.set()
        self.wake()
        self._thread.join()

    def _serve(self) -> None:
        while not self._closing.is_set():
            self._wanted.clear()
            try:
                found = self._records.next_waiting(self._owner.id, self._kinds)
                if found is not None:
                    self._run(found)
                else:
                    self._wanted.wait()
            except StorageError as error:
                _log.error("%s", error)
                self._closing.wait(_AGAIN_SECONDS)

    def _run(self, request: SubmitJobRequest) -> None:
        try:
            process = WorkerProcess(self._home.path, self._owner.descriptor, self._pictures)
            try:
                outcome = _Run(self._records, request, process).outcome()
            finally:
                process.end()
        except Exception as error:  # noqa: BLE001  # callers get it: the process may not have started
            outcome = refusal(error).status
        while True:  # callers that wait for the job must not wait for ever
            try:
                if isinstance(outcome, Exception):
                    outcome = settled(self._home, request, outcome)
                self._records.end(request.request_id, outcome)
                break
            except (BusyError, StorageError) as error:
                _log.error("%s", error)
                if self._closing.wait(_AGAIN_SECONDS):
                    break
        self._on_end()


@dataclass
class _Run:
    """One job, carried out in a process."""

    records: Records
    request: SubmitJobRequest
    process: WorkerProcess
    _steps: list[JobMetadata.Progress] = field(default_factory=list)
    _noted: float = 0.0
    _looked: float = 0.0
    _stop: Status | None = None
    _kill_at: float = float("inf")

    def outcome(self) -> Status | Any | Exception:
        """Return how the job ended; an exception if its process died, which may have made something before."""
        try:
            self.process.carry_out(self.request)
            while True:
                received = self.process.receive(_TICK)
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
        except EOFError:  # the process is gone
            return self._dead()

    def _note(self) -> None:
        """Write the progress of the job."""
        if self._steps:
            with suppress(StorageError):  # it is written with the next step
                self.records.advance(self.request.request_id, self._steps)
                self._steps = []
            self._noted = time.monotonic()

    def _look(self) -> None:
        """Pass on, once, that the job must stop."""
        now = time.monotonic()
        if self._stop is None and now - self._looked >= _TICK:
            self._looked = now
            with suppress(StorageError):
                self._stop = self.records.asked_to_stop(self.request.request_id)
            if self._stop is not None:
                self.process.stop(self._stop)
                self._kill_at = now + KILL_SECONDS

    def _failed(self, error: Status) -> Status:
        """Return why the job ended: if somebody wanted it to end, that reason, whatever its work then raised."""
        return self._stop or self.records.asked_to_stop(self.request.request_id) or error

    def _dead(self) -> Exception:
        """Kill the process, and return why the job ended."""
        died = self.process.kill()
        error: Exception = JobStoppedError(
            f"the process of the job {died}: it may have needed more memory than there is. What it had not committed "
            "is undone; submit it again, under another request id"
        )
        if self._stop is not None:
            error = error_in(self._stop)
        return error


_log = logging.getLogger("crossview.jobs")


def settled(home: Home, request: SubmitJobRequest, otherwise: Exception) -> Status | Any:
    """Return the space that a job made, if its collection has it, else the status of an error.

    A generation is stored in one transaction, with the id of the job. Nobody may carry the job out any more. Raises
    BusyError while others keep the collection from being read: ask again later.
    """
    if JOBS[kind_of(request)].makes_space:
        try:
            with home.open(collection_of(request)) as collection:
                made = collection.spaces.made_by(request.request_id)
                if made is not None:
                    response = Any()
                    response.Pack(from_space(collection.name, made))
                    return response
        except NotFoundError:
            pass  # the collection was deleted, and all that the job can have made with it
        except StorageError as error:
            _log.error("%s", error)
            otherwise = type(otherwise)(f"{otherwise}. Whether it made a space is unknown: {error.message}")
    return refusal(otherwise).status
