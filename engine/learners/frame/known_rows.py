"""Recognition of training rows: rows that equal one in single precision, the precision in which catalogs store rows."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows, slices

Fingerprints = NDArray[np.uint64]
_NONE = np.empty(0, np.intp)


def fingerprints(rows: NDArray[np.float32] | Rows) -> Fingerprints:
    """Return a number for each of (n, d) rows, (n,): equal rows have equal numbers, different rows with a probability
    of 2^-64.

    A state stores the numbers instead of the rows, which would be as large as the collection.
    """
    found = np.empty(len(rows), np.uint64)
    factors = _factors(rows.shape[1])
    for part in slices(len(rows), rows.shape[1]):
        numbers = rows[part].astype(np.float32) + np.float32(0)  # -0 becomes 0, which it equals
        found[part] = numbers.view(np.uint32).astype(np.uint64) @ factors
    return found


@lru_cache(maxsize=64)
def _factors(count: int) -> Fingerprints:
    """Return pseudorandom odd numbers, (count,): Steele, Lea and Flood's SplitMix64 (2014), from its seed 0."""
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) | np.uint64(1)


class KnownViews:
    """A finder of rows among the training rows of their view.

    It makes the table of a view when a caller first needs it, so that loading a state takes no time.

    Args:
        known: the (n_v,) fingerprints of the training rows of each view. Among equal rows, the first counts.
    """

    def __init__(self, known: Sequence[Fingerprints]) -> None:
        self.known = known
        self._tables: dict[int, dict[int, int]] = {}

    def among(self, rows: Rows, view: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the numbers of the known rows among (m, d) rows, and each row's position in training, (m,), -1 for a
        new row.

        Both are empty for a view without training rows.
        """
        if view >= len(self.known):
            return _NONE, _NONE
        if view not in self._tables:
            self._tables[view] = {one: place for place, one in reversed(list(enumerate(self.known[view].tolist())))}
        table = self._tables[view]
        positions = np.array([table.get(one, -1) for one in fingerprints(rows).tolist()], dtype=np.intp)
        return np.flatnonzero(positions >= 0), positions
