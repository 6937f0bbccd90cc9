"""Threads: one process a core already keeps every core busy."""

import cv2
from threadpoolctl import threadpool_limits


def use_one_thread() -> None:
    """Let OpenCV and the BLAS of this process use a single thread each, as a worker among as many as cores should."""
    cv2.setNumThreads(1)
    threadpool_limits(1)
