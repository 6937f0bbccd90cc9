"""Waiting for jobs in an event loop: one thread reads the records for all waiting calls."""

import asyncio
import logging
import threading
from collections.abc import Mapping
from contextlib import suppress

from google.longrunning.operations_pb2 import Operation
from google.rpc.status_pb2 import Status

from crossview.engine.errors import NotEnoughMemoryError, NotFoundError, StorageError
from crossview.features.background import NO_MORE, begun
from crossview.server.jobs.records import Records

_LOOK_SECONDS = 0.1
"""Interval at which the thread reads the records, because other processes can end jobs too."""
_log = logging.getLogger("crossview.jobs")
_Ended = asyncio.Future[Operation]


class Waiting:
    """The calls that wait for jobs. Call ``ended`` in an event loop, the other methods in any thread."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._waiting: dict[str, set[_Ended]] = {}
        self._left: dict[str, Status] = {}
        self._changing = threading.Lock()
        self._look = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def ended(self, job: str) -> _Ended:
        """Return a future of the operation of a job once it has ended; it raises NotFoundError for an unknown job."""
        ended: _Ended = asyncio.get_running_loop().create_future()
        with self._changing:
            self._waiting.setdefault(job, set()).add(ended)
        ended.add_done_callback(lambda _: self._forget(job, ended))
        self._begin()
        if self._thread is None and not self._closed:
            ended.set_exception(NotEnoughMemoryError(f"no thread can wait for the job; {NO_MORE}"))
        return ended

    def leave(self, job: str, why: Status) -> None:
        """Ask a job to end with a status, because its caller has left; return without waiting."""
        with self._changing:
            self._left[job] = why
        self._begin()

    def look(self) -> None:
        """Complete the futures of the jobs that have ended."""
        self._look.set()

    def close(self) -> None:
        """Ask the remaining jobs of callers that have left to end, and stop the thread."""
        self._closed = True
        self._look.set()
        if self._thread is not None:
            self._thread.join()

    def _begin(self) -> None:
        with self._changing:
            if self._thread is None and not self._closed:
                self._thread = begun(self._watch, "waiting for jobs")
        self._look.set()

    def _watch(self) -> None:
        while True:
            closing = self._closed
            with self._changing:
                jobs, left = list(self._waiting), self._left
                self._left = {}
            try:
                for job, why in left.items():
                    with suppress(NotFoundError):
                        self._records.ask_to_stop(job, why)
                outcomes: Mapping[str, Operation | Exception] = self._records.ended(jobs) if jobs else {}
            except StorageError as error:
                _log.error("%s", error)
                outcomes = dict.fromkeys(jobs, error)
            for job, outcome in outcomes.items():
                self._deliver(job, outcome)
            if closing:
                return
            self._look.wait(_LOOK_SECONDS if self._waiting else None)
            self._look.clear()

    def _deliver(self, job: str, outcome: Operation | Exception) -> None:
        with self._changing:
            waiting = self._waiting.pop(job, set())
        for one in waiting:
            with suppress(RuntimeError):  # the event loop is closed
                one.get_loop().call_soon_threadsafe(_settle, one, outcome)

    def _forget(self, job: str, ended: _Ended) -> None:
        with self._changing:
            waiting = self._waiting.get(job, set())
            waiting.discard(ended)
            if not waiting:
                self._waiting.pop(job, None)


def _settle(ended: _Ended, outcome: Operation | Exception) -> None:
    if ended.done():  # the caller has left
        return
    if isinstance(outcome, Exception):
        ended.set_exception(outcome)
    else:
        ended.set_result(outcome)
