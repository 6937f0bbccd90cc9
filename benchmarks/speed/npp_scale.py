"""Time, memory and accuracy of Multi-NPP against the number of items, on synthetic pairs of views.

An item of one of 50 classes is a point near its class's centre in 40 dimensions. Each of two views shows it by a random
linear map to 300 dimensions, with noise that grows along the columns up to 4 standard deviations. 1,000 further items
query the first view against all trained items in the second. Every fit runs in a process of its own, so that its peak
memory is its own, data included.
"""

import argparse
import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, numbers
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import figures_by, rows_with, table
from benchmarks.frame.workers import alone
from crossview.engine.learners.papers.npp.multi_npp import MultiNPP
from crossview.features.base import FeatureRows

SIZES = (1_000, 3_000, 10_000, 100_000, 1_000_000)
CLASSES, LATENT, WIDTH, DIM = 50, 40, 300, 50
QUERIES, NEIGHBORS = 1_000, 5
FULL_UP_TO = 10_000  # above, all pairs take too long to be compared with
METHODS: Mapping[str, Mapping[str, Any]] = {
    "all pairs": {"batch_size": None},
    "batches": {"batch_size": 16_384},
    "start": {"max_iter": 0},
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every size and method."""
    rows: list[dict[str, Any]] = []
    for size in options.sizes:
        for method in METHODS:
            if method == "all pairs" and size > FULL_UP_TO:
                continue
            figures = alone(_fit, method, size, options.seed)
            text = ", ".join(f"{metric} {value:.4g}" for metric, value in figures.items())
            Console(stderr=True).print(f"{size} items, {method}: {text}", highlight=False)
            rows += [{"method": method, "items": size, "metric": m, "value": v} for m, v in figures.items()]
    settings = {
        "sizes": list(options.sizes),
        "seed": options.seed,
        "classes": CLASSES,
        "width": WIDTH,
        "dim": DIM,
        "queries": QUERIES,
        "methods": {name: dict(params) for name, params in METHODS.items()},
        "all pairs up to": FULL_UP_TO,
    }
    return {"settings": settings, "rows": rows}


def pairs(count: int, seed: int) -> tuple[list[FeatureRows], NDArray[np.int64]]:
    """Return two (count, 300) views and (count,) classes; classes and maps are the same for every seed."""
    shared = np.random.default_rng(0)
    centers = shared.normal(size=(CLASSES, LATENT))
    maps = [shared.normal(size=(LATENT, WIDTH)) / np.sqrt(LATENT) for _ in range(2)]
    generator = np.random.default_rng(seed)
    labels = generator.integers(CLASSES, size=count)
    views = [np.empty((count, WIDTH), np.float32) for _ in maps]
    for start in range(0, count, 10_000):
        part = slice(start, start + 10_000)
        points = centers[labels[part]] + 0.8 * generator.normal(size=(len(labels[part]), LATENT))
        for rows, projection in zip(views, maps, strict=True):
            noise = generator.normal(size=(len(points), WIDTH)) * np.linspace(0.4, 4.0, WIDTH)
            rows[part] = points @ projection + noise
    return views, labels


def accuracy(learner: MultiNPP, views: Sequence[FeatureRows], labels: NDArray[np.int64], seed: int) -> float:
    """Return the 5-NN accuracy of new items' first views among the trained items' second views."""
    (queries, _), truth = pairs(QUERIES, seed)
    probes = learner.transform(queries, view=0)
    near_labels: list[NDArray[np.int64]] = []
    squared: list[FeatureRows] = []
    for start in range(0, len(labels), 50_000):
        placed = learner.transform(views[1][start : start + 50_000], view=1)
        part = (probes**2).sum(axis=1)[:, None] - 2 * probes @ placed.T + (placed**2).sum(axis=1)
        near = np.argpartition(part, NEIGHBORS, axis=1)[:, :NEIGHBORS]
        near_labels.append(labels[start + near])
        squared.append(np.take_along_axis(part, near, axis=1))
    order = np.argsort(np.hstack(squared), axis=1)[:, :NEIGHBORS]
    votes = np.take_along_axis(np.hstack(near_labels), order, axis=1)
    return float(np.mean([np.bincount(row).argmax() == label for row, label in zip(votes, truth, strict=True)]))


def markdown(document: Document) -> str:
    """Return the table, one line per number of items and method."""
    lines = [["items", "method", "seconds", "peak memory, MiB", "5-NN accuracy, %"]]
    for (items,), methods in figures_by(document["rows"], "items").items():
        for method, figures in methods.items():
            cells = (
                f"{figures['seconds']:.1f}",
                f"{figures['peak memory, MiB']:.0f}",
                f"{100 * figures['accuracy']:.1f}",
            )
            lines.append([f"{items:,}", method, *cells])
    return f"# Multi-NPP against the number of items\n\n{table(lines)}"


def plot(path: Path, document: Document) -> None:
    """Draw training time and peak memory against the number of items."""
    with panels(path, 1, 2, (10, 4)) as figure:
        for axis, metric, label in zip(figure.axes, ("seconds", "peak memory, MiB"), ("seconds", "MiB"), strict=True):
            for method, marker in zip(METHODS, "os^", strict=True):
                points = [
                    (row["items"], row["value"]) for row in rows_with(document["rows"], method=method, metric=metric)
                ]
                axis.loglog(*zip(*points, strict=True), marker=marker, label=method)
            axis.set_xlabel("items")
            axis.set_ylabel(label)
        time_axis, memory_axis = figure.axes
        time_axis.set_title("training time")
        memory_axis.set_title("peak memory of the process, data included")
        time_axis.legend(frameon=False)


def _fit(method: str, size: int, seed: int) -> dict[str, float]:
    views, labels = pairs(size, seed)
    learner = MultiNPP(DIM, random_state=seed).set_params(**METHODS[method])
    began = time.perf_counter()
    learner.fit(views, labels)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak memory, MiB": peak, "accuracy": accuracy(learner, views, labels, seed + 1)}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=_sizes, default=SIZES, help="numbers of items, such as 1000,10000")
    parser.add_argument("--seed", type=int, default=0)


def _sizes(text: str) -> tuple[int, ...]:
    sizes = numbers(text)
    if min(sizes) < 2 * CLASSES:
        raise argparse.ArgumentTypeError(f"{min(sizes)} items are too few: sizes must be at least {2 * CLASSES}")
    return sizes


BENCHMARK = Benchmark("npp-scale", __doc__, _arguments, measure, markdown, plot, "time and memory")
