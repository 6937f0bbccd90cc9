"""Quadruplets of versions from time alone: versions near in time differ less than versions far apart."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.papers.losses.constraints import Constraints

Indices = NDArray[np.int64]
PERIOD = 4.0
_BEFORE, _AFTER = 1.5, 1.75  # periods: for a period of 4 versions, r >= t - 6 and s <= t + 7
_JITTER = 0.02  # share of a period by which a visit may be late


@dataclass(frozen=True)
class Monotony:
    """Pairs of versions, and the assumption that the near pairs differ less than the far pairs.

    Attributes:
        pairs: (p, 2) positions of versions, the earlier first.
        near: (n,) positions in ``pairs``: two successive versions.
        far: (n,) positions in ``pairs``: an earlier or the same version, and a later or the same version.
        margins: (n,), 1 if the far pair is at least a period apart (the set A, equation 19), otherwise 0 (the set B,
            equation 18).
        gaps: number of successive versions a period or more apart, about which there is no assumption.
    """

    pairs: Indices
    near: Indices
    far: Indices
    margins: NDArray[np.float64]
    gaps: int

    def __len__(self) -> int:
        return len(self.near)

    def triplets(self) -> "Monotony":
        """Return the quadruplets of A whose pairs share a version, which are triplets."""
        near, far = self.pairs[self.near], self.pairs[self.far]
        return self.take(np.flatnonzero((self.margins > 0) & (near == far).any(axis=1)))

    def take(self, which: Indices) -> "Monotony":
        """Return the quadruplets at some positions, over the same pairs."""
        return Monotony(self.pairs, self.near[which], self.far[which], self.margins[which], self.gaps)

    def constraints(self) -> Constraints:
        """Return the constraints on rows: the first row is zero, the others are the features of ``pairs``."""
        near, far = (np.column_stack([places + 1, np.zeros_like(places)]) for places in (self.near, self.far))
        return Constraints(near, far, self.margins, np.ones(len(self)))


def monotony(times: NDArray[np.float64], period: float = PERIOD) -> Monotony:
    """Return the quadruplets of versions in the order of time.

    For every two successive versions t and t + 1 less than a period apart: they differ less than r and s, for all
    r <= t < s with r at most 1.5 periods before t and s at most 1.75 periods after t. The margin is 1 if r and s are at
    least a period apart.

    Args:
        times: (n,) ascending; ``np.arange(n)`` if only the order counts.
        period: the change period gamma, in the unit of ``times``.

    Raises:
        ValueError: for times that are not ascending, or a period that is not positive.
    """
    if not period > 0 or (np.diff(times) <= 0).any():
        raise ValueError("the times of versions must ascend, and a period must be positive")
    late = _JITTER * period
    parts: list[NDArray[np.int64]] = []
    gaps = 0
    for now in range(len(times) - 1):
        if times[now + 1] - times[now] >= period - late:
            gaps += 1
            continue
        first = int(np.searchsorted(times, times[now] - _BEFORE * period - late))
        last = int(np.searchsorted(times, times[now] + _AFTER * period + late))
        earlier, later = (grid.ravel() for grid in np.mgrid[first : now + 1, now + 1 : last])
        other = (earlier < now) | (later > now + 1)
        count = int(other.sum())
        parts.append(np.column_stack([np.full((count, 2), [now, now + 1]), earlier[other], later[other]]))
    items = np.concatenate(parts) if parts else np.empty((0, 4), np.int64)
    pairs, places = np.unique(items.reshape(-1, 2), axis=0, return_inverse=True)
    near, far = places.reshape(-1, 2).T
    apart = times[items[:, 3]] - times[items[:, 2]] >= period - late
    return Monotony(pairs, near.astype(np.int64), far.astype(np.int64), apart.astype(np.float64), gaps)
