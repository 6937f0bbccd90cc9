"""Worker processes: one a core already keeps every core busy."""

import ctypes
import os

import cv2
from threadpoolctl import threadpool_limits

from crossview.features.priority import give_way

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 1 << 28
_LARGEST_KEPT = 1 << 25  # the most that glibc takes


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def become_worker() -> None:
    """Settle this process as one of as many as there are cores: a single thread, its memory kept, and giving way.

    OpenCV and the BLAS use one thread each. Under glibc, freed memory stays with the process: extraction frees several
    megabytes of working arrays per picture, and having them mapped and zeroed anew took an eighth of the time.
    """
    give_way()
    cv2.setNumThreads(1)
    threadpool_limits(1)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
