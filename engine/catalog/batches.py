"""Long lists of parameters, split into pieces that one SQLite statement accepts."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

SIZE = 10_000
"""Parameters per statement; SQLite accepts at most 32,766."""


def batches(values: Iterable[T], size: int = SIZE) -> Iterator[list[T]]:
    """Yield the values in lists of at most ``size``."""
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch
