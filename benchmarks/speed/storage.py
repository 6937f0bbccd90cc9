"""Memory and disk: what a collection costs per item, for real photographs and for many synthetic items.

``python -m benchmarks storage --data DIR [--json OUT] [--items 100000]``

Each step runs in a fresh process, whose peak memory is its own. Synthetic items are ready rows of all three views with
a label and an attribute, imported in batches, and then searched in the raw views.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, positive
from benchmarks.frame.workers import alone
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions, NewItem
from crossview.engine.values.query import Query, SearchRequest
from crossview.engine.values.recipe import Recipe

Figures = dict[str, float]
_BATCH = 2000
_DIMS = {"color": 64, "sift": 300, "gist": 512}
_FITTED_ON = 20
_QUERIES = 64


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every step."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="crossview-storage-") as folder:
        home = Path(folder)
        steps: list[tuple[str, Callable[..., Figures], tuple[Any, ...]]] = [
            ("photographs: index", _index, (home, options.data)),
            ("photographs: train hybrid and search", _train, (home,)),
            ("synthetic: import rows", _import, (home, options.data, options.items)),
            ("synthetic: first search builds the index", _search, (home,)),
            ("synthetic: search from snapshots", _search, (home,)),
        ]
        for name, step, arguments in steps:
            Console(stderr=True).print(f"{name} ...")
            figures = alone(_measured, step, *arguments)
            rows += [{"method": name, "metric": metric, "value": round(value, 4)} for metric, value in figures.items()]
    return {"settings": {"data": options.data.name, "items": options.items}, "rows": rows}


def _measured(step: Callable[..., Figures], *arguments: Any) -> Figures:
    began = time.perf_counter()
    figures = step(*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": time.perf_counter() - began, "peak memory, MiB": peak, **figures}


def _index(home: Path, data: Path) -> Figures:
    with Home(home).create("photographs") as collection:
        report = collection.index([data], IndexOptions(labels="folder", workers=1))
        return {"items": report.added, **_disk(home / "photographs", report.added)}


def _train(home: Path) -> Figures:
    with Home(home).open("photographs") as collection:
        collection.train(Recipe(spec="hybrid", views=("color", "sift"), dim=50, holdout=0.2))
        (first,) = collection.items(limit=1)
        collection.search(SearchRequest([Query("color", key=first.key)]))
        return _disk(home / "photographs", collection.count())


def _import(home: Path, data: Path, count: int) -> Figures:
    files = sorted(data.rglob("*.jpg"))
    pictures = files[:: max(1, len(files) // _FITTED_ON)]
    with Home(home).create("synthetic") as collection:
        collection.views.fit(path.read_bytes() for path in pictures)
        began = time.perf_counter()
        for batch in _items(count):
            collection.items.put(batch)
        seconds = time.perf_counter() - began
        return {"items": count, "items/s": count / seconds, **_disk(home / "synthetic", count)}


def _items(count: int) -> Iterator[list[NewItem]]:
    rng = np.random.default_rng(0)
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        rows = {view: rng.random((size, dim), np.float32) for view, dim in _DIMS.items()}
        yield [
            NewItem(
                f"set/{start + n:09}.jpg",
                rows={view: values[n] for view, values in rows.items()},
                labels=(f"class {(start + n) % 100}",),
                attributes={"number": start + n},
            )
            for n in range(size)
        ]


def _search(home: Path) -> Figures:
    rng = np.random.default_rng(1)
    with Home(home).open("synthetic") as collection:
        figures = {}
        for view, dim in _DIMS.items():
            queries = [Query(view, vector=row) for row in rng.random((_QUERIES, dim), np.float32)]
            began = time.perf_counter()
            collection.search(SearchRequest(queries[:1], space="raw"))
            figures[f"{view}: first query, s"] = time.perf_counter() - began
            times = []
            for query in queries:
                began = time.perf_counter()
                collection.search(SearchRequest([query], space="raw"))
                times.append(time.perf_counter() - began)
            figures[f"{view}: query, ms (median)"] = 1000 * float(np.median(times))
            began = time.perf_counter()
            collection.search(SearchRequest(queries, space="raw"))
            figures[f"{view}: query in a batch of {_QUERIES}, ms"] = 1000 * (time.perf_counter() - began) / _QUERIES
        count = collection.count()
    return {**figures, **_disk(home / "synthetic", count)}


def _disk(folder: Path, items: int) -> Figures:
    catalog = sum(path.stat().st_size for path in folder.glob("catalog.db*"))
    snapshots = sum(path.stat().st_size for path in folder.glob("indexes/*"))
    return {"catalog, bytes per item": catalog / items, "index snapshots, bytes per item": snapshots / items}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of photographs, images/<class>/*.jpg below it")
    parser.add_argument("--items", type=positive, default=100_000, help="synthetic items")


BENCHMARK = Benchmark("storage", __doc__, _arguments, measure)
