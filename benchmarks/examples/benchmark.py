"""Search by examples: three examples and three counter-examples, and five rounds of feedback.

    python -m benchmarks examples --data DIR [--sets NAME ...] [--json OUT] [--report DIR] [--trials N]

In the views themselves (``raw``), all items are examples and hits. The default space learns from half of each class,
and there the others alone are examples and hits. The rivals have the same examples and a sample of the items of
the same size. Then the ways to combine are timed on drawn vectors.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.examples.report import caption, markdown, plot
from benchmarks.examples.trial import GIVEN, run
from benchmarks.frame.benchmark import Benchmark, numbers, positive, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.tables import rows_of_trials
from benchmarks.sets.named import load, sets_argument, sets_of
from crossview.engine.spaces.examples import scored
from crossview.engine.spaces.target import Target
from crossview.engine.values.strategy import COMBINE
from crossview.index.flat import FlatIndex

SETS = ("corel1k", "merged20", "osr8")
DIM, TIMES = 64, 7


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials."""
    seeds, cache = seeds_of(options), cache_folder(options)
    for name in sets_of(options):
        load(name, options.data, cache)
    settings = {"seeds": list(seeds), "sets": sets_of(options), "questions": options.questions, "dim": DIM}
    tasks = {f"{name} seed {seed}": (name, seed, options.questions) for seed in seeds for name in sets_of(options)}
    trials = run_trials(options, settings, tasks, run, options.data, cache)
    return {"settings": settings, "rows": [row for size in options.sizes for row in timed(size)], "trials": trials}


def timed(size: int) -> list[dict[str, Any]]:
    """Return the median milliseconds of each way over drawn vectors."""
    generator = np.random.default_rng(0)
    index = FlatIndex(DIM).changed([], np.arange(size), generator.standard_normal((size, DIM), np.float32))
    target, weights = Target(view="v", dim=DIM), np.repeat([1.0, -1.0], GIVEN)
    rows = []
    for way in COMBINE:
        seconds = []
        for number in range(TIMES + 1):
            vectors = index.get(np.arange(6 * number, 6 * number + 6))
            began = time.perf_counter()
            scored(way, target, index, vectors, weights)
            seconds.append(time.perf_counter() - began)
        value = 1000 * float(np.median(seconds[1:]))
        rows.append({"items": size, "method": way, "metric": "ms", "value": value})
    return rows


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, type=Path, help="folder of the sets")
    parser.add_argument("--questions", type=positive, default=60, help="questions for each set and seed")
    parser.add_argument("--sizes", type=numbers, default=(100_000, 1_000_000), help="numbers of items to time")
    sets_argument(parser, SETS)
    trial_arguments(parser, trials=3)


BENCHMARK = Benchmark(
    "examples",
    __doc__,
    _arguments,
    measure,
    markdown,
    plot,
    caption,
    headline=stated(
        "Search by three examples and three counter-examples: precision of the first ten hits",
        "{0:.1f} %",
        "{1:.1f} % (one example), {2:.1f} % (linear SVM)",
        {"space": "raw", "counter-examples": "random", "method": "learn"},
        {"space": "raw", "counter-examples": "random", "method": "one example"},
        {"space": "raw", "counter-examples": "random", "method": "linear SVM"},
        factor=100,
        rows=lambda document: rows_of_trials(document, "space", "counter-examples", "method"),
    ),
)
