"""Results computed from one state of a collection, kept for later calls."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from crossview.engine.runtime.locks import held

MOST_VALUES = 64
"""Maximum number of kept values; the least recently used is dropped first."""
T = TypeVar("T")


@dataclass(eq=False)
class _Entry:
    making: threading.Lock = field(default_factory=threading.Lock)
    made: bool = False
    value: Any = None


class Remembered:
    """Values by key, each computed once, also if several threads ask at once."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = threading.Lock()

    def value(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; ``make`` computes an unknown value, and its errors pass through."""
        with self._lock:
            entry = self._entries[key] = self._entries.pop(key, _Entry())  # move to the end: the most recently used
            while len(self._entries) > MOST_VALUES:
                del self._entries[next(iter(self._entries))]
        if not entry.made:
            with held(entry.making):
                if not entry.made:
                    entry.value, entry.made = make(), True
        return cast(T, entry.value)
