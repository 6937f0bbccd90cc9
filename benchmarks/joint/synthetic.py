"""Figures 3, 6 and 7 of Zhang, Maji and Tomioka (2015): embeddings of 200 objects from triplets in six views.

Objects are uniform in a cube of 10 dimensions, or of a mixture of four Gaussians; each view is a projection onto a
random subspace of 2 to 7 dimensions, and orders as many triplets as every other. Joint, independent and pooled
embeddings of 5 and 10 dimensions have the same solver, and their weight is chosen from grids by folds of the training
triplets. The area under the error, over the logarithm of the number of triplets, sums up a curve.

Two further questions, on uniform objects: are 60 shared dimensions better than 10 of each view, of which there are as
many? How do further triplets of one view change errors, in that view and in the others?
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, numbers, seeds_of, trial_arguments
from benchmarks.frame.journal import run_trials
from benchmarks.joint import synthetic_report as report
from benchmarks.joint.data import KINDS, OBJECTS, Synthetic, synthetic, triplets
from benchmarks.joint.methods import ENOUGH, FOLDS, SOLVING, Embedded, Method, tuned
from benchmarks.joint.notion_measures import consistency, neighbor_error

BUDGETS, WIDTHS = (1_000, 3_000, 10_000, 30_000, 100_000), (5, 10)
WIDE, WIDE_BUDGETS = 60, (3_000, 10_000)
ONE_VIEW, ADDED = 3_000, (0, 1_000, 3_000, 10_000)
"""Triplets of all views, and how many more one view has."""
TEST = 5_000
GRIDS: Mapping[str, Sequence[float]] = {
    "joint": (3e-2, 1e-2, 3e-3, 1e-3),
    "independent": (1e-1, 1e-2, 1e-3, 1e-4),
    "pooled": (1e-1, 1e-2, 1e-3, 1e-4),
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: a trial is of a kind of objects and a seed."""
    seeds = list(seeds_of(options))
    settings = {
        "seeds": seeds,
        "objects": OBJECTS,
        "budgets": options.budgets,
        "widths": options.widths,
        "test triplets of a view": TEST,
        "grids": GRIDS,
        "folds": FOLDS,
        "held-out triplets that choose": ENOUGH,
        "solver": {"tol": SOLVING.tol, "max_iter": SOLVING.max_iter},
        "further": options.further == "yes",
    }
    tasks = {f"{kind}, seed {seed}": (kind, seed) for kind in KINDS for seed in seeds}
    trials = run_trials(options, settings, tasks, run, settings, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials, settings), "trials": trials}


def run(task: tuple[Any, int], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the errors of every method by number of triplets, of objects of one kind and seed."""
    kind, seed = task
    objects = synthetic(kind, seed)
    methods = [
        Method(sharing, width, GRIDS[sharing])
        for width in settings["widths"]
        for sharing in ("joint", "independent", "pooled")
    ]
    curves = [_measured(objects, method, budget, seed) for budget in settings["budgets"] for method in methods]
    further: dict[str, Any] = {}
    if settings["further"] and kind == "uniform":
        further = {"wide": _wide(objects, seed), "one view": _one_view(objects, seed)}
    return {"kind": kind, "seed": seed, "consistency": _consistency(objects, seed), "curves": curves, **further}


def _measured(objects: Synthetic, method: Method, budget: int, seed: int, extra: int = 0) -> dict[str, Any]:
    """Return a method's errors in each view, of triplets that are the same for all methods."""
    views = objects.views
    counts = [budget // len(views)] * len(views)
    counts[0] += extra
    train = triplets(views, counts, np.random.default_rng([seed, 1]))
    test = triplets(views, [TEST] * len(views), np.random.default_rng([seed, 2]))
    embedded = tuned(method, train, OBJECTS, len(views), seed)
    return {
        "method": method.name,
        "triplets": budget,
        "errors": embedded.errors(test),
        "neighbor errors": _neighbor_errors(objects, embedded),
        "widths": [rows.shape[1] for rows in embedded.rows],
        "alphas": list(embedded.alphas),
    }


def _neighbor_errors(objects: Synthetic, embedded: Embedded) -> list[float]:
    if not objects.classes.any():
        return []
    return [neighbor_error(rows, objects.classes).value for rows in embedded.rows]


def _wide(objects: Synthetic, seed: int) -> list[dict[str, Any]]:
    """Return errors of joint embeddings of 60 dimensions and of independent ones of 10 in each of six views."""
    methods = Method("joint", WIDE, GRIDS["joint"]), Method("independent", WIDE // 6, GRIDS["independent"])
    return [_measured(objects, method, budget, seed) for budget in WIDE_BUDGETS for method in methods]


def _one_view(objects: Synthetic, seed: int) -> list[dict[str, Any]]:
    """Return errors where the first view has further triplets."""
    methods = [Method(sharing, 10, GRIDS[sharing]) for sharing in ("joint", "independent")]
    return [
        {"added": added, **_measured(objects, method, ONE_VIEW, seed, added)} for added in ADDED for method in methods
    ]


def _consistency(objects: Synthetic, seed: int) -> float:
    """Return the mean share of triplets that two views order equally."""
    items = triplets(objects.views[:1], [TEST], np.random.default_rng([seed, 3])).items
    pairs = [(view, earlier) for place, view in enumerate(objects.views) for earlier in objects.views[:place]]
    return float(np.mean([consistency(*pair, items).value for pair in pairs]))


def _arguments(parser: argparse.ArgumentParser) -> None:
    trial_arguments(parser, trials=5)
    parser.add_argument("--budgets", type=numbers, default=BUDGETS, help="numbers of triplets of all views")
    parser.add_argument("--widths", type=numbers, default=WIDTHS, help="dimensions of the embeddings")
    parser.add_argument("--further", choices=("yes", "no"), default="yes", help="ask the two further questions, too")


BENCHMARK = Benchmark(
    "joint-synthetic",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "error by number of triplets",
    report.headline,
)
