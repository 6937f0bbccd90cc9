"""A queue that takes turns between callers, so that one with many waiting calls does not hold up another."""

import threading
from collections import OrderedDict, deque
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue with a line for each caller; ``take`` goes round the lines. Several threads may call the methods."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()
        """The lines that are not empty, the next one first."""
        self._changing = threading.Lock()
        self._tickets: SimpleQueue[bool] = SimpleQueue()
        """True for each value in the lines, and False for each thread that must end."""
        self.taken = 0
        """Number of values taken so far."""

    def put(self, line: str, value: T) -> None:
        """Add a value to the end of a line."""
        with self._changing:
            values = self._lines.get(line)
            if values is None:
                values = self._lines[line] = deque()
            values.append(value)
        self._tickets.put(True)

    def take(self) -> T | None:
        """Wait for a value and return the first of the next line; None if this thread must end."""
        if not self._tickets.get():
            return None
        with self._changing:
            line, values = next(iter(self._lines.items()))
            value = values.popleft()
            if not values:
                del self._lines[line]
            elif len(self._lines) > 1:
                self._lines.move_to_end(line)
            self.taken += 1
            return value

    def end(self, threads: int) -> None:
        """Let a number of threads end after the values that are in the lines now."""
        for _ in range(threads):
            self._tickets.put(False)
