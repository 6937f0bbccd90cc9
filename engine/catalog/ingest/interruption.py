"""Interruptions of work that commits in steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Committed:
    """The number of items that the work has added or updated so far."""

    items: int = 0


class InterruptedWork(KeyboardInterrupt):
    """Ctrl-C, with the number of items ``committed`` (added or updated) before it."""

    def __init__(self, committed: int) -> None:
        super().__init__(f"{committed} items were committed")
        self.committed = committed


@contextmanager
def interruptible() -> Iterator[Committed]:
    """Count the committed items of the block; raise KeyboardInterrupt as InterruptedWork."""
    committed = Committed()
    try:
        yield committed
    except KeyboardInterrupt as stopped:
        raise InterruptedWork(committed.items) from stopped
