"""Blocks: how many queries are ranked at a time, so that a large database takes no more memory than a small one."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint

DISTANCES_AT_ONCE = 1 << 22
"""Of queries to items, in float64: 32 MiB, and as much again to rank them. No result depends on it."""


def blocks(queries: NDArray[np.intp], items: int) -> Iterator[NDArray[np.intp]]:
    """Yield queries, (q,), in parts of at least one, with at most ``DISTANCES_AT_ONCE`` distances to so many items."""
    at_once = max(1, DISTANCES_AT_ONCE // max(1, items))
    for start in range(0, len(queries), at_once):
        checkpoint()
        yield queries[start : start + at_once]
