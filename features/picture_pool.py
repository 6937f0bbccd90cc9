"""A pool of processes that read pictures from anyone: bad ones end a process at most, and large ones wait for room."""

import hashlib
import pickle
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

from crossview.features.base import ImageExtractor
from crossview.features.budget import PixelBudget
from crossview.features.errors import ImageError
from crossview.features.picture_worker import Packed, PictureWorker, TooSlowError, WorkerDiedError
from crossview.features.pictures import Checkpoint, PictureLimits, PictureTask, Result, Work
from crossview.features.worker import cores

_AHEAD = 2
"""Pictures a worker that one call has in the queue, so that the pictures of other calls come in between."""
_ATTEMPTS = 2
"""A process may be ended by somebody else during a picture; two in turn are ended by the picture."""
_WAKE = 0.1
"""Seconds between two looks at whether the waiting is still wanted."""


class PicturePool:
    """Reads pictures in as many processes as told (one a core by default), each started when it is first needed.

    Pictures are read in the order of the calls, those of a call with many in turn with those of others. A picture that
    kills its process, or takes too long, is an ImageError; the process is replaced. Methods may be called from several
    threads. ``close`` ends the processes; those of a program that is killed end by themselves.
    """

    def __init__(self, workers: int | None = None, limits: PictureLimits | None = None) -> None:
        self.workers = workers or cores()
        self.limits = limits or PictureLimits()
        self._budget = PixelBudget(self.limits.pixels_at_once)
        self._threads = ThreadPoolExecutor(self.workers, "pictures")
        self._packed: WeakKeyDictionary[ImageExtractor, tuple[str, bytes]] = WeakKeyDictionary()
        self._changed = threading.Condition()
        self._idle: list[PictureWorker] = []
        self._started: set[PictureWorker] = set()
        self._waiting = self._starting = 0
        self._failures: list[Exception] = []
        self._closed = False

    @property
    def max_pixels(self) -> int:
        """The most pixels that a picture may declare."""
        return self.limits.pixels

    def run(
        self, work: Work[Result], tasks: Sequence[PictureTask], checkpoint: Checkpoint, at_once: int = 1
    ) -> list[Result | ImageError]:
        """See ``Pictures.run``; how many pictures are read at once is the pool's to decide."""
        left = threading.Event()
        pending: deque[Future[Any]] = deque()
        results: list[Result | ImageError] = []
        try:
            for task in tasks:
                if len(pending) == _AHEAD * self.workers:
                    results.append(_result(pending.popleft(), checkpoint))
                pending.append(self._threads.submit(self._read, work, task.image, self._pack(task.extractors), left))
            while pending:
                results.append(_result(pending.popleft(), checkpoint))
            return results
        finally:
            left.set()
            for future in pending:
                future.cancel()

    def close(self) -> None:
        """End the processes; calls under way fail."""
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

    def pids(self) -> list[int]:
        """Return the numbers of the processes."""
        with self._changed:
            return sorted(worker.pid for worker in self._started)

    def _pack(self, extractors: Mapping[str, ImageExtractor]) -> Packed:
        """Pickle each extractor once; its digest stands for it, whatever collection, view and revision it is of."""
        packed = {}
        for view, extractor in extractors.items():
            found = self._packed.get(extractor)
            if found is None:
                data = pickle.dumps(extractor, pickle.HIGHEST_PROTOCOL)
                found = self._packed[extractor] = hashlib.blake2b(data, digest_size=16).hexdigest(), data
            packed[view] = found
        return packed

    def _read(self, work: Work[Any], image: bytes, packed: Packed, left: threading.Event) -> Any:
        """Return what comes of one picture, in a thread of the pool."""

        def room(pixels: int) -> AbstractContextManager[None]:
            return self._budget.held(pixels, lambda: not (left.is_set() or self._closed))

        for _ in range(_ATTEMPTS):
            worker = self._taken()
            try:
                answer = worker.read(work, image, packed, room)
            except TooSlowError:
                self._end(worker)
                return ImageError(f"reading this picture takes more than {self.limits.seconds:g} seconds")
            except WorkerDiedError:
                self._end(worker)
            except BaseException:
                self._give(worker)
                raise
            else:
                self._give(worker)
                return answer
        return ImageError("reading this picture kills the process that does it")

    def _taken(self) -> PictureWorker:
        """Take an idle worker; while there is none, another one is started where there are fewer than there may be."""
        with self._changed:
            failures = len(self._failures)
            self._waiting += 1
            try:
                while not (self._has_idle() and not self._closed):
                    if self._closed:
                        raise RuntimeError("the pool of processes that read pictures is closed")
                    if len(self._failures) > failures and not self._started:
                        raise RuntimeError("no process that reads pictures can be started") from self._failures[-1]
                    if self._starting < min(self._waiting, self.workers - len(self._started)):
                        self._starting += 1
                        threading.Thread(target=self._start, name="pictures", daemon=True).start()
                    self._changed.wait()
                return self._idle.pop()
            finally:
                self._waiting -= 1

    def _has_idle(self) -> bool:
        """Return whether a process is idle, after those that ended meanwhile are forgotten."""
        while self._idle and not self._idle[-1].alive():
            gone = self._idle.pop()
            gone.end()
            self._started.discard(gone)
        return bool(self._idle)

    def _start(self) -> None:
        worker = None
        try:
            worker = PictureWorker(self.limits)
        except Exception as error:  # noqa: BLE001  # told to those who wait
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


def _result(future: Future[Any], checkpoint: Checkpoint) -> Any:
    """Wait for a picture as long as that is wanted."""
    checkpoint()
    while not wait([future], _WAKE).done:
        checkpoint()
    return future.result()
