"""Squared distances of rows to landmarks, for blocks of rows whose distances stay in the processor's cache."""

from collections.abc import Iterator

import numpy as np
from sklearn.utils.extmath import row_norms

from crossview.engine.learners.frame.view_rows import Rows, slices

_DISTANCES_AT_ONCE = 1 << 17
"""Number of distances in a block, 1 MiB: each of the many steps from distances to kernels is several times as fast in
the cache as in memory."""
_STEP = 64
"""Products of matrices in blocks of a multiple of 64 rows have the same rounding as the whole product."""


class LandmarkDistances:
    """The squared distances of rows to (m, d) landmarks."""

    def __init__(self, landmarks: Rows) -> None:
        # Products of rows that are far from the origin would lose the differences between them.
        self._middle = landmarks.mean(axis=0)
        landmarks = landmarks - self._middle
        self._columns = landmarks.T
        self._lengths = row_norms(landmarks, squared=True)

    def blocks(self, count: int) -> Iterator[slice]:
        """Yield consecutive slices of ``count`` rows, the blocks of ``squared``."""
        at_once = max(_STEP, _DISTANCES_AT_ONCE // max(1, len(self._lengths)) // _STEP * _STEP)
        return slices(count, 1, at_once)

    def squared(self, rows: Rows) -> Rows:
        """Return the squared distances of (n, d) rows, (n, m)."""
        rows = rows - self._middle
        found = rows @ self._columns
        found *= -2
        found += row_norms(rows, squared=True)[:, None]
        found += self._lengths
        return np.maximum(found, 0, out=found)
