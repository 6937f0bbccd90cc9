"""One store in a process of its own: ``python -m benchmarks.store.worker DESCRIPTOR STORE FOLDER DATA``.

Run by the interpreter that has the store's library; the other one is that of the benchmark, which sends what to do
through the connection of the descriptor, and gets seconds and answers back (``benchmarks.frame.answering``).
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.answering import answer
from benchmarks.store.stores import Batch, Condition, Store, open_store


class Worker:
    """The store, and the data that it is filled from: arrays of a folder, as ``benchmarks.store.peers`` writes them."""

    def __init__(self, name: str, folder: Path, data: Path) -> None:
        self._name, self._folder = name, folder
        self._data = {path.stem: np.load(path, mmap_mode="r") for path in data.glob("*.npy")}
        self._store: Store | None = None

    def open(self, new: bool) -> Mapping[str, Any]:
        """Open the store, imports included; of one that is there, seconds go to the first answer."""
        began = time.perf_counter()
        self._store = open_store(self._name, self._folder, new)
        if not new:
            self._store.search(np.array(self._data["queries"][0]), None)
        return {"seconds": time.perf_counter() - began}

    def add(self, first: int, last: int) -> Mapping[str, Any]:
        """Add the items of these positions."""
        names = (self._data[name][first:last].tolist() for name in ("first", "second"))
        batch = Batch(range(first, last), np.array(self._data["vectors"][first:last]), *names)
        began = time.perf_counter()
        self._opened().add(batch)
        return {"seconds": time.perf_counter() - began}

    def ready(self) -> Mapping[str, Any]:
        """Do what the library wants after an import."""
        began = time.perf_counter()
        self._opened().ready()
        return {"seconds": time.perf_counter() - began}

    def search(self, numbers: Sequence[int], only: Condition | None, warm: bool) -> Mapping[str, Any]:
        """Search one query after the other; with ``warm``, the last of them first, which is not timed."""
        store, queries = self._opened(), np.array(self._data["queries"])
        if warm:
            store.search(queries[numbers[-1]], only)
        seconds, ids = [], []
        for number in numbers:
            began = time.perf_counter()
            ids.append(store.search(queries[number], only))
            seconds.append(time.perf_counter() - began)
        return {"seconds": seconds, "ids": ids}

    def close(self) -> Mapping[str, Any]:
        """Close the store."""
        began = time.perf_counter()
        self._opened().close()
        return {"seconds": time.perf_counter() - began}

    def _opened(self) -> Store:
        if self._store is None:
            raise RuntimeError("the store is not open")
        return self._store


if __name__ == "__main__":
    answer(Worker(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])), int(sys.argv[1]))
