"""Recall against speed among many items: ours, raw FAISS, and other indexes and stores of vectors.

``python -m benchmarks scale [--items 100000,1000000] [--parts curve ...] [--engines faiss ...] [--json OUT]``

Vectors of 64 numbers lie around 1,000 class centres. Queries are near an item each (within a view), or lie off the
distribution of the items (across views), as those of a joined space do. Recall is that of the 10 nearest, equal
distances counted; exact answers are kept beside the data. Each kind of index is built once; each part then opens it in
a process of its own, with one caller: its curve of recall over queries a second, the same under conditions, beside a
thread that replaces 1 % of the items a minute, and after a fifth of the items was replaced and as many were deleted.
The part "ratio" compares indexes of ours with raw FAISS in turns, and the part "calls" a server with a minimal one.

A part that fails, or takes longer than its limit, loses its own rows, and the report says why. Finished parts are not
measured again by a rerun. The peers' libraries are in an environment of their own, which ``make stores`` makes. TMPDIR
says which disk the indexes are on.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.frame.benchmark import OUT, Benchmark, numbers, positive
from benchmarks.frame.journal import run_trials
from benchmarks.frame.workers import alone
from benchmarks.scale import calls, contender
from benchmarks.scale.contender import Contender, Limits
from benchmarks.scale.data import CHANGED, DIM, QUERIES, Data, drawn
from benchmarks.scale.engine import CONSTRUCTION, LINKS
from benchmarks.scale.engines import ENGINES
from benchmarks.scale.plots import CAPTION, plot
from benchmarks.scale.ratio import ALONE, BATCHES, PAIRS, measured
from benchmarks.scale.report import headline, markdown

RATIO = "ratio"
OWN = (RATIO, calls.PART)
PARTS = (*contender.PARTS, *OWN)


class Task(NamedTuple):
    """A piece of the run, which is written down at once: a kind of an engine, or another part for an empty one."""

    items: int
    engine: str
    kind: str


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings and rows."""
    names = ("items", "parts", "engines", "queries", "seconds", "timeout", "seed")
    arguments = {name: getattr(options, name) for name in names}
    settings = {**arguments, "dim": DIM, "links": LINKS, "construction": CONSTRUCTION, "changed": CHANGED}
    tasks = {}
    for items in options.items:
        for engine in options.engines if set(options.parts) - set(OWN) else ():
            for kind in ENGINES[engine].kinds:
                tasks[f"{items:,} items, {engine} {kind}"] = Task(items, engine, kind)
        for kind in PAIRS if RATIO in options.parts else ():
            tasks[f"{items:,} items, ratio, {kind}"] = Task(items, "", kind)
        if calls.PART in options.parts:
            tasks[f"{items:,} items, calls"] = Task(items, "", calls.PART)
    trials = run_trials(options, settings, tasks, run, options)
    return {"settings": settings, "rows": [row for trial in trials for row in trial["rows"]]}


def run(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Return the rows of one task, and its seconds."""
    began = time.monotonic()
    data = Data(alone(draw, options.data, task.items, options.seed))
    if task.engine:
        limits = Limits(options.queries, options.seconds, options.timeout)
        with tempfile.TemporaryDirectory(prefix="crossview-scale-") as folder:
            index = Contender(task.engine, task.kind, Path(folder, "index"), data, limits)
            rows = index.measured([part for part in contender.PARTS if part in options.parts])
    elif task.kind == calls.PART:
        rows = calls.measured(data.folder, options.seconds)
    else:
        ratios = partial(alone, measured, data.folder, task.kind)
        rows = ratios(ALONE, options.queries, threads=1) + ratios(BATCHES, options.queries)
    return {"rows": rows, "seconds": time.monotonic() - began}


def draw(folder: Path, items: int, seed: int) -> Path:
    """Draw the data where they are not there; return their folder."""
    return drawn(folder, items, seed).folder


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=numbers, default=(100_000, 1_000_000), help="numbers of items")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument(
        "--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES), metavar="NAME", help=", ".join(ENGINES)
    )
    parser.add_argument("--queries", type=positive, default=QUERIES, help=f"single queries of each view [{QUERIES}]")
    parser.add_argument("--seconds", type=float, default=5.0, help="most seconds of each figure")
    parser.add_argument("--timeout", type=float, default=1_800.0, help="most seconds of the process of a part")
    parser.add_argument("--data", type=Path, default=OUT / "scale-data", help="folder of the drawn items")
    parser.add_argument("--seed", type=int, default=0)
    parser.set_defaults(workers=1)


BENCHMARK = Benchmark("scale", __doc__, _arguments, measure, markdown, plot, CAPTION, headline)
