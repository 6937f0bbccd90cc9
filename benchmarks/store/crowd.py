"""A crowd: searches at a steady rate, alone, and beside eight writers, a training and an indexing of pictures.

The writers are threads of the searching process; each writes an item at a time, as fast as it can. The training and
the indexing are commands, which give way to what people wait for.
"""

import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store.data import DIM, VIEW, Data, K, keys
from benchmarks.store.timing import OURS, Seconds, figure
from benchmarks.store.writing import ITEMS_AT_ONCE
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

NAME, WRITERS, A_SECOND = "crowded", 8, 20
PICTURE_VIEW, PICTURES = "gist", 400
TRAINED_ON = 2_000
"""Items with a label, which the training learns from."""
TASK = f"searches beside {WRITERS} writers, a training and an indexing"

Figures = list[dict[str, Any]]


def measure_crowd(home: Home, data: Data, folder: Path) -> Figures:
    """Return the figures of searches and writes of a collection of all vectors; pictures are written to a folder."""
    sys.setswitchinterval(0.0001)  # as in a server
    _draw(folder)
    with home.create(NAME, [f"{VIEW}=vectors:dim={DIM}", PICTURE_VIEW]) as collection:
        _fill(collection, data)
        alone = _searches(collection, data, lambda: False)
        with _writers(collection, data) as written:
            running = [_started(home, "train", NAME, "--views", VIEW), _started(home, "index", NAME, str(folder))]
            beside = _searches(collection, data, lambda: any(process.poll() is None for process in running))
    figures = {
        "alone: p99, ms": _p99(alone),
        "beside them: median, ms": 1000 * float(np.median(beside)),
        "beside them: p99, ms": _p99(beside),
        "writes/s": len(written) * A_SECOND / len(beside),
        "longest write, s": max(written),
        "training and indexing, s": len(beside) / A_SECOND,
        "commands that failed": sum(process.returncode != 0 for process in running),
    }
    return [figure(TASK, OURS, metric, value) for metric, value in figures.items()]


def _fill(collection: Collection, data: Data) -> None:
    for start in range(0, len(data.vectors), ITEMS_AT_ONCE):
        rows = data.vectors[start : start + ITEMS_AT_ONCE]
        labels = data.second[start:TRAINED_ON].tolist()[: len(rows)]
        fields = zip_longest(keys(start, start + len(rows)), rows, labels)
        items = [NewItem(key, rows={VIEW: row}, labels=() if label is None else (label,)) for key, row, label in fields]
        collection.items.put(items)


def _draw(folder: Path) -> None:
    """Return pictures of 320 x 240 pixels by chance, BMP."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(PICTURES):
        head = struct.pack("<2sIIIIiiHHIIiiII", b"BM", 230_454, 0, 54, 40, 320, 240, 1, 24, 0, 230_400, 0, 0, 0, 0)
        (folder / f"{number:03}.bmp").write_bytes(head + random.bytes(230_400))


def _started(home: Home, *arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "crossview.server.commands.cli", *arguments, "--home", str(home.path)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _searches(collection: Collection, data: Data, busy: Callable[[], bool]) -> Seconds:
    """Return the seconds of searches that begin at a steady rate, of all queries and as long as something is busy."""
    requests = [SearchRequest([Query(VIEW, vector=row)], space="raw", k=K) for row in data.queries]
    collection.search(requests[0])
    seconds: list[float] = []
    began = time.perf_counter()
    while busy() or len(seconds) < len(requests):
        time.sleep(max(0.0, began + len(seconds) / A_SECOND - time.perf_counter()))
        start = time.perf_counter()
        collection.search(requests[len(seconds) % len(requests)])
        seconds.append(time.perf_counter() - start)
    return np.array(seconds)


@contextmanager
def _writers(collection: Collection, data: Data) -> Iterator[list[float]]:
    """Run threads that write during the block; give the seconds of their writes."""
    seconds: list[float] = []
    stop = threading.Event()

    def write(number: int) -> None:
        count = 0
        while not stop.is_set():
            row = data.vectors[(number * 7_919 + count) % len(data.vectors)]
            item = NewItem(f"writer {number}/{count % 500}", rows={VIEW: row}, attributes={"round": count // 500})
            start = time.perf_counter()
            collection.items.put([item])
            seconds.append(time.perf_counter() - start)
            count += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield seconds
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _p99(seconds: Seconds) -> float:
    return 1000 * float(np.percentile(seconds, 99))
