"""The living engine side by side with raw FAISS and with other stores of vectors: writes, searches, opening, disk.

``python -m benchmarks store [--json OUT] [--report DIR] [--sizes 100000,1000000] [--peers milvus-lite lancedb ...]``

Vectors of 50 numbers lie around 1,000 class centres. In the first part, collections are used in process, as programs
use them, beside FAISS and NumPy on the same vectors in the same process, with one thread for a call. In the second,
ours and other stores take turns, each in a process of its own with as many threads as it likes; the peers' libraries
are in an environment of their own, which ``make stores`` makes. TMPDIR says which disk is written to.
"""

import argparse
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, numbers, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.tables import values_by
from benchmarks.frame.workers import alone
from benchmarks.store.crowd import measure_crowd
from benchmarks.store.data import DIM, VIEW, Data, draw
from benchmarks.store.opening import TINY, open_collection, open_index
from benchmarks.store.peers import measure_stores, writes_of
from benchmarks.store.report import markdown
from benchmarks.store.searching import BATCH, CODES, FLAT, measure_codes, measure_searches
from benchmarks.store.stores import PEERS
from benchmarks.store.timing import OURS, compared, figure
from benchmarks.store.writing import import_items, import_rows, measure_changes, measure_writes
from crossview.engine.collections.home import Home
from crossview.engine.values.recipe import Recipe

NAME = "items"
OPENINGS = 5
LEARNED_FROM = 20_000  # items at most that the hasher is fitted to; its directions are random, about the mean
INDEX = "vectors.faiss"

Figures = list[dict[str, Any]]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every size: medians over the trials."""
    rows: Figures = []
    for size in options.sizes:
        figures: Figures = []
        for seed in range(options.seed, options.seed + options.trials):
            for part, run in (("engine", _engine), ("stores", _stores)):
                Console(stderr=True).print(f"{size:,} vectors, seed {seed}: {part} ...", highlight=False)
                figures += [{"part": part, **row} for row in run(size, seed, options)]
        for names, values in values_by(figures, ("part", "task", "method", "metric")):
            rows.append({"items": size, **names, **_summary(values)})
    settings = {name: getattr(options, name) for name in ("queries", "trials", "seed", "timeout", "peers")}
    return {"settings": settings, "rows": rows}


def _summary(values: list[Any]) -> dict[str, Any]:
    measured = [value for value in values if not isinstance(value, str)]
    if not measured:
        return {"value": values[0]}
    spread = statistics.stdev(measured) if len(measured) > 1 else 0.0
    return {"value": statistics.median(measured), "std": spread}


def _engine(size: int, seed: int, options: argparse.Namespace) -> Figures:
    """Return the figures of collections in process; each step has a process of its own, with one thread for a call."""
    with tempfile.TemporaryDirectory(prefix="crossview-store-") as folder:
        step = partial(alone, threads=1)
        arguments = Path(folder), size, seed, options.queries
        searches, crowd = step(_fill_and_search, *arguments), step(_crowd, *arguments)
        return [*searches, *_openings(*arguments), *step(_write, *arguments), *crowd]


def _fill_and_search(folder: Path, size: int, seed: int, queries: int) -> Figures:
    data, home = _data(size, seed, queries), Home(folder)
    with home.create(TINY, [f"{VIEW}=vectors:dim={DIM}"]) as tiny:
        import_rows(tiny, draw(10, 1, seed))
    with home.create("rows", [f"{VIEW}=vectors:dim={DIM}"]) as collection:
        rows = import_rows(collection, data)
    home.delete("rows")
    index = faiss.IndexFlatL2(DIM)
    index.add(data.vectors)
    faiss.write_index(index, str(folder / INDEX))
    with home.create(NAME, [f"{VIEW}=vectors:dim={DIM}"]) as collection:
        rows += import_items(collection, data)
        rows += measure_searches(collection, data, index, queries)
        held_out = max(0.0, 1 - LEARNED_FROM / size)
        collection.train(Recipe(spec=f"{CODES}:64", views=(VIEW,), holdout=held_out), space=CODES, activate=False)
        rows += measure_codes(collection, data, queries)
    return rows


def _openings(folder: Path, size: int, seed: int, queries: int) -> Figures:
    """Return the figures of openings, each in a new process; crossview and FAISS take turns."""
    rows = _data(size, seed, queries).queries
    openings: dict[str, list[dict[str, float]]] = {OURS: [], FLAT: []}
    for _ in range(OPENINGS):
        openings[OURS].append(alone(open_collection, folder, NAME, rows, threads=1))
        openings[FLAT].append(alone(open_index, folder / INDEX, rows, threads=1))
    figures: Figures = []
    for metric, task in (("answer", "opening, to the first answer"), ("imports", "imports, and all code used once")):
        figures += compared(
            task, {name: np.array([opening[metric] for opening in runs]) for name, runs in openings.items()}
        )
    for metric, task in (("opened", "memory after opening"), ("used", "memory after the queries")):
        grown = {name: statistics.median(opening[metric] for opening in runs) / size for name, runs in openings.items()}
        figures += [figure(task, name, "bytes per item", value) for name, value in grown.items()]
        figures.append(figure(task, FLAT, "ratio", grown[OURS] / max(grown[FLAT], 1.0)))
    return figures


def _write(folder: Path, size: int, seed: int, queries: int) -> Figures:
    data, home = _data(size, seed, queries), Home(folder)
    with home.open(NAME) as collection:
        rows = measure_writes(collection, data, folder, queries)
        return rows + measure_changes(collection, data, home.path / NAME)


def _crowd(folder: Path, size: int, seed: int, queries: int) -> Figures:
    home = Home(folder / "crowd")
    return measure_crowd(home, _data(size, seed, queries), folder / "pictures")


def _stores(size: int, seed: int, options: argparse.Namespace) -> Figures:
    data = draw(size + writes_of(options.queries), options.queries, seed)
    return measure_stores(data, options.peers, options.queries, options.timeout)


def _data(size: int, seed: int, queries: int) -> Data:
    return draw(size, max(queries, BATCH), seed)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=numbers, default=(100_000,), help="numbers of vectors")
    parser.add_argument("--queries", type=positive, default=200, help="single queries, and single writes, of each kind")
    parser.add_argument("--trials", type=positive, default=1, help="times that all is measured, on other vectors")
    parser.add_argument(
        "--peers", nargs="*", choices=PEERS, default=list(PEERS), metavar="NAME", help=f"stores: {', '.join(PEERS)}"
    )
    parser.add_argument("--timeout", type=float, default=1_800.0, help="most seconds of one peer in all")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark(
    "store",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Search 100,000 items by a vector inside a program: ms",
        "{0:.2f}",
        "{1:.2f} (Chroma), {2:.2f} (Milvus Lite), {3:.1f} (LanceDB), {4:.1f} (Qdrant, local)",
        {"part": "stores", "method": "crossview", "metric": "query, ms"},
        {"part": "stores", "method": "chroma", "metric": "query, ms"},
        {"part": "stores", "method": "milvus-lite", "metric": "query, ms"},
        {"part": "stores", "method": "lancedb", "metric": "query, ms"},
        {"part": "stores", "method": "qdrant-local", "metric": "query, ms"},
    ),
)
