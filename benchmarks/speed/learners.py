"""How long learners take to fit, at their defaults, on rows of several shapes: alone, and beside other busy processes.

"words" are counts of 120 words drawn from a vocabulary as wide as the view, by a mixture of all texts' frequencies and
of the class's; "dense" are Gaussian about the classes' means. Every learner is fitted in a process of its own. Seconds
are the median of several fits after a first one, which is not counted; CPU seconds are those of all its threads.
"""

import argparse
import multiprocessing
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.tables import figures_by, table
from benchmarks.frame.workers import alone, start_worker
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.registry import parse_chain


class Shape(NamedTuple):
    """The data for fitting learners."""

    kind: str
    items: int
    widths: tuple[int, int]
    classes: int


SHAPES: Mapping[str, Shape] = {
    "326 x (3200, 3200) words": Shape("words", 326, (3200, 3200), 5),
    "326 x (3200, 3200) dense": Shape("dense", 326, (3200, 3200), 5),
    "2000 x (240, 76) dense": Shape("dense", 2000, (240, 76), 10),
    "800 x (64, 300) dense": Shape("dense", 800, (64, 300), 10),
}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "posteriors,dot": {"random_state": 0},
    "class-instance,dot": {"random_state": 0},
    "co-em,dot": {"random_state": 0},
    "instances": {"random_state": 0},
    "multi-npp": {"random_state": 0},
    "hybrid": {"random_state": 0},
    "kernel:rbf,multi-npp": {"random_state": 0, "kernel__random_state": 0},
    "kernel:rbf,semantic": {"kernel__random_state": 0},
    "cca": {},
    "csa,dot": {},
    "pls": {},
    "lda": {},
    "pca": {},
    "semantic": {},
    "semantic logistic": {"regression": "logistic"},
    "attributes": {},
    "fantope": {},
    "lmnn": {},
    "qwise": {},
    "qwise diagonal": {"form": "diagonal"},
    "musl": {"random_state": 0},
    "npp-hash": {"random_state": 0},
    "multi-npp,itq": {"random_state": 0, "itq__random_state": 0},
    "pca:50,lsh:64": {"lsh__random_state": 0},
    "multi-npp,sign": {"random_state": 0},
}
"""Settings by spec; what follows a blank only tells apart."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every shape and learner."""
    rows: list[dict[str, Any]] = []
    with busy(options.busy):
        for shape in options.shapes:
            for method in options.learners:
                figures = alone(_fit, method, SHAPES[shape], options.repeats)
                text = ", ".join(f"{metric} {value:.3g}" for metric, value in figures.items())
                Console(stderr=True).print(f"{shape}, {method}: {text}", highlight=False)
                rows += [{"shape": shape, "method": method, "metric": m, "value": v} for m, v in figures.items()]
    return {"settings": {"repeats": options.repeats, "busy": options.busy, "seed": 0}, "rows": rows}


def draw(shape: Shape, seed: int = 0) -> tuple[list[Rows], NDArray[np.int64]]:
    """Return two (n, d_v) views and (n,) classes."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(shape.classes, size=shape.items)
    return [_view(shape.kind, labels, width, generator) for width in shape.widths], labels


def _view(kind: str, labels: NDArray[np.int64], width: int, generator: np.random.Generator) -> Rows:
    classes = int(labels.max()) + 1
    if kind == "words":
        everyone = generator.dirichlet(np.full(width, 0.05))
        frequencies = 0.7 * everyone + 0.3 * generator.dirichlet(np.full(width, 0.02), size=classes)
        return generator.multinomial(120, frequencies[labels]).astype(np.float64)
    means = generator.normal(size=(classes, width)) * 0.25
    return np.asarray(means[labels] + generator.normal(size=(len(labels), width)) * np.linspace(0.5, 2, width))


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many processes busy meanwhile; they end with this one, however it ends."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _spin() -> None:
    start_worker()
    rows = np.random.default_rng(0).normal(size=(1000, 1000))
    while True:
        np.sqrt(np.abs(rows))


def _fit(method: str, shape: Shape, repeats: int) -> dict[str, float]:
    views, labels = draw(shape)
    walls, cpus = [], []
    for _ in range(repeats + 1):
        learner = parse_chain(method.split()[0], METHODS[method])
        copies = [rows.copy() for rows in views]
        wall, cpu = time.perf_counter(), time.process_time()
        learner.fit(copies, labels)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {"seconds": float(np.median(walls[1:])), "CPU seconds": float(np.median(cpus[1:]))}


def markdown(document: Document) -> str:
    """Return the table, one line per shape and learner."""
    lines = [["rows", "learner", "seconds", "CPU seconds"]]
    for (shape,), methods in figures_by(document["rows"], "shape").items():
        for method, figures in methods.items():
            lines.append([shape, method, f"{figures['seconds']:.2f}", f"{figures['CPU seconds']:.2f}"])
    beside = document["settings"]["busy"]
    load = f"Beside {beside} other busy processes." if beside else "With no other process of the benchmark."
    return f"# Seconds to fit\n\n{load} Medians of {document['settings']['repeats']} fits.\n\n{table(lines)}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="SHAPE", help="rows")
    parser.add_argument(
        "--learners", nargs="+", choices=METHODS, default=list(METHODS), metavar="LEARNER", help="specs"
    )
    parser.add_argument("--repeats", type=positive, default=3, help="fits that are counted")
    parser.add_argument("--busy", type=int, default=0, help="other processes that compute meanwhile")


BENCHMARK = Benchmark("learner-speed", __doc__, _arguments, measure, markdown)
