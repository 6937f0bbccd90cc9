"""What was computed of one state of a collection, remembered for the next call that needs it."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from crossview.engine.runtime.locks import held

MOST_VALUES = 64
"""Values that are remembered; the one that was used least recently goes first."""
T = TypeVar("T")


@dataclass(eq=False)
class _Entry:
    making: threading.Lock = field(default_factory=threading.Lock)
    made: bool = False
    value: Any = None


class Remembered:
    """Values by key, each computed once, however many threads ask. Methods may be called from several threads."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = threading.Lock()

    def value(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, which ``make`` computes where it is not known; raises what that raises."""
        with self._lock:
            entry = self._entries[key] = self._entries.pop(key, _Entry())  # now the last
            while len(self._entries) > MOST_VALUES:
                del self._entries[next(iter(self._entries))]
        if not entry.made:
            with held(entry.making):
                if not entry.made:
                    entry.value, entry.made = make(), True
        return cast(T, entry.value)
