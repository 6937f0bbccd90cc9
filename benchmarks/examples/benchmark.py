"""Search by examples: three examples and three counter-examples of unseen items, and five rounds of feedback.

    python -m benchmarks examples --data DIR [--sets NAME ...] [--json OUT] [--report DIR] [--trials N]

Four fifths of each set are learned from; the others come later, and they alone are examples and hits, in the views
themselves (``raw``) and in the default space. The rivals have the same examples and the same sample of the items. Then
the ways to combine are timed on drawn vectors.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.examples.trial import GIVEN, METHODS, ONE, ROUNDS, run
from benchmarks.frame.benchmark import Benchmark, Document, numbers, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.tables import table
from benchmarks.sets.named import load, sets_argument, sets_of
from crossview.engine.spaces.examples import scored
from crossview.engine.spaces.target import Target
from crossview.engine.strategy import COMBINE
from crossview.index.flat import FlatIndex

SETS = ("corel1k", "merged20", "osr8")
DIM, TIMES = 64, 7
WANTED_MS = {100_000: 50.0, 1_000_000: 300.0}


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


def markdown(document: Document) -> str:
    """Return the report."""
    trials, settings = document["trials"], document["settings"]
    spaces = list(dict.fromkeys(figure[0] for trial in trials for figure in trial["figures"]))
    kinds = list(dict.fromkeys(figure[1] for trial in trials for figure in trial["figures"]))
    about = (
        f"Precision of the first ten hits in per cent, {settings['questions']} questions for each set and seed, "
        f"{len(settings['seeds'])} seeds. Each question has three examples of a class and three counter-examples: "
        "random items of other classes, or the first wrong hits of the first example. Items are unseen; the methods of "
        "the product and the rivals know the same."
    )
    parts = ["# Search by examples", about]
    for space in spaces:
        lines = [["set", "counter-examples", *METHODS, "less wrong than one example, by learn"]]
        for name in settings["sets"]:
            lines += [_line(trials, space, name, kind) for kind in kinds]
        parts += [f"## {space}", table(lines)]
    head = ["set", "space", "method", *(f"round {number + 1}" for number in range(ROUNDS))]
    parts += ["## Rounds of feedback", table([head, *_curves(trials)]), "## Time", table(_times(document["rows"]))]
    return "\n\n".join(parts)


def _line(trials: Sequence[Mapping[str, Any]], space: str, name: str, kind: str) -> list[str]:
    values: dict[str, list[float]] = {}
    for trial in trials:
        for of_space, of_kind, method, value in trial["figures"]:
            if (trial["data"], of_space, of_kind) == (name, space, kind):
                values.setdefault(method, []).append(value)
    means = {method: float(np.mean(found)) for method, found in values.items()}
    less = 1 - (1 - means[COMBINE[0]]) / max(1 - means[ONE], 1e-9)
    return [name, kind, *(f"{100 * means[method]:.1f}" for method in METHODS), f"{100 * less:.0f} %"]


def _curves(trials: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    found: dict[tuple[str, str, str], list[list[float]]] = {}
    for trial in trials:
        for space, method, curve in trial["curves"]:
            found.setdefault((trial["data"], space, method), []).append(curve)
    return [[*names, *(f"{100 * value:.1f}" for value in np.mean(curves, axis=0))] for names, curves in found.items()]


def _times(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    lines = [["items", "way", f"ms, {DIM} numbers an item", "wanted"]]
    for row in rows:
        wanted = WANTED_MS.get(row["items"])
        lines.append([f"{row['items']:,}", row["method"], f"{row['value']:.1f}", f"<= {wanted:g}" if wanted else ""])
    return lines


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, type=Path, help="folder of the sets")
    parser.add_argument("--questions", type=positive, default=60, help="questions for each set and seed")
    parser.add_argument("--sizes", type=numbers, default=(100_000, 1_000_000), help="numbers of items to time")
    sets_argument(parser, SETS)
    trial_arguments(parser, trials=3)


BENCHMARK = Benchmark("examples", __doc__, _arguments, measure, markdown)
