"""Blocks of queries that are ranked together, sized so that a large database needs no more memory than a small one."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint

DISTANCES_AT_ONCE = 1 << 22
"""Distances in memory at a time: 32 MiB of float64, and as much for their ranks. Results do not depend on it."""


def blocks(queries: NDArray[np.intp], items: int) -> Iterator[NDArray[np.intp]]:
    """Yield queries, (q,), in non-empty parts with at most ``DISTANCES_AT_ONCE`` distances to ``items`` items."""
    at_once = max(1, DISTANCES_AT_ONCE // max(1, items))
    for start in range(0, len(queries), at_once):
        checkpoint()
        yield queries[start : start + at_once]
