"""A collection beside its publication in Milvus: the rate of publishing, times and recall of searches, in one run.

    python -m benchmarks publish [--json OUT] [--report DIR] [--items 100000,1000000] [--indexes ivf hnsw]

Items have one row of 64 numbers around 1,000 centres, a label and four attributes. A Milvus server of an environment of
its own (``make engines``) runs beside this process on the same cores. One caller asks the embedded indexes and the
engine in turns; then 32 threads ask each of them for some seconds. Recall is that of the 10 nearest, against exact
searches of the embedded index.
"""

import argparse
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, MissingDataError, numbers, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.record import ROOT
from benchmarks.frame.tables import rows_with, table
from benchmarks.store.timing import take_turns

if TYPE_CHECKING:
    from crossview.engine.collections.collection import Collection
    from crossview.engine.publishing.collection import PublishedCollection

DIM, CENTRES, LABELS, K, CALLERS = 64, 1_000, 50, 10, 32
SERVER = ROOT / ".venv-engines" / "bin" / "milvus-server"
OURS, ENGINE = "embedded", "Milvus"
_NAME, _SPREAD, _STARTS = "items", 0.6, 120.0
Rows = NDArray[np.float32]
Ask = Callable[[Rows], Sequence[float]]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows for each number of items and kind of index."""
    if not SERVER.exists():
        raise MissingDataError(f"{SERVER} is missing: make engines")
    console, rows = Console(stderr=True), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(prefix="crossview-publish-") as root, milvus(Path(root, "milvus")) as address:
        for items in options.items:
            folder = Path(root, str(items))
            with closing(_filled(folder, items, options.seed)) as collection:
                queries = np.load(folder / "queries.npy")[: options.queries]
                for index in options.indexes:
                    console.print(f"{items:,} items, {index} ...", highlight=False)
                    measurements = _measured(collection, folder, address, index, queries, options.seconds)
                    rows += [{"items": items, "index": index, **row} for row in measurements]
    settings = {
        "queries": options.queries,
        "k": K,
        "callers": CALLERS,
        "seconds": options.seconds,
        "seed": options.seed,
    }
    return {"settings": settings, "rows": rows}


@contextmanager
def milvus(folder: Path) -> Iterator[str]:
    """Run a server of Milvus in a folder; give its address once it answers."""
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.milvus import Milvus
    from crossview.engine.values.errors import CrossviewError

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(SERVER), "--data", str(folder), "--proxy-port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        address, began = f"milvus://127.0.0.1:{port}", time.monotonic()
        while True:
            with suppress(CrossviewError), closing(Milvus(engine_address(address))) as engine:
                engine.call("list_collections")
                break
            if time.monotonic() - began > _STARTS:
                raise TimeoutError(f"Milvus did not answer within {_STARTS:g} s")
            time.sleep(1)
        yield address
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _filled(folder: Path, count: int, seed: int) -> "Collection":
    """Return a collection of drawn items, whose raw space has lists from 200,000 items on."""
    from crossview import Home

    folder.mkdir()
    random = np.random.default_rng(seed)
    centres = random.standard_normal((CENTRES, DIM), np.float32)
    rows = centres[random.integers(CENTRES, size=count + 1_000)]
    rows += np.float32(_SPREAD) * random.standard_normal(rows.shape, np.float32)
    np.save(folder / "rows.npy", rows[:count])
    np.save(folder / "queries.npy", rows[count:])
    keys = [f"item-{number:07}" for number in range(count)]
    (folder / "keys.txt").write_text("\n".join(keys) + "\n", encoding="utf-8")
    with (folder / "table.csv").open("w", encoding="utf-8") as file:
        file.write("key,label,album,number,score,seen\n")
        for number, key in enumerate(keys):
            file.write(f"{key},class {number % LABELS},album {number % 997},{number},{number / 7:.3f},true\n")
    collection = Home(folder / "home").create(_NAME, [f"v=vectors:dim={DIM}"])
    collection.items.index_vectors("v", folder / "rows.npy", folder / "keys.txt")
    collection.items.annotate(folder / "table.csv")
    collection.spaces.reindex("raw")
    return collection


def _measured(
    collection: "Collection", folder: Path, address: str, index: str, queries: Rows, seconds: float
) -> list[dict[str, Any]]:
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.collection import PublishedCollection
    from crossview.engine.publishing.milvus import Milvus
    from crossview.engine.publishing.object_storage import ObjectStorage
    from crossview.engine.publishing.publication import PublishRequest
    from crossview.engine.publishing.publish import publish

    with closing(Milvus(engine_address(address))) as engine:
        bundles, name = folder / f"bundles-{index}", f"{_NAME}-{collection.count()}-{index}"
        began = time.perf_counter()
        publish(collection, PublishRequest(to=str(bundles), engine=engine, space="raw", name=name, index=index))
        took = time.perf_counter() - began
        with closing(PublishedCollection(name, ObjectStorage(bundles), engine)) as published:
            asks = {OURS: _asking(collection), ENGINE: _asking(published)}
            rows = [{"method": ENGINE, "metric": "publish, s", "value": took}]
            truth = [_asking(collection, exact=True)(query) for query in queries]
            for method, ask in asks.items():
                rows.append({"method": method, "metric": "recall", "value": _recall(ask, queries, truth)})
            runs = {method: _run(ask, queries) for method, ask in asks.items()}
            for method, times in take_turns(runs, len(queries)).items():
                for quantile in (50, 95, 99):
                    value = 1e3 * float(np.percentile(times, quantile))
                    rows.append({"method": method, "metric": f"p{quantile}, ms", "value": value})
            for method, ask in asks.items():
                rows.append({"method": method, "metric": "calls/s", "value": _rate(ask, queries, 1, seconds)})
                rows.append(
                    {"method": method, "metric": "calls/s at 32", "value": _rate(ask, queries, CALLERS, seconds)}
                )
    return rows


def _asking(searched: "Collection | PublishedCollection", exact: bool = False) -> Ask:
    from crossview import Query, SearchRequest

    def ask(row: Rows) -> Sequence[float]:
        (result,) = searched.search(SearchRequest([Query("v", vector=row)], space="raw", k=K, exact=exact))
        return [hit.distance for hit in result.hits]

    return ask


def _run(ask: Ask, queries: Rows) -> Callable[[int], Any]:
    # A function, because a lambda in the loop over methods would ask the last one.
    return lambda number: ask(queries[number % len(queries)])


def _recall(ask: Ask, queries: Rows, truth: Sequence[Sequence[float]]) -> float:
    shares = []
    for query, distances in zip(queries, truth, strict=True):
        shares.append(np.mean([distance <= distances[-1] * (1 + 1e-3) for distance in ask(query)]))
    return float(np.mean(shares))


def _rate(ask: Ask, queries: Rows, callers: int, seconds: float) -> float:
    """Return the calls a second of so many threads."""
    counts, end = [0] * callers, time.perf_counter() + seconds

    def call(number: int) -> None:
        while time.perf_counter() < end:
            ask(queries[(31 * number + counts[number]) % len(queries)])
            counts[number] += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)


_COLUMNS = ("recall", "p50, ms", "p95, ms", "p99, ms", "calls/s", "calls/s at 32")


def markdown(document: Document) -> str:
    """Return the report: a line for each number of items, index and method."""
    rows, settings = document["rows"], document["settings"]
    lines = [["items", "index in Milvus", "searched", "published", *_COLUMNS]]
    for items, index in dict.fromkeys((row["items"], row["index"]) for row in rows):
        for method in (OURS, ENGINE):
            values = {row["metric"]: row["value"] for row in rows_with(rows, items=items, index=index, method=method)}
            took = values.get("publish, s")
            rate = "" if took is None else f"{took:.0f} s, {items / took:,.0f} items/s"
            lines.append([f"{items:,}", index, method, rate, *(f"{values[name]:.3g}" for name in _COLUMNS)])
    return f"# A collection beside its publication\n\n{_ABOUT.format(**settings)}\n\n{table(lines)}\n"


_ABOUT = (
    "Up to {queries:,} queries of 64 numbers, the {k} nearest, in process. *Embedded* is the collection with the index "
    "that suits its size; *Milvus* is the same collection through a server of Milvus on the same two cores, with the "
    "conversion of hits by the same code. One caller takes turns; {callers} threads ask for {seconds:g} s. Publishing "
    "includes checks, and tuning on stored items."
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=numbers, default=(100_000, 1_000_000), help="numbers of items")
    parser.add_argument("--indexes", nargs="+", default=["ivf", "hnsw"], help="kinds of index in Milvus")
    parser.add_argument("--queries", type=positive, default=300, help="number of queries")
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of each rate")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark(
    "publish",
    __doc__,
    _arguments,
    measure,
    markdown,
    headline=stated(
        "Search a collection of 1,000,000 items that is published to Milvus: ms",
        "{0:.1f}",
        "{1:.2f} (the same collection inside a program)",
        {"items": 1_000_000, "index": "hnsw", "method": "Milvus", "metric": "p50, ms"},
        {"items": 1_000_000, "index": "hnsw", "method": "embedded", "metric": "p50, ms"},
    ),
)
