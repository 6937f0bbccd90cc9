"""Time, memory and exactness of quadruplet-wise metrics: every form from many quadruplets.

Rows are standard normal. A metric on 50 of their columns, of weights 1, 1/2, 1/3 and so on, orders random quadruplets,
of which 5 % are turned round. Every fit runs in a process of its own with one thread; a long run, whose tolerance is
far smaller, says how far above its objective the fit ended, beside the bound that the fit itself knows.
"""

import argparse
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.headlines import stated
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import figures_by, rows_with, table
from benchmarks.frame.workers import alone
from crossview.engine.learners.papers.losses.contrasts import SignedContrasts
from crossview.engine.learners.papers.metrics.qwise import QuadrupletWise
from crossview.engine.learners.papers.solvers.newton import Newton, VectorProblem, minimize

COLUMNS, FLIPPED = 50, 0.05
VECTOR = "vector, huber"
METHODS: Mapping[str, Mapping[str, Any]] = {
    VECTOR: {},
    "diagonal, huber": {"form": "diagonal", "loss": "huber"},
    "diagonal, structural": {"form": "diagonal", "loss": "structural"},
    "full, structural": {"form": "full", "loss": "structural"},
    "full, hinge": {"form": "full", "loss": "hinge"},
}
"""Settings by name; the vector form orders differences of scores, w . (x_k - x_l) >= w . (x_i - x_j) + 1."""


@dataclass(frozen=True)
class Size:
    """How much is learned from, and at what weight."""

    quadruplets: int
    rows: int
    width: int
    weight: float
    seed: int


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every method."""
    size = Size(options.quadruplets, options.rows, options.width, options.weight, options.seed)
    rows: list[dict[str, Any]] = []
    for method in options.methods:
        figures = alone(_fit, method, size, options.tol, 500, threads=1)
        if options.long_tol:
            least = alone(_fit, method, size, options.long_tol, options.long_steps, threads=1)
            figures["above the long run"] = figures["objective"] / least["objective"] - 1
            figures["seconds of the long run"] = least["seconds"]
        text = ", ".join(f"{metric} {value:.4g}" for metric, value in figures.items())
        Console(stderr=True).print(f"{method}: {text}", highlight=False)
        rows += [{"method": method, "metric": metric, "value": value} for metric, value in figures.items()]
    names = ("quadruplets", "rows", "width", "weight", "seed", "tol", "long_tol", "long_steps")
    return {"settings": {name: getattr(options, name) for name in names}, "rows": rows}


def draw(size: Size, signed: bool) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return (m, d) rows and (n, 4) quadruplets, ordered by differences of one score where ``signed``."""
    generator = np.random.default_rng([size.seed, size.width])
    rows = generator.normal(size=(size.rows, size.width)) / np.sqrt(size.width)
    weights = 1 / np.arange(1, min(COLUMNS, size.width) + 1)
    informative = rows[:, : len(weights)]
    items = generator.integers(size.rows, size=(size.quadruplets, 4))
    items = items[(items[:, 0] != items[:, 1]) & (items[:, 2] != items[:, 3])]
    if signed:
        near, far = ((informative[a] - informative[b]) @ weights for a, b in (items.T[:2], items.T[2:]))
    else:
        informative = informative * np.sqrt(weights)
        near, far = (np.square(informative[a] - informative[b]).sum(axis=1) for a, b in (items.T[:2], items.T[2:]))
    turned = (near > far) != (generator.random(len(items)) < FLIPPED)
    return rows, np.where(turned[:, None], items[:, [2, 3, 0, 1]], items)


def _fit(method: str, size: Size, tol: float, steps: int) -> dict[str, float]:
    rows, items = draw(size, method == VECTOR)
    began = time.perf_counter()
    if method == VECTOR:
        costs = np.full(len(items), size.weight / len(items))
        contrasts = SignedContrasts(rows, items[:, :2], items[:, 2:])
        problem = VectorProblem(contrasts, np.ones(len(items)), costs, nonnegative=False)
        solution = minimize(problem, Newton(tol=tol, max_iter=steps))
        figures = {"objective": solution.objective, "steps": float(solution.steps), "gap": solution.gap}
    else:
        learner = QuadrupletWise(C=size.weight, tol=tol, max_iter=steps, **METHODS[method])
        learner.fit_tuples(items, preprocessor=rows)
        figures = {"objective": learner.objective_[0], "steps": float(learner.steps_[0]), "gap": learner.gap_[0]}
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["gap"] /= figures["objective"]
    return {"seconds": seconds, "peak memory, MiB": peak, **figures, "loss at zero": size.weight}


def markdown(document: Document) -> str:
    """Return the table, a line per method."""
    settings = document["settings"]
    lines = [["form", "seconds", "peak memory, MiB", "steps", "above the minimum, %", "above the long run, %"]]
    for (method,), methods in figures_by([{**row, "form": row["method"]} for row in document["rows"]], "form").items():
        figures = methods[method]
        bounds = [f"{100 * figures[name]:.2f}" if name in figures else "-" for name in ("gap", "above the long run")]
        spent = [
            f"{figures[name]:.{digits}f}" for name, digits in (("seconds", 1), ("peak memory, MiB", 0), ("steps", 0))
        ]
        lines.append([method, *spent, *bounds])
    intro = (
        f"{settings['quadruplets']:,} quadruplets of {settings['rows']:,} rows of {settings['width']} columns, C = "
        f"{settings['weight']:g}, one thread, tolerance {settings['tol']:g}. Memory is that of the process, data "
        "included. Each form computes a bound of its distance from the minimum."
    )
    return f"# Quadruplet-wise metrics from many quadruplets\n\n{intro}\n\n{table(lines)}"


def plot(path: Path, document: Document) -> None:
    """Draw seconds and peak memory of every form."""
    with panels(path, 1, 2, (10, 3.5)) as figure:
        for axis, metric in zip(figure.axes, ("seconds", "peak memory, MiB"), strict=True):
            points = [(row["method"], row["value"]) for row in rows_with(document["rows"], metric=metric)]
            axis.barh(*zip(*points, strict=True))
            axis.set_xlabel(metric)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--quadruplets", type=positive, default=1_000_000)
    parser.add_argument("--rows", type=positive, default=10_000)
    parser.add_argument("--width", type=positive, default=512, help="columns")
    parser.add_argument("--weight", type=float, default=1e5, help="C")
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--long-tol", type=float, default=1e-4, help="tolerance of the long run; 0: none")
    parser.add_argument("--long-steps", type=positive, default=2_000, help="most steps of the long run")
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark(
    "qwise-speed",
    __doc__,
    _arguments,
    measure,
    markdown,
    plot,
    "time and memory",
    headline=stated(
        "Learn a metric from 1,000,000 quadruplets, one thread: s",
        "{0:.1f} (vector), {1:.1f} (full, hinge)",
        "",
        {"method": "vector, huber", "metric": "seconds"},
        {"method": "full, hinge", "metric": "seconds"},
    ),
)
