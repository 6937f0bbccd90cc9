"""Clients in processes of their own, which are kept: one load that is measured, and others beside it."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing.synchronize import Event

from benchmarks.frame.workers import pool
from benchmarks.serve.load import Calls, Load, make_calls, together

_MOST = 16

_stopped: Event | None = None


class Clients:
    """So many client processes share a load; each further load has a process of its own."""

    def __init__(self, executor: ProcessPoolExecutor, stopped: Event, count: int) -> None:
        self._executor, self._stopped, self._count = executor, stopped, count

    def run(self, load: Load) -> Calls:
        """Return what became of the calls of a load, which the client processes share."""
        count = max(1, min(self._count, load.at_once if not load.rate else self._count))
        shares = [load.at_once // count + (number < load.at_once % count) for number in range(count)]
        parts = [replace(load, at_once=max(1, share), rate=load.rate / count) for share in shares]
        return together(list(self._executor.map(_make, parts)))

    @contextmanager
    def beside(self, *loads: Load) -> Iterator[list["Future[Calls]"]]:
        """Make other calls as long as the block runs, each load in a process of its own; give what they will be."""
        started = [self._executor.submit(_make, replace(load, seconds=0.0)) for load in loads]
        try:
            yield started
        finally:
            self._stopped.set()
            for future in started:
                future.exception()  # waits
            self._stopped.clear()
        for future in started:
            future.result()


@contextmanager
def clients(count: int = 1) -> Iterator[Clients]:
    """Give clients that end with the block."""
    stopped = multiprocessing.get_context("spawn").Event()
    with pool(_MOST, 1, partial(_prepare, stopped)) as executor:
        yield Clients(executor, stopped, count)


def _prepare(stopped: Event) -> None:
    global _stopped  # a process gets an event only when it starts, not with a task
    _stopped = stopped


def _make(load: Load) -> Calls:
    return make_calls(load, _stopped)
