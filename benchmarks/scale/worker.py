"""One engine in a process of its own: ``python -m benchmarks.scale.worker DESCRIPTOR ENGINE KIND FOLDER DATA``.

Run by the interpreter that has the engine's library; the benchmark sends what to do (``benchmarks.frame.answering``).
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.answering import answer
from benchmarks.frame.record import usable_cores
from benchmarks.scale.data import WITHIN, Condition, Data, Vectors
from benchmarks.scale.engine import Engine
from benchmarks.scale.engines import ENGINES
from benchmarks.scale.writer import Turns, Writer

BATCH = 100
"""Queries of a call of a batch."""
_WARM, _LEAST = 10, 20
"""Queries before the timed ones, and least number of timed ones."""
_AT_ONCE = 10_000


class Worker:
    """An engine of one kind in a folder, and the data that it is filled from."""

    def __init__(self, name: str, kind: str, folder: Path, data: Path) -> None:
        self._data = Data(data)
        self._made: Callable[[], Engine] = lambda: ENGINES[name].engine(kind, folder, self._data)
        self._engine: Engine | None = None
        self._written = 0

    def build(self) -> Mapping[str, Any]:
        """Store and index all items; the seconds are without imports."""
        self._engine = self._made()
        seconds = _seconds(self._engine.build)
        self._engine.close()
        return {"seconds": seconds}

    def open(self, effort: int) -> Mapping[str, Any]:
        """Open what was built, up to the first answer, twice: only the first time takes up imports."""
        first = _seconds(lambda: self._open(effort))
        self._opened.close()
        self._engine = None
        return {"first": first, "again": _seconds(lambda: self._open(effort))}

    def search(self, view: str, effort: int, only: Sequence[Any] | None, most: int, limit: float) -> Mapping[str, Any]:
        """Search one query after the other, at most so many and so long; return their seconds and ids."""
        queries, condition = self._data.queries[view][:most], None if only is None else Condition(*only)
        self._opened.use_threads(1)
        for query in queries[-_WARM:]:
            self._search(query[None], effort, condition)
        return self._asked([query[None] for query in queries], effort, condition, limit)

    def batches(self, view: str, effort: int, limit: float) -> Mapping[str, Any]:
        """Search batches of 100 queries on all cores, so long; return the seconds of each."""
        self._opened.use_threads(usable_cores())
        queries = self._data.queries[view]
        blocks = [queries[first : first + BATCH] for first in range(0, len(queries), BATCH)]
        self._search(blocks[-1], effort, None)
        return self._asked(blocks, effort, None, limit, least=1)

    def write(self, view: str, effort: int, share: float, limit: float) -> Mapping[str, Any]:
        """Search for so long while a thread replaces such a share of the items a minute, which can be 0.

        Return the searches' seconds, those of the writes, the share of that rate that the thread achieved, and how many
        items are replaced since ``open``.
        """
        engine, queries, seconds = self._opened, self._data.queries[view], list[float]()
        engine.use_threads(1)
        turns = None if engine.concurrent else Turns()
        self._search(queries[-1:], effort, None)
        writer = Writer(engine, self._data, self._written, share * self._data.count / 60, turns)
        writer.start()
        began = time.perf_counter()
        while time.perf_counter() - began < limit and writer.failure is None:
            start = time.perf_counter()
            with nullcontext() if turns is None else turns.taken():
                self._search(queries[len(seconds) % len(queries)][None], effort, None)
            seconds.append(time.perf_counter() - start)
        writer.end()
        if writer.failure is not None:
            raise writer.failure
        self._written = writer.written
        return {"seconds": seconds, "writes": writer.seconds, "achieved": writer.achieved, "replaced": writer.written}

    def change(self) -> Mapping[str, Any]:
        """Replace a fifth of the items, and delete as many others."""
        engine, order, changed = self._opened, self._data.order, self._data.changed
        replacing, deleting = 0.0, 0.0
        for first in range(0, changed, _AT_ONCE):
            last = min(first + _AT_ONCE, changed)
            ids, rows = order[first:last], self._data.replacements(first, last)
            replacing += _seconds(partial(engine.replace, ids, rows))
        for first in range(changed, 2 * changed, _AT_ONCE):
            ids = order[first : min(first + _AT_ONCE, 2 * changed)]
            deleting += _seconds(partial(engine.delete, ids))
        return {"replacing": replacing, "deleting": deleting}

    def maintain(self) -> Mapping[str, Any]:
        """Do the work that the library recommends after many changes; None for the seconds where there is none."""
        began = time.perf_counter()
        worked = self._opened.maintain()
        return {"seconds": time.perf_counter() - began if worked else None}

    def close(self) -> Mapping[str, Any]:
        """Close the engine."""
        self._opened.close()
        return {}

    def _open(self, effort: int) -> None:
        self._engine = self._made()
        self._engine.open()
        self._search(self._data.queries[WITHIN][:1], effort, None)

    def _asked(
        self, blocks: Sequence[Vectors], effort: int, only: Condition | None, limit: float, least: int = _LEAST
    ) -> Mapping[str, Any]:
        seconds, ids, began = list[float](), list[Any](), time.perf_counter()
        for block in blocks:
            start = time.perf_counter()
            block_ids = self._search(block, effort, only)
            seconds.append(time.perf_counter() - start)
            ids += block_ids.tolist()
            if time.perf_counter() - began > limit and len(seconds) >= least:
                break
        return {"seconds": seconds, "ids": ids}

    def _search(self, queries: Vectors, effort: int, only: Condition | None) -> Any:
        return self._opened.search(np.ascontiguousarray(queries), effort, only)

    @property
    def _opened(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("the engine is not open")
        return self._engine


def _seconds(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


if __name__ == "__main__":
    answer(Worker(sys.argv[2], sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5])), int(sys.argv[1]))
