"""Blocks of rows, so that no full matrix of pairs is in memory."""

from collections.abc import Iterator

from crossview.engine.runtime.cancellation import checkpoint

BLOCK = 1 << 22
"""Numbers of a dense block of pairs: 32 MB of weights."""


def slices(count: int, columns: int, numbers: int = BLOCK) -> Iterator[slice]:
    """Yield slices of ``count`` rows, in order: each at least one row, and else at most so many numbers."""
    size = max(1, numbers // max(columns, 1))
    for start in range(0, count, size):
        checkpoint()
        yield slice(start, min(start + size, count))
