"""Memory and time of a training through a collection, against the number of items.

``python -m benchmarks train-memory [--json OUT] [--sizes 2000,100000]``

An item of one of 100 classes is a point near its class's centre in 40 dimensions. Two views, of 128 and 64 columns,
show it by random linear maps with noise. Every training runs in a process of its own, so that its peak memory is its
own; it contains reading the rows, learning, placing every item, and storing. The accuracy is the mAP by class across
the views, of items that the space has not learned from.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.frame.benchmark import Benchmark, Document, numbers
from benchmarks.frame.tables import figures_by, table
from benchmarks.frame.workers import alone
from crossview.engine.collections.home import Home
from crossview.engine.values.evaluation import EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import DEFAULT, Recipe

SIZES = (2_000, 10_000, 50_000, 100_000)
CLASSES, LATENT, WIDTHS, SPREAD = 100, 40, {"first": 128, "second": 64}, 1.6
_COLUMNS = (
    "learned from",
    "seconds",
    "processor seconds",
    "estimated seconds",
    "peak memory, MiB",
    "estimated memory, MiB",
)
_AT_ONCE = 5_000
_QUERIES = 500


@dataclass(frozen=True)
class Method:
    """A training: a learner, and the share of the items that have a label."""

    spec: str
    labelled: float


METHODS: Mapping[str, Method] = {
    "labels": Method(DEFAULT, 1.0),
    "labels in part": Method(DEFAULT, 0.5),
    "few labels": Method(DEFAULT, 0.1),
    "no labels": Method(DEFAULT, 0.0),
    "codes": Method("npp-hash", 1.0),
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, and rows of every size and method."""
    rows: list[dict[str, Any]] = []
    for size in options.sizes:
        for name in options.methods:
            with tempfile.TemporaryDirectory(prefix="crossview-training-") as folder:
                alone(_import, Path(folder), size, METHODS[name].labelled, options.seed)
                figures = alone(_train, Path(folder), METHODS[name].spec, options.seed, threads=options.threads)
                if METHODS[name].labelled:
                    figures |= alone(_evaluate, Path(folder), threads=options.threads)
            text = ", ".join(f"{metric} {value:.4g}" for metric, value in figures.items())
            Console(stderr=True).print(f"{size:,} items, {name}: {text}", highlight=False)
            rows += [{"method": name, "items": size, "metric": m, "value": v} for m, v in figures.items()]
    settings = {"sizes": list(options.sizes), "seed": options.seed, "threads": options.threads, "classes": CLASSES}
    return {"settings": settings | {"widths": WIDTHS}, "rows": rows}


def _import(home: Path, count: int, labelled: float, seed: int) -> None:
    shared, generator = np.random.default_rng(0), np.random.default_rng(seed)
    centers = shared.normal(size=(CLASSES, LATENT))
    maps = {view: shared.normal(size=(LATENT, width)) / np.sqrt(LATENT) for view, width in WIDTHS.items()}
    with Home(home).create("items") as collection:
        for view, width in WIDTHS.items():
            collection.views.add(f"{view}=vectors:dim={width}")
        for start in range(0, count, _AT_ONCE):
            classes = generator.integers(CLASSES, size=min(_AT_ONCE, count - start))
            has_label = generator.random(len(classes)) < labelled
            points = centers[classes] + SPREAD * generator.normal(size=(len(classes), LATENT))
            rows = {view: points @ matrix for view, matrix in maps.items()}
            rows = {
                view: (values + generator.normal(size=values.shape)).astype(np.float32) for view, values in rows.items()
            }
            collection.items.put(
                [
                    NewItem(
                        f"{start + number:07}",
                        labels=(f"class {classes[number]}",) if has_label[number] else (),
                        rows={view: values[number] for view, values in rows.items()},
                    )
                    for number in range(len(classes))
                ]
            )


def _train(home: Path, spec: str, seed: int) -> dict[str, float]:
    with Home(home).open("items") as collection:
        began, processors = time.perf_counter(), time.process_time()
        space = collection.train(Recipe(spec=spec, views=tuple(WIDTHS), seed=seed), space="trained")
        seconds, processors = time.perf_counter() - began, time.process_time() - processors
    figures = {"seconds": seconds, "processor seconds": processors, "learned from": space.trained_items}
    if space.cost is not None:
        figures |= {"estimated seconds": space.cost.seconds, "estimated memory, MiB": space.cost.memory / (1 << 20)}
    return figures | {"peak memory, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _evaluate(home: Path) -> dict[str, float]:
    first, second = WIDTHS
    with Home(home).open("items") as collection:
        if collection.spaces.get("trained").trained_items == collection.count():
            return {}
        evaluation = collection.evaluate(
            EvaluationRequest(view=first, targets=(second,), spaces=("trained",), max_queries=_QUERIES)
        )
    return {"mAP": next(row.value for row in evaluation.rows if row.metric == "map")}


def markdown(document: Document) -> str:
    """Return the table, one line for each number of items and method."""
    lines = [["items", "training", *_COLUMNS, "mAP, %"]]
    for (items,), methods in figures_by(document["rows"], "items").items():
        for method, figures in methods.items():
            cells = [f"{figures[name]:,.0f}" if name in figures else "" for name in _COLUMNS]
            lines.append([f"{items:,}", method, *cells, f"{100 * figures['mAP']:.1f}" if "mAP" in figures else ""])
    return f"# Memory and time of a training against the number of items\n\n{table(lines)}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=numbers, default=SIZES, help="numbers of items, such as 1000,10000")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)


BENCHMARK = Benchmark("train-memory", __doc__, _arguments, measure, markdown)
