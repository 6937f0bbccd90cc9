"""Settings of worker processes."""

import ctypes
import os

import cv2
from threadpoolctl import threadpool_limits

from crossview.features.priority import give_way

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt, as in malloc.h."""
_KEPT_BYTES = 1 << 28
_LARGEST_KEPT = 1 << 25  # the maximum that glibc accepts


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def become_worker() -> None:
    """Set up this process as one of several workers: one thread, low priority, and no return of freed memory."""
    give_way()
    cv2.setNumThreads(1)  # one process per core already keeps every core busy
    threadpool_limits(1)
    # Extraction frees several megabytes of work arrays per picture. Mapping and zeroing them again took an eighth of
    # the time, so glibc keeps freed memory in the process.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
