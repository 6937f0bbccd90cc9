"""The cost of crossview: searches beside FAISS's own, and short commands beside an empty program.

    python -m benchmarks lean [--json OUT] [--report DIR] [--queries N]

Times are processor time of the thread that searches. Methods take turns, so that other work counts little.
Vectors are standard normal; those of the collection are around 1,000 centres. The scan of a width has 6.4 million
components, or 25,000 vectors if these are more; lists of half floats stand beside our lists of floats.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import faiss
import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.record import ROOT, Row
from benchmarks.frame.tables import figures_by, table
from crossview.engine.collections.home import Home
from crossview.index.flat import FlatIndex
from crossview.index.ivf import IvfIndex

WIDTHS = (50, 60, 64, 100, 128, 300, 304, 353, 512, 553, 1024)
COMPONENTS, LEAST = 6_400_001, 25_000
ITEMS, DIM, K, PROBES = 100_000, 50, 10, 16
CENTERS, SPREAD = 1_000, 0.3
COMMANDS = ("--version", "--help", "list")
EMPTY = "python -c pass"

Search = Callable[[int], object]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings and rows."""
    faiss.omp_set_num_threads(1)
    rows = [row for width in WIDTHS for row in _width(width, options.queries)]
    rows += [*_collection(options.queries), *_commands()]
    return {"settings": {"queries": options.queries, "k": K, "items": ITEMS, "probes": PROBES}, "rows": rows}


def _width(width: int, queries: int) -> Iterator[Row]:
    """Yield the ratios of an exact search to FAISS's scan, and of lists of half floats to lists of floats."""
    rng = np.random.default_rng(width)
    count = max(COMPONENTS // width + 1, LEAST)
    rows, asked = (rng.normal(size=(some, width)).astype(np.float32) for some in (count, queries))
    ids, plain = np.arange(count), faiss.IndexFlatL2(width)
    plain.add(rows)
    flat = FlatIndex(width).changed([], ids, rows).compacted()
    lists = IvfIndex(width).changed([], ids, rows).compacted()
    halves = IvfIndex(width, "float16").changed([], ids, rows).compacted()
    spent = _in_turns(
        {
            "FAISS flat": lambda at: plain.search(asked[at : at + 1], K),
            "exact": lambda at: flat.search(asked[at : at + 1], K),
            "ivf": lambda at: lists.search(asked[at : at + 1], K, None, PROBES),
            "ivf, half floats": lambda at: halves.search(asked[at : at + 1], K, None, PROBES),
        },
        queries,
    )
    yield from _rows(spent, {"exact": "FAISS flat", "ivf, half floats": "ivf"}, {"numbers": width})


def _collection(queries: int) -> Iterator[Row]:
    """Yield the times of searches by vector and by key in a program, with FAISS's own."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CENTERS, DIM))
    rows, asked = (
        (centers[rng.integers(CENTERS, size=some)] + SPREAD * rng.normal(size=(some, DIM))).astype(np.float32)
        for some in (ITEMS, queries)
    )
    plain = faiss.IndexFlatL2(DIM)
    plain.add(rows)
    keys = [f"item/{number:06}.jpg" for number in range(ITEMS)]
    with tempfile.TemporaryDirectory() as folder, Home(folder).create("lean", [f"v=vectors:dim={DIM}"]) as collection:
        collection.items.put_vectors("v", keys, rows)
        for kind in ("flat", "ivf"):
            collection.spaces.reindex("raw", index=kind)
            spent = _in_turns(
                {
                    "FAISS flat": lambda at: plain.search(asked[at : at + 1], K),
                    "by vector": lambda at: collection.search(view="v", vector=asked[at], k=K),
                    "by key": lambda at: collection.search(view="v", key=keys[37 * at], k=K),
                },
                queries,
                before=2,
            )
            yield from _rows(spent, {"by vector": "FAISS flat", "by key": "by vector"}, {"search": kind})


def _commands() -> Iterator[Row]:
    """Yield the processor seconds of commands."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"CROSSVIEW_HOME": home, "PYTHONPATH": str(ROOT)}
        programs: dict[str, tuple[str, ...]] = {EMPTY: ("-c", "pass")}
        for word in COMMANDS:
            programs[f"crossview {word}"] = ("-m", "crossview.server.commands.cli", word)
        runs: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(6):
            for name, words in programs.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                runs[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    for name, seconds in runs.items():
        yield {"method": name, "metric": "processor, s", "value": float(np.median(seconds[1:]))}


def _in_turns(searches: Mapping[str, Search], queries: int, before: int = 1) -> dict[str, float]:
    """Return the median milliseconds of each search, after ``before`` rounds that do not count."""
    spent: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range((before + 1) * queries):
        for name, search in searches.items():
            began = time.thread_time_ns()
            search(turn % queries)
            if turn >= before * queries:
                spent[name].append((time.thread_time_ns() - began) / 1e6)
    return {name: float(np.median(values)) for name, values in spent.items()}


def _rows(spent: Mapping[str, float], peers: Mapping[str, str], about: Mapping[str, Any]) -> Iterator[Row]:
    for name, milliseconds in spent.items():
        yield {**about, "method": name, "metric": "ms", "value": milliseconds}
    for name, peer in peers.items():
        yield {**about, "method": name, "metric": f"over {peer}", "value": spent[name] / spent[peer]}


def report(document: Document) -> str:
    """Return the tables: widths, searches in a program, commands."""
    return "\n".join(_report(document["rows"]))


def _report(rows: Sequence[Row]) -> Iterator[str]:
    yield "# The cost of crossview beside FAISS and Python\n"
    lines: list[tuple[str, ...]] = [
        ("numbers", "FAISS flat, ms", "exact, ms", "ratio", "ivf, ms", "ivf, half floats, ms", "ratio")
    ]
    for (width,), of in figures_by([row for row in rows if "numbers" in row], "numbers").items():
        flat, exact, lists, halves = (of[name] for name in ("FAISS flat", "exact", "ivf", "ivf, half floats"))
        cells = flat["ms"], exact["ms"], exact["over FAISS flat"], lists["ms"], halves["ms"], halves["over ivf"]
        lines.append((str(width), *(f"{cell:.2f}" for cell in cells)))
    yield table(lines)
    yield f"\n## Searches in a program, {ITEMS:,} vectors of {DIM} numbers\n"
    lines = [("index", "FAISS flat, ms", "by vector, ms", "by key, ms")]
    for (kind,), of in figures_by([row for row in rows if "search" in row], "search").items():
        lines.append((kind, *(f"{of[name]['ms']:.2f}" for name in ("FAISS flat", "by vector", "by key"))))
    yield table(lines)
    yield "\n## Short commands\n"
    times = [row for row in rows if row["metric"] == "processor, s"]
    yield table([("command", "processor, s"), *((f"`{row['method']}`", f"{row['value']:.2f}") for row in times)])


def _headline(document: Document) -> tuple[str, str, str]:
    ratios = [row["value"] for row in document["rows"] if row["metric"] == "over FAISS flat" and "numbers" in row]
    worst = max(ratios)
    return "exact searches of one query, at eleven widths", f"at most {worst:.2f} of the time of FAISS flat", ""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=positive, default=60, help="number of queries of each method")


BENCHMARK = Benchmark("lean", __doc__ or "", _arguments, measure, report, headline=_headline)
