"""Stores side by side: ours and the peers take turns, each in a process of its own, on the same vectors."""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from benchmarks.frame import asking
from benchmarks.frame.asking import Process, WorkerError
from benchmarks.store.data import DIM, Data, K
from benchmarks.store.stores import Condition
from benchmarks.store.timing import OURS, figure
from benchmarks.store.writing import disk

AT_ONCE, BLOCK, OPENINGS = 2_000, 5, 3
"""Items of one call of an import, queries of a turn, and times that each store is opened."""
SEARCHES: dict[str, Condition | None] = {"query": None, "filter 1 %": ("first", "1"), "filter 50 %": ("second", "half")}
WRITE, AFTER = "write", "search after a write"


class Contender:
    """A store in the comparison: its process, the time it has left, what it was measured, or why it was not."""

    def __init__(self, name: str, folder: Path, data: Path, limit: float) -> None:
        self.name, self._folder, self._data, self._limit = name, folder, data, limit
        self._left = limit
        self._process: Process | None = None
        self.failed = ""
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.found: dict[str, list[list[int]]] = defaultdict(list)

    def ask(self, action: str, metric: str, **arguments: Any) -> None:
        """Let the worker do something, and keep its seconds; after a failure, send no further request."""
        if self.failed:
            return
        began = time.monotonic()
        try:
            if self._process is None:
                self._process = self._started()
            answer = self._process.ask(action, self._left, **arguments)
        except WorkerError as error:
            late = time.monotonic() - began >= self._left
            self.failed = f"more than {self._limit:g} s in all, ended in: {metric}" if late else f"{metric}: {error}"
            self.end()
            return
        self._left -= time.monotonic() - began
        seconds = answer["seconds"]
        self.seconds[metric].append(float(np.median(seconds)) if isinstance(seconds, list) else seconds)
        self.found[metric] += answer.get("ids", [])

    def _started(self) -> Process:
        python = asking.OURS if self.name == OURS else asking.STORES
        arguments = self.name, self._folder, self._data
        log = self._folder.parent / f"{self.name}.log"
        return Process(python, "benchmarks.store.worker", arguments, self._folder, log)

    def end(self) -> None:
        """End its process; the next question starts another."""
        if self._process is not None:
            self._process.end()
            self._process = None

    @property
    def bytes(self) -> int:
        """The bytes of its folder."""
        return disk(self._folder)


def measure_stores(data: Data, names: Sequence[str], queries: int, limit: float) -> list[dict[str, Any]]:
    """Return the figures of ours and the named peers on data that have more rows than are imported at first.

    ``limit`` are the seconds that one store may take in all; of one that takes longer, or fails, the row "failed" says
    so. Raises WorkerError where ours fails.
    """
    writes = writes_of(queries)
    count = len(data.vectors) - writes
    with (
        tempfile.TemporaryDirectory(prefix="crossview-stores-") as folder,
        _contenders(Path(folder), data, [OURS, *names], limit) as stores,
    ):
        _import(stores, count)
        for metric, only in SEARCHES.items():
            for start in range(0, queries, BLOCK):
                numbers = list(range(start, min(start + BLOCK, queries)))
                for store in stores:
                    store.ask("search", metric, numbers=numbers, only=only, warm=True)
        for number in range(writes):
            for store in stores:
                store.ask("add", WRITE, first=count + number, last=count + number + 1)
                store.ask("search", AFTER, numbers=[number % queries], only=None, warm=False)
        for _ in range(OPENINGS):
            for store in stores:
                store.ask("close", "closing")
                store.end()
                store.ask("open", "opening", new=False)
        ours = stores[0]
        if ours.failed:
            raise WorkerError(f"{OURS}: {ours.failed}")
        return [row for store in stores for row in _figures(store, ours, data, count)]


def writes_of(queries: int) -> int:
    """Return how many rows more than are imported the data need."""
    return max(3, queries // 10)


@contextmanager
def _contenders(folder: Path, data: Data, names: Sequence[str], limit: float) -> Iterator[list[Contender]]:
    arrays = folder / "data"
    arrays.mkdir()
    for name in ("vectors", "queries", "first", "second"):
        np.save(arrays / f"{name}.npy", getattr(data, name))
    stores = []
    for name in names:
        (folder / name).mkdir()
        stores.append(Contender(name, folder / name, arrays, limit))
    try:
        yield stores
    finally:
        for store in stores:
            store.end()


def _import(stores: Sequence[Contender], count: int) -> None:
    for store in stores:
        store.ask("open", "creation", new=True)
        store.seconds.clear()
    for start in range(0, count, AT_ONCE):
        for store in stores:
            store.ask("add", "import", first=start, last=min(start + AT_ONCE, count))
    for store in stores:
        store.ask("ready", "import")


def _figures(store: Contender, ours: Contender, data: Data, count: int) -> Iterator[dict[str, Any]]:
    """Return the rows of one store; ratios are how many times longer ours takes, by medians of the same turns."""
    if store.failed:
        yield figure("stores", store.name, "failed", store.failed)
    for metric, values in store.seconds.items():
        own = ours.seconds[metric]
        if metric == "import":
            if len(values) == len(own):
                yield figure("stores", store.name, "import, rows/s", count / sum(values))
                yield figure("stores", store.name, "import, ratio", sum(own) / sum(values))
        elif metric != "closing":
            yield figure("stores", store.name, f"{metric}, ms", 1000 * float(np.median(values)))
            ratios = np.array(own[: len(values)]) / values
            yield figure("stores", store.name, f"{metric}, ratio", float(np.median(ratios)))
    if "closing" in store.seconds:
        yield figure("stores", store.name, "bytes per item", store.bytes / len(data.vectors))
    for metric, hits in store.found.items():
        if metric in SEARCHES:
            yield figure("stores", store.name, f"{metric}, recall", _recall(hits, data, count, SEARCHES[metric]))


def _recall(hits: Sequence[Sequence[int]], data: Data, count: int, only: Condition | None) -> float:
    """Return the share of the nearest items that were found; equal distances count as found."""
    eligible = np.arange(count)
    if only is not None:
        eligible = np.flatnonzero(getattr(data, only[0])[:count] == only[1])
    index = faiss.IndexFlatL2(DIM)
    index.add(data.vectors[eligible])
    queries = data.queries[: len(hits)]
    distances, _ = index.search(queries, min(K, len(eligible)))
    right = 0
    for query, ids, row in zip(queries, hits, distances, strict=True):
        right += int((((data.vectors[list(ids)] - query) ** 2).sum(axis=1) <= row[-1] * 1.0001).sum())
    return right / int(distances.size)
