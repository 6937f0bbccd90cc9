"""A queue that takes turns between callers, so that one with many waiting calls does not hold up another."""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue with a line for each caller; ``take`` goes round the lines. Only one thread uses it."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()
        """The lines that are not empty, the next one first."""

    def __bool__(self) -> bool:
        return bool(self._lines)

    def put(self, line: str, value: T) -> None:
        """Add a value to the end of a line."""
        self._lines.setdefault(line, deque()).append(value)

    def take(self) -> T:
        """Return the first value of the next line; raise StopIteration from an empty queue."""
        line, values = next(iter(self._lines.items()))
        value = values.popleft()
        if values:
            self._lines.move_to_end(line)
        else:
            del self._lines[line]
        return value
