"""Known rows: finds out which rows equal, in single precision, a row that was seen in training."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.base import Rows
from crossview.engine.learners.blocks import slices

Fingerprints = NDArray[np.uint64]


def fingerprints(rows: NDArray[np.float32] | Rows) -> Fingerprints:
    """Returns a number for each of (n, d) rows that equal rows share, and others but by a chance of 2^-64, (n,)."""
    found = np.empty(len(rows), np.uint64)
    factors = _factors(rows.shape[1])
    for part in slices(len(rows), rows.shape[1]):
        numbers = rows[part].astype(np.float32) + np.float32(0)  # -0 becomes 0
        found[part] = numbers.view(np.uint32).astype(np.uint64) @ factors
    return found


@lru_cache(maxsize=64)
def _factors(count: int) -> Fingerprints:
    """Returns odd numbers that look random, (count,): Steele, Lea and Flood's SplitMix64 (2014), from its seed 0."""
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) | np.uint64(1)


class KnownRows:
    """Finds rows of one view among those of the training.

    Args:
        known: (n,) fingerprints of the training rows; of equal rows the first counts.
    """

    def __init__(self, known: Fingerprints) -> None:
        self._positions = {one: position for position, one in reversed(list(enumerate(known.tolist())))}

    def positions(self, rows: Rows) -> NDArray[np.intp]:
        """Returns the position of each of (m, d) rows among the training rows, (m,); -1 where it is none of them."""
        return np.array([self._positions.get(one, -1) for one in fingerprints(rows).tolist()], dtype=np.intp)
