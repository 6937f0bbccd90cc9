"""The speed of learning joint metrics: 100,000 triplets of 1,000 objects, and a million of rows with features.

Both have six notions. The objective of the objects is compared with the best of three long runs from other starts. Rows
have 512 columns; each notion orders them by ten random directions.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, Document, positive
from benchmarks.frame.record import usable_cores
from benchmarks.frame.tables import table
from benchmarks.joint.data import synthetic, triplets
from benchmarks.joint.notion_measures import triplet_error
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.papers.joint.joint import JointMetrics
from crossview.engine.learners.papers.joint.joint_fit import JointSettings, Start
from crossview.engine.learners.papers.joint.joint_objects import JointObjects

NOTIONS, COLUMNS, DIRECTIONS = 6, 512, 10
LONG: Sequence[tuple[Start, int, int]] = (("slopes", 0, 20), ("random", 1, 0), ("random", 2, 20))
"""Starts, seeds and spare columns of the long runs."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings and rows."""
    settings = {name: getattr(options, name) for name in ("objects", "triplets", "dim", "rows", "row_triplets")}
    rows = _of_objects(options) + _of_rows(options)
    return {"settings": {**settings, "cores": usable_cores()}, "rows": rows}


def _of_objects(options: argparse.Namespace) -> list[dict[str, Any]]:
    objects = synthetic("uniform", options.seed, options.objects)
    train = triplets(objects.views, [options.triplets // NOTIONS] * NOTIONS, np.random.default_rng(options.seed))
    how = JointSettings(n_components=options.dim, alpha=options.alpha)
    began = time.perf_counter()
    learned = JointObjects(how).fit(train, options.objects).learned_
    seconds = time.perf_counter() - began
    best = learned.objective
    for start, seed, spare in LONG[: options.long]:
        long = replace(how, start=start, random_state=seed, spare=spare, tol=1e-8, max_iter=options.long_iter)
        best = min(best, JointObjects(long).fit(train, options.objects).learned_.objective)
    what = f"{options.triplets:,} triplets of {options.objects:,} objects, D = {options.dim}"
    return [
        _row(what, "seconds", seconds),
        _row(what, "iterations", learned.steps),
        _row(what, "objective", learned.objective),
        _row(what, "above the best of the long runs, share", learned.objective / best - 1),
    ]


def _of_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    generator = np.random.default_rng(options.seed)
    rows = generator.normal(size=(options.rows, COLUMNS)) / np.sqrt(np.arange(1, COLUMNS + 1))
    shared = generator.normal(size=(COLUMNS, 3 * DIRECTIONS))
    views = [rows @ shared @ generator.normal(size=(3 * DIRECTIONS, DIRECTIONS)) for _ in range(NOTIONS)]
    train = triplets(views, [options.row_triplets // NOTIONS] * NOTIONS, generator)
    test = triplets(views, [5_000] * NOTIONS, generator)
    learner = JointMetrics(alpha=options.alpha)
    began = time.perf_counter()
    learner.fit([rows], Supervision(comparisons=train))
    seconds = time.perf_counter() - began
    parts = np.split(learner.transform(rows), np.cumsum(learner.metric_widths_[0])[:-1], axis=1)
    of_notions = [test.items[test.notions == name] for name in learner.metric_names_]
    errors = [triplet_error(part, items).value for part, items in zip(parts, of_notions, strict=True)]
    what = f"{options.row_triplets:,} triplets of {options.rows:,} rows of {COLUMNS} columns"
    return [
        _row(what, "seconds", seconds),
        _row(what, "iterations", learner.steps_[0]),
        _row(what, "triplet error, share", float(np.mean(errors))),
    ]


def _row(what: str, metric: str, value: float) -> dict[str, Any]:
    return {"method": "joint", "what": what, "metric": metric, "value": float(value)}


def markdown(document: Document) -> str:
    """Return a table of seconds, objectives and errors."""
    lines = [["what", "figure", "value"]]
    lines += [[row["what"], row["metric"], f"{row['value']:.4g}"] for row in document["rows"]]
    return f"# Speed of joint metrics\n\nSix notions, {document['settings']['cores']} cores.\n\n{table(lines)}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    sizes = {"objects": 1_000, "triplets": 100_000, "dim": 60, "rows": 10_000, "row-triplets": 1_000_000}
    for name, size in {**sizes, "long": 3, "long-iter": 3_000}.items():
        parser.add_argument(f"--{name}", type=positive, default=size, help=f"number of {_COUNTED.get(name, name)}")
    parser.add_argument("--alpha", type=float, default=1e-3, help="weight of the penalties")
    parser.add_argument("--seed", type=int, default=0, help="of the data")


_COUNTED = {
    "dim": "dimensions",
    "row-triplets": "triplets of rows",
    "long": "long runs to compare with",
    "long-iter": "most iterations of a long run",
}
BENCHMARK = Benchmark("joint-speed", __doc__, _arguments, measure, markdown)
