"""Stores side by side: ours and the peers take turns, each in a process of its own, on the same vectors."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from benchmarks.frame.record import ROOT
from benchmarks.store.data import DIM, Data, K
from benchmarks.store.stores import Condition
from benchmarks.store.timing import OURS, figure
from benchmarks.store.writing import disk

PYTHON = ROOT / ".venv-stores" / "bin" / "python"
AT_ONCE, BLOCK, OPENINGS = 2_000, 5, 3
"""Items of one call of an import, queries of a turn, and times that each store is opened."""
SEARCHES: dict[str, Condition | None] = {"query": None, "filter 1 %": ("first", "1"), "filter 50 %": ("second", "half")}
WRITE, AFTER = "write", "search after a write"
_SOON = 30.0  # seconds that a process may take to end


class StoreError(RuntimeError):
    """A store failed, or took too long; the message says how."""


class Process:
    """A worker process (``benchmarks.store.worker``) with one store."""

    def __init__(self, name: str, folder: Path, data: Path) -> None:
        """Raise StoreError where the peers' interpreter is missing."""
        python = Path(sys.executable) if name == OURS else PYTHON
        if not python.exists():
            raise StoreError("not installed; make its environment with: make stores")
        self._connection, theirs = Pipe()
        arguments = ["-m", "benchmarks.store.worker", str(theirs.fileno()), name, str(folder), str(data)]
        self._errors = (folder.parent / f"{name}.log").open("wb")
        # A session of its own: some peers start processes, which are ended with it.
        self._process = subprocess.Popen(
            [str(python), *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=self._errors,
            stderr=self._errors,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    def ask(self, action: str, timeout: float, **arguments: Any) -> dict[str, Any]:
        """Return the worker's answer; StoreError where it fails or is late."""
        try:
            self._connection.send_bytes(json.dumps({"action": action, **arguments}).encode())
            if not self._connection.poll(max(0.0, timeout)):
                raise StoreError("was too slow")
            answer: dict[str, Any] = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise StoreError(f"its process ended with status {self._process.wait(_SOON)}") from None
        if "failed" in answer:
            raise StoreError(answer["failed"])
        return answer

    def end(self) -> None:
        """End the process, and what it has started."""
        self._connection.close()
        try:
            self._process.wait(_SOON)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._errors.close()


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
                self._process = Process(self.name, self._folder, self._data)
            answer = self._process.ask(action, self._left, **arguments)
        except StoreError as error:
            late = time.monotonic() - began >= self._left
            self.failed = f"more than {self._limit:g} s in all, ended in: {metric}" if late else f"{metric}: {error}"
            self.end()
            return
        self._left -= time.monotonic() - began
        seconds = answer["seconds"]
        self.seconds[metric].append(float(np.median(seconds)) if isinstance(seconds, list) else seconds)
        self.found[metric] += answer.get("ids", [])

    def end(self) -> None:
        """End its process; the next question starts another."""
        if self._process is not None:
            self._process.end()
            self._process = None

    @property
    def bytes(self) -> int:
        """What its folder takes."""
        return disk(self._folder)


def measure_stores(data: Data, names: Sequence[str], queries: int, limit: float) -> list[dict[str, Any]]:
    """Return the figures of ours and the named peers on data that have more rows than are imported at first.

    ``limit`` are the seconds that one store may take in all; of one that takes longer, or fails, the row "failed" says
    so. Raises StoreError where ours fails.
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
            raise StoreError(f"{OURS}: {ours.failed}")
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
    for metric, found in store.found.items():
        if metric in SEARCHES:
            yield figure("stores", store.name, f"{metric}, recall", _recall(found, data, count, SEARCHES[metric]))


def _recall(found: Sequence[Sequence[int]], data: Data, count: int, only: Condition | None) -> float:
    """Return the share of the nearest items that were found; equal distances count as found."""
    kept = np.arange(count)
    if only is not None:
        kept = np.flatnonzero(getattr(data, only[0])[:count] == only[1])
    index = faiss.IndexFlatL2(DIM)
    index.add(data.vectors[kept])
    queries = data.queries[: len(found)]
    distances, _ = index.search(queries, min(K, len(kept)))
    right = 0
    for query, ids, row in zip(queries, found, distances, strict=True):
        right += int((((data.vectors[list(ids)] - query) ** 2).sum(axis=1) <= row[-1] * 1.0001).sum())
    return right / int(distances.size)
