"""A histogram that the event loop fills in well under a microsecond, and that another thread may read."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Histogram:
    """Counts of values in buckets; ``bounds`` are their upper limits, ascending. One thread adds values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return the cumulated counts with their upper limits, as Prometheus names them, and the sum of the values."""
        counts = accumulate(list(self._counts))
        names = [*map(str, self._bounds), "+Inf"]
        return [(name, float(count)) for name, count in zip(names, counts, strict=True)], self._sum
