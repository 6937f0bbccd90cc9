"""Interruptions of work that commits as it goes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Committed:
    """How many items work has added or updated so far."""

    items: int = 0


class InterruptedWork(KeyboardInterrupt):
    """Ctrl-C, with the number of items ``committed``, added or updated, by then."""

    def __init__(self, committed: int) -> None:
        super().__init__(f"{committed} items were committed")
        self.committed = committed


@contextmanager
def interruptible() -> Iterator[Committed]:
    """Count what the block commits; KeyboardInterrupt leaves it as InterruptedWork."""
    committed = Committed()
    try:
        yield committed
    except KeyboardInterrupt as stopped:
        raise InterruptedWork(committed.items) from stopped
