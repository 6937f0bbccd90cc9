"""Writes of a collection: imports, single durable writes and the searches after them, deletion, compaction."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from benchmarks.store.data import VIEW, Data, K, keys
from benchmarks.store.timing import OURS, Seconds, compared, figure
from crossview.engine.collections.collection import Collection
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

ROWS_AT_ONCE, ITEMS_AT_ONCE, CHANGED_AT_ONCE, CHANGES = 5_000, 2_000, 1_000, 5
"""Items of one commit of each kind of import; items of one deletion or replacement, and the number of these."""
DELETED = 0.2  # share of the items that is gone before compaction
SYNC = "4 KiB and fsync"
PLAIN = "without a write"

Figures = list[dict[str, Any]]


def import_rows(collection: Collection, data: Data) -> Figures:
    """Fill a collection with vectors alone; return rows a second, committed."""
    seconds = 0.0
    for start in range(0, len(data.vectors), ROWS_AT_ONCE):
        rows = data.vectors[start : start + ROWS_AT_ONCE]
        names = keys(start, start + len(rows))
        seconds += _timed(partial(collection.items.put_vectors, VIEW, names, rows))
    return [figure("import of vectors", OURS, "rows/s", len(data.vectors) / seconds)]


def import_items(collection: Collection, data: Data) -> Figures:
    """Fill a collection with items of two labels and an attribute; return items a second, committed."""
    seconds = 0.0
    for start in range(0, len(data.vectors), ITEMS_AT_ONCE):
        rows = data.vectors[start : start + ITEMS_AT_ONCE]
        items = [
            NewItem(key, rows={VIEW: row}, labels=(str(first), str(second)), attributes={"number": start + place})
            for place, (key, row, first, second) in enumerate(
                zip(keys(start, start + len(rows)), rows, data.first[start:], data.second[start:], strict=False)
            )
        ]
        seconds += _timed(partial(collection.items.put, items))
    return [figure("import of items with labels and attribute", OURS, "items/s", len(data.vectors) / seconds)]


def measure_writes(collection: Collection, data: Data, folder: Path, count: int) -> Figures:
    """Return the figures of single durable writes, each followed by a search, and by another without a write.

    The durable write of 4 KiB into a file of the same disk takes its turn with ours.
    """
    requests = [SearchRequest([Query(VIEW, vector=row)], space="raw", k=K) for row in data.queries]
    collection.search(requests[0])
    rows = np.roll(data.vectors, 1, axis=0)
    times = {name: np.empty(count) for name in ("write", "first", "plain", "sync")}
    with (folder / "sync").open("wb", buffering=0) as file:
        for number in range(count):
            search = requests[number % len(requests)]
            row, other = rows[number % len(rows)], requests[(number + 1) % len(requests)]
            steps: dict[str, Callable[[], Any]] = {
                "write": partial(collection.items.put_vectors, VIEW, [f"new{number}"], row[None]),
                "first": partial(collection.search, search),
                "plain": partial(collection.search, other),
                "sync": partial(_write_through, file),
            }
            for name, step in steps.items():
                times[name][number] = _timed(step)
    task = "a durable write of one vector"
    rows_of = compared(task, {OURS: times["write"], SYNC: times["sync"]})
    rows_of.append(figure(task, OURS, "p99, ms", _p99(times["write"])))
    rows_of.append(figure(task, OURS, "writes/s", 1 / float(times["write"].mean())))
    task, extra = "the first search after a write", times["first"] - times["plain"]
    rows_of += compared(task, {OURS: times["first"], PLAIN: times["plain"]})
    rows_of.append(figure(task, OURS, "longer, ms (median)", 1000 * float(np.median(extra))))
    rows_of.append(figure(task, OURS, "longer, ms (p99)", _p99(extra)))
    return rows_of


def measure_changes(collection: Collection, data: Data, folder: Path) -> Figures:
    """Return the figures of replacing and deleting items, of the search after it, and of compaction.

    ``folder`` is the collection's.
    """
    request = SearchRequest([Query(VIEW, vector=data.queries[0])], space="raw", k=K)
    collection.search(request)
    size = min(CHANGED_AT_ONCE, max(1, round(DELETED * len(data.vectors) / CHANGES)))
    moved = data.vectors[::-1]
    rows: Figures = []
    actions: dict[str, Callable[[int], Any]] = {
        "replacement": lambda start: collection.items.put_vectors(
            VIEW, keys(start, start + size), moved[start : start + size]
        ),
        "deletion": lambda start: collection.items.delete(keys(start, start + size)),
    }
    for name, action in actions.items():
        times = np.empty((CHANGES, 2))
        for number in range(CHANGES):
            times[number] = _timed(partial(action, number * size)), _timed(partial(collection.search, request))
        task = f"{name} of {size:,} items"
        rows.append(figure(task, OURS, "items/s", CHANGES * size / float(times[:, 0].sum())))
        rows.append(figure(task, OURS, "search after it, ms", 1000 * float(np.median(times[:, 1]))))
    for start in range(CHANGES * size, round(DELETED * len(data.vectors)), CHANGED_AT_ONCE):
        collection.items.delete(keys(start, min(start + CHANGED_AT_ONCE, round(DELETED * len(data.vectors)))))
    collection.search(request)
    task, before = f"compaction after a deletion of {100 * DELETED:g} %", disk(folder)
    rows.append(figure(task, OURS, "seconds", _timed(collection.storage.compact)))
    rows.append(figure(task, OURS, "bytes given back per item", (before - disk(folder)) / len(data.vectors)))
    rows.append(figure(task, OURS, "search after it, ms", 1000 * _timed(lambda: collection.search(request))))
    return rows


def disk(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _write_through(file: BinaryIO) -> None:
    file.write(bytes(4096))
    os.fsync(file.fileno())


def _timed(step: Callable[[], Any]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def _p99(seconds: Seconds) -> float:
    return 1000 * float(np.percentile(seconds, 99))
