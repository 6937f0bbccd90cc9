"""Figure 4 (c) of Zhang, Maji and Tomioka (2015): a notion that comes later, of which few triplets are known.

Each notion of a set is left out in turn, and the others are learned together from 3,000 triplets each. The left-out one
is then learned from few: over the map of the others, which stays as it is; together with the others from the start; or
by itself.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, numbers, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import run_trials
from benchmarks.joint import newview_report as report
from benchmarks.joint import tables
from benchmarks.joint.methods import ENOUGH, FOLDS, SOLVING, Method, best_of, weights
from benchmarks.joint.people import Triplets, drawn
from benchmarks.joint.sets import SYNTHETIC, Notions
from crossview.engine.learners.comparisons import Comparisons
from crossview.engine.learners.joint.joint_objects import JointObjects
from crossview.engine.learners.view_rows import Rows
from crossview.engine.training.notion_measures import triplet_error

DIMENSIONS, MANY = 10, 3_000
"""Dimension of the embeddings; and triplets of each earlier notion."""
NEW = "new"
FEW = (10, 30, 100, 300, 1_000, 3_000, 10_000)
MAP, ALONE = (3e-2, 1e-2, 3e-3), (1e-1, 1e-2, 1e-3)
"""Weights that are tried: of the others together, and of the notion by itself."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: a trial is of a set and a seed."""
    settings = {
        "seeds": list(seeds_of(options)),
        "sets": options.sets,
        "triplets of the others": options.many,
        "triplets": options.few,
        "dimensions": DIMENSIONS,
        "test triplets": tables.TEST,
        "grids": {"map": MAP, report.INDEPENDENT: ALONE},
        "folds": FOLDS,
        "held-out triplets that choose": ENOUGH,
        "solver": {"tol": SOLVING.tol, "max_iter": SOLVING.max_iter},
        "workers": options.workers,
    }
    tasks = {f"{name}, seed {seed}": (name, seed) for name in options.sets for seed in seeds_of(options)}
    trials = run_trials(options, settings, tasks, run, options.many, options.few, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def run(task: tuple[str, int], many: int, few: Sequence[int]) -> dict[str, Any]:
    """Return the errors of every method by number of triplets, with each notion of a set left out."""
    name, seed = task
    notions = SYNTHETIC[name](seed)
    left_out = [_left_out(notions, place, many, few, seed) for place in range(len(notions.names))]
    return {"set": name, "seed": seed, "notions": left_out}


def _left_out(notions: Notions, place: int, many: int, few: Sequence[int], seed: int) -> dict[str, Any]:
    """Return the errors in one notion, of which the others are known."""
    rest = replace(
        notions,
        names=(*notions.names[:place], *notions.names[place + 1 :]),
        distances=np.delete(notions.distances, place, axis=0),
    )
    others = tables.compared(rest, [many] * len(rest.names), np.random.default_rng([seed, 1, place]))
    method = Method("joint", DIMENSIONS, MAP)
    (alpha, *_) = weights(method, others, notions.count, len(rest.names), seed)
    known = JointObjects(replace(SOLVING, n_components=DIMENSIONS, alpha=alpha)).fit(others, notions.count)
    distances = notions.distances[place]
    own = drawn(distances, max(few), np.random.default_rng([seed, 2, place]))
    test = drawn(distances, tables.TEST, np.random.default_rng([seed, 3, place]))
    curves = []
    for count in few:
        found = _learned(known, others, own[:count], seed)
        curves += [
            {"method": name, "triplets": count, "error": triplet_error(rows, test).value} for name, rows in found
        ]
    return {"notion": notions.names[place], "map": triplet_error(known.common_, test).value, "curves": curves}


def _learned(known: JointObjects, others: Comparisons, few: Triplets, seed: int) -> Iterator[tuple[str, Rows]]:
    """Yield the embedding of the new notion by every method."""
    name, count = f"{len(few)} triplets", len(known.common_)
    yield report.ADDED, known.add_notion(name, Comparisons(few)).embeddings_[name]
    notions = np.concatenate([np.asarray(others.notions), np.full(len(few), NEW)])
    together = Comparisons(np.concatenate([others.items, few]), notions=notions)
    yield report.JOINT, JointObjects(known.how).fit(together, count).embeddings_[NEW]
    yield report.INDEPENDENT, best_of(partial(_alone, count), ALONE, few, seed)[0]


def _alone(count: int, few: Triplets, alpha: float) -> Rows:
    how = replace(SOLVING, n_components=DIMENSIONS, alpha=alpha, sharing="independent")
    return JointObjects(how).fit(Comparisons(few), count).embeddings_[""]


def _arguments(parser: argparse.ArgumentParser) -> None:
    trial_arguments(parser, trials=5)
    parser.add_argument(
        "--sets", nargs="+", choices=list(SYNTHETIC), default=["uniform", "poses"], help="which objects"
    )
    parser.add_argument("--many", type=positive, default=MANY, help="number of triplets of each of the others")
    parser.add_argument("--few", type=numbers, default=FEW, help="numbers of triplets of the new notion")


BENCHMARK = Benchmark(
    "joint-newview",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "error of a new notion by its number of triplets",
)
