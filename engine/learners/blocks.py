"""Blocks of rows, so that no matrix of pairs has to be held as a whole."""

from collections.abc import Iterator

from engine.learners.cancellation import checkpoint

BLOCK = 1 << 22
"""Pairs held as a dense block at once: 32 MB of weights."""


def slices(count: int, columns: int) -> Iterator[slice]:
    """Yields slices of rows, in order, such that a block of each has at most ``BLOCK`` pairs (but at least one row)."""
    size = max(1, BLOCK // max(columns, 1))
    for start in range(0, count, size):
        checkpoint()
        yield slice(start, min(start + size, count))
