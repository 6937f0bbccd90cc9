"""Extraction: files to rows on all cores, in worker processes that are spawned and end with their parent."""

import math
import multiprocessing
import os
import signal
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossview.engine.item import Failure, PictureRecord, content_hash
from crossview.features.base import ImageExtractor
from crossview.features.decode import decode
from crossview.features.errors import ImageError, ImageTooLargeError, NotAnImageError
from crossview.features.image import thumbnail
from crossview.features.pictures import MAX_PIXELS
from crossview.features.reading import rows_of, samples
from crossview.features.worker import become_worker, cores

Result = TypeVar("Result")
Work = Callable[[Path, Mapping[str, ImageExtractor], int], Result]

MAX_FILE_BYTES = 1 << 29
"""Larger files are refused unread, unless more pixels are allowed than so many bytes are."""
_BYTES_A_PIXEL = 4
_FILES_A_TASK = 4
_TASKS_A_WORKER = 4


@dataclass(frozen=True)
class Extracted:
    """What was read from one picture."""

    picture: PictureRecord
    rows: Mapping[str, NDArray[np.float32]]


def extract(data: bytes, extractors: Mapping[str, ImageExtractor], max_pixels: int = MAX_PIXELS) -> Extracted:
    """Return everything that the catalog stores of a picture; ImageError states why it cannot be read."""
    picture = decode(data, max_pixels=max_pixels)
    small = thumbnail(picture.image)
    record = PictureRecord(len(data), 0, content_hash(data), picture.width, picture.height, small)
    return Extracted(record, rows_of(picture.image, extractors))


def read_file(path: Path, max_pixels: int = MAX_PIXELS) -> bytes:
    """Return the bytes of a picture file; ImageError if it should not be read at all, OSError if it cannot be."""
    most = max(MAX_FILE_BYTES, _BYTES_A_PIXEL * max_pixels)
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise NotAnImageError("not a regular file")
    if found.st_size > most:
        needed = math.ceil(found.st_size / _BYTES_A_PIXEL)
        raise ImageTooLargeError(
            f"{found.st_size:,} bytes are more than a picture file may have ({most:,}): raise the limit with "
            f"`max_pixels={needed}`, or save the picture smaller"
        )
    return path.read_bytes()


def extract_file(path: Path, extractors: Mapping[str, ImageExtractor], max_pixels: int) -> Extracted | Failure:
    """Return what ``extract`` gives for a file, or why it cannot be read."""
    try:
        return extract(read_file(path, max_pixels), extractors, max_pixels)
    except (ImageError, OSError) as error:
        return Failure(str(path), getattr(error, "strerror", None) or str(error))


def sample_file(
    path: Path, extractors: Mapping[str, ImageExtractor], max_pixels: int
) -> dict[str, NDArray[np.float32]]:
    """Return what each extractor is fitted on of one file; nothing of one that cannot be read."""
    try:
        return samples(read_file(path, max_pixels), extractors, max_pixels)
    except (ImageError, OSError):
        return {}


class Workers:
    """Processes that work on files, as many as asked for (one a core by default), started when first needed.

    A context manager: leaving it ends them, dropping what has not begun. ``max_pixels`` is the most that a picture may
    have in memory.
    """

    def __init__(self, count: int | None = None, max_pixels: int = MAX_PIXELS) -> None:
        self._count = count or cores()
        self._max_pixels = max_pixels
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(
        self, work: Work[Result], paths: Sequence[Path], extractors: Mapping[str, ImageExtractor]
    ) -> Iterator[tuple[Path, Result | Failure]]:
        """Yield (path, result) in the order of the paths.

        A file that kills its worker (a decoder's crash, memory) is a Failure like any other.
        """
        if self._count == 1 or len(paths) <= _FILES_A_TASK:
            for path in paths:
                yield path, work(path, extractors, self._max_pixels)
            return
        done = 0
        while done < len(paths):
            try:
                for result in self._in_order(work, paths[done:], extractors):
                    yield result
                    done += 1
            except BrokenProcessPool:
                self._stop()
                for path in paths[done : done + _FILES_A_TASK]:
                    yield path, self._alone(work, path, extractors)
                    done += 1

    def _in_order(
        self, work: Work[Result], paths: Sequence[Path], extractors: Mapping[str, ImageExtractor]
    ) -> Iterator[tuple[Path, Result]]:
        """Keep a few tasks a worker in flight, so that neither the workers nor the memory of results run away."""
        chunks = iter([paths[start : start + _FILES_A_TASK] for start in range(0, len(paths), _FILES_A_TASK)])
        pending: deque[tuple[Sequence[Path], Future[list[Result]]]] = deque()
        pool = self._pool = self._pool or _pool(self._count)
        with _interrupts_waiting():
            for chunk in islice(chunks, _TASKS_A_WORKER * self._count):
                pending.append((chunk, pool.submit(_work_on, work, chunk, extractors, self._max_pixels)))
        while pending:
            finished, future = pending.popleft()
            results = future.result()
            for chunk in islice(chunks, 1):
                pending.append((chunk, pool.submit(_work_on, work, chunk, extractors, self._max_pixels)))
            yield from zip(finished, results, strict=True)

    def _alone(self, work: Work[Result], path: Path, extractors: Mapping[str, ImageExtractor]) -> Result | Failure:
        with _pool(1) as pool:
            try:
                return pool.submit(_work_on, work, [path], extractors, self._max_pixels).result()[0]
            except BrokenProcessPool:
                return Failure(str(path), "reading this file kills the process that does it")

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _pool(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start_worker)


@contextmanager
def _interrupts_waiting() -> Iterator[None]:
    """Hold back Ctrl-C while workers are started: they inherit that, and it stays the parent's to handle."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    become_worker()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # the parent was killed; nobody waits for results


def _work_on(
    work: Work[Result], paths: Iterable[Path], extractors: Mapping[str, ImageExtractor], max_pixels: int
) -> list[Result]:
    return [work(path, extractors, max_pixels) for path in paths]
