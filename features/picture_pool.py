"""A pool of processes that read pictures: a bad picture ends one process at most, and a large one waits for room."""

import hashlib
import pickle
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from crossview.features.background import NO_MORE, begun
from crossview.features.base import ImageExtractor
from crossview.features.errors import ImageError, NotEnoughMemoryError
from crossview.features.picture_worker import Packed, PictureWorker
from crossview.features.pictures import Checkpoint, PictureLimits, PictureTask, Result, Work
from crossview.features.pixel_budget import PixelBudget
from crossview.features.stages import Place, present, stage, within
from crossview.features.worker import cores
from crossview.features.worker_process import TooSlowError, WorkerDiedError

_AHEAD = 2
"""Default for the pictures that one call has in the queue for each process: few, so that calls take turns."""
_ATTEMPTS = 2
"""Number of processes that try a picture. One process can end for another reason; if two end, the picture is the
cause."""
_WAKE = 0.1
"""Seconds between two calls of the checkpoint while a call waits."""


class PicturePool:
    """Reads pictures in ``workers`` processes [default: one per core], and starts each when it first needs it.

    Calls with many pictures take turns with other calls. If a picture kills its process or takes too long, its result
    is an ImageError, and another process takes the place of the ended one. Several threads may call the methods.
    ``close`` ends the processes; they also end when the program does.

    ``ahead`` is the number of pictures that one call has in the queue for each process. With more, processes stay busy
    behind a slow picture; with fewer, other calls wait less.
    """

    def __init__(self, workers: int | None = None, limits: PictureLimits | None = None, ahead: int = _AHEAD) -> None:
        self.workers: int = workers or cores()
        self.limits: PictureLimits = limits or PictureLimits()
        self._ahead = ahead
        self._budget = PixelBudget(self.limits.pixels_at_once)
        self._threads = ThreadPoolExecutor(self.workers, "pictures")
        self._packed: WeakKeyDictionary[ImageExtractor, tuple[str, bytes]] = WeakKeyDictionary()
        self._changed = threading.Condition()
        self._idle: list[PictureWorker] = []
        self._started: set[PictureWorker] = set()
        self._waiting = self._starting = 0
        self._failures: list[Exception] = []
        self._closed = False
        self._spoilt = 0

    @property
    def max_pixels(self) -> int:
        """The maximum number of pixels of a picture."""
        return self.limits.pixels

    def stream(
        self, work: Work[Result], tasks: Iterable[PictureTask], checkpoint: Checkpoint
    ) -> Iterator[Result | ImageError]:
        """See ``Pictures.stream``."""
        stopped = threading.Event()
        pending: deque[Future[Any]] = deque()
        place = present()
        try:
            for task in tasks:
                if len(pending) == self._ahead * self.workers:
                    yield _result(pending.popleft(), checkpoint)
                order = _Asked(work, task.image, self._pack(task.extractors), stopped, place)
                pending.append(self._submitted(order))
            while pending:
                yield _result(pending.popleft(), checkpoint)
        finally:
            stopped.set()
            for future in pending:
                future.cancel()

    def run(
        self, work: Work[Result], tasks: Sequence[PictureTask], checkpoint: Checkpoint, at_once: int = 1
    ) -> list[Result | ImageError]:
        """See ``Pictures.run``; the pool decides how many pictures it reads at once."""
        return list(self.stream(work, tasks, checkpoint))

    def _submitted(self, order: "_Asked") -> Future[Any]:
        try:
            return self._threads.submit(self._read, order)
        except RuntimeError as error:
            if self._closed:
                raise
            raise NotEnoughMemoryError(f"no thread can read pictures; {NO_MORE}") from error

    def close(self) -> None:
        """End the processes; calls that are not finished fail."""
        with self._changed:
            self._closed = True
            for worker in self._started:
                worker.kill()
            self._changed.notify_all()
        self._threads.shutdown(cancel_futures=True)
        with self._changed:
            self._changed.wait_for(lambda: not self._starting)
            started = list(self._started)
        for worker in started:
            self._end(worker)

    def figures(self) -> tuple[int, int, int]:
        """Return the numbers of running processes, of busy ones, and of pictures that killed a process or took too
        long."""
        with self._changed:
            return len(self._started), len(self._started) - len(self._idle), self._spoilt

    def pids(self) -> list[int]:
        """Return the ids of the processes."""
        with self._changed:
            return sorted(worker.pid for worker in self._started)

    def _pack(self, extractors: Mapping[str, ImageExtractor]) -> Packed:
        """Pickle each extractor once. Its digest identifies it across collections, views and revisions."""
        packed = {}
        for view, extractor in extractors.items():
            entry = self._packed.get(extractor)
            if entry is None:
                data = pickle.dumps(extractor, pickle.HIGHEST_PROTOCOL)
                entry = self._packed[extractor] = hashlib.blake2b(data, digest_size=16).hexdigest(), data
            packed[view] = entry
        return packed

    def _read(self, order: "_Asked") -> Any:
        """Return the result of one picture; runs in a thread of the pool."""
        with within(order.place):
            return self._tried(order)

    def _tried(self, order: "_Asked") -> Any:
        def room(pixels: int) -> AbstractContextManager[None]:
            # A large TIFF is decoded strip by strip, in the memory of ``max_pixels`` at most.
            return self._budget.held(min(pixels, self.max_pixels), lambda: not (order.left.is_set() or self._closed))

        for attempt in range(_ATTEMPTS):
            with stage("wait for a process", None if attempt else order.since):
                worker = self._taken()
            try:
                with stage("read a picture", process=worker.pid):
                    answer = worker.read(order.work, order.image, order.packed, room)
            except TooSlowError:
                self._end(worker)
                self._spoilt += 1
                return ImageError(f"reading this picture takes more than {self.limits.seconds:g} seconds")
            except WorkerDiedError:
                self._end(worker)
            except BaseException:
                self._give(worker)
                raise
            else:
                self._give(worker)
                return answer
        self._spoilt += 1
        return ImageError("reading this picture kills the process that does it")

    def _taken(self) -> PictureWorker:
        """Take an idle worker. If none is idle, wait for one, and start another one unless the pool is full."""
        with self._changed:
            failures = len(self._failures)
            self._waiting += 1
            try:
                while not (self._has_idle() and not self._closed):
                    if self._closed:
                        raise RuntimeError("the pool of processes that read pictures is closed")
                    if len(self._failures) > failures and not self._started:
                        raise NotEnoughMemoryError(f"no process can read pictures; {NO_MORE}") from self._failures[-1]
                    if self._starting >= min(self._waiting, self.workers - len(self._started)) or self._begins():
                        self._changed.wait()
                return self._idle.pop()
            finally:
                self._waiting -= 1

    def _begins(self) -> bool:
        """Start another process in the background; return whether there is something to wait for."""
        self._starting += 1
        if begun(self._start, "pictures") is None:
            self._starting -= 1
            self._failures.append(RuntimeError("no thread"))
        return bool(self._starting or self._started)

    def _has_idle(self) -> bool:
        """Return whether a process is idle; forget processes that have ended."""
        while self._idle and not self._idle[-1].alive():
            gone = self._idle.pop()
            gone.end()
            self._started.discard(gone)
        return bool(self._idle)

    def _start(self) -> None:
        worker = None
        try:
            worker = PictureWorker(self.limits)
        except Exception as error:  # noqa: BLE001  # ``_taken`` raises it
            self._failures.append(error)
        with self._changed:
            self._starting -= 1
            if worker is not None:
                self._started.add(worker)
                self._idle.append(worker)
            self._changed.notify_all()

    def _give(self, worker: PictureWorker) -> None:
        with self._changed:
            self._idle.append(worker)
            self._changed.notify()

    def _end(self, worker: PictureWorker) -> None:
        worker.end()
        with self._changed:
            self._started.discard(worker)
            self._changed.notify_all()


@dataclass(frozen=True)
class _Asked:
    """A picture to read."""

    work: Work[Any]
    image: bytes | Path
    packed: Packed
    left: threading.Event
    """Set once the caller has left."""
    place: Place
    """The place for the stages."""
    since: float = field(default_factory=time.monotonic)


def _result(future: Future[Any], checkpoint: Checkpoint) -> Any:
    """Wait for the result of a picture, until the checkpoint raises an error."""
    checkpoint()
    while not wait([future], _WAKE).done:
        checkpoint()
    return future.result()
