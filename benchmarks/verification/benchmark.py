"""Verification of pairs after Law, Thome and Cord (CVPR 2014), tables 2 to 4 and figure 2, on stand-ins for LFW.

    python -m benchmarks verification --data DIR [--json OUT] [--report DIR]

DIR holds ``kinfacew_I`` (pairs of faces, kin or not, in five given folds for each of four relations) and folders of
images by class, ``merged20`` and ``corel1k``, of which pairs of the same and of different classes are drawn; the
classes of the test are unseen in training. All settings and thresholds are chosen in the training part: with folds of
its classes (of kinfacew_I, its given folds) in turn unseen. Features of the images are computed once and cached in
OUT.cache.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.frame.benchmark import Benchmark, MissingDataError, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.photographs import photographs
from benchmarks.verification import methods, product, report
from benchmarks.verification.data import FOLDS, KINSHIP, TRAIN_SHARE, Trial, kinship, unseen
from benchmarks.verification.trial import COUNTS, ITERATED, ITERATIONS, MUS, THINNED, Bench

CLASSES = ("merged20", "corel1k")


@dataclass(frozen=True)
class Task:
    """The work of one process: a trial of one data set."""

    options: argparse.Namespace
    cache: Path
    kind: str
    which: int
    """The seed, or the position among the given folds."""
    curves: bool

    def trial(self) -> Trial:
        """Return the data of the trial."""
        data = self.options.data / self.kind
        if self.kind == KINSHIP:
            return kinship(data)[self.which]
        return unseen(data, self.cache, self.which, self.options.pairs)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets."""
    settings = _settings(options)
    tasks = {f"{task.kind} {task.which}": task for task in _tasks(options)}
    trials = run_trials(options, settings, tasks, run)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def run(task: Task) -> dict[str, Any]:
    """Return the figures of all methods on one trial, and, where asked for, the curves."""
    began = time.perf_counter()
    trial = task.trial()
    bench = Bench.of(trial, task.options.variance)
    selection = [method for method in methods.METHODS if method.name in task.options.methods]
    euclidean, learned = (
        [method for method in selection if (method.name == methods.EUCLID) == first] for first in (True, False)
    )
    figures = Bench.of(trial, None).run(euclidean)
    figures |= bench.run([method for method in learned if method.name != methods.ITML or peers.available()])
    if trial.classes is not None and product.REFIT in task.options.methods:
        settings = figures[methods.FANTOPE]["settings"]
        figures |= product.through_the_product(trial, settings, task.options.variance)
    result = {"set": task.kind, "which": task.which, "trial": trial.name, "methods": figures}
    result |= {"columns": bench.outer.rows.shape[1]}
    result |= {"train": len(trial.outer.fit.alike), "test": len(trial.outer.check.alike)}
    if task.curves:
        result["iterations"] = bench.iterations(figures, ITERATIONS)
        result["weights"] = bench.weights(figures, MUS)
        result["amounts"] = bench.amounts(figures, [*COUNTS, task.options.pairs])
    return {**result, "seconds": time.perf_counter() - began}


def _tasks(options: argparse.Namespace) -> list[Task]:
    """Return the trials, once the features that they share are cached; MissingDataError names a missing data set."""
    cache = cache_folder(options)
    tasks = []
    try:
        for kind in options.sets:
            if kind == KINSHIP:
                which: Sequence[int] = range(len(kinship(options.data / kind)))[: options.kin]
            else:
                photographs(options.data / kind, cache)
                which = seeds_of(options)
            curves = 0 if kind == KINSHIP or not {*ITERATED, *THINNED} <= {*options.methods} else options.curves
            tasks += [Task(options, cache, kind, number, place < curves) for place, number in enumerate(which)]
    except MissingDataError as error:
        message = f"--data {options.data} lacks a data set: {error}; --sets names those to run on"
        raise MissingDataError(message) from None
    return tasks


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "seeds": list(seeds_of(options)),
        **{name: getattr(options, name) for name in ("sets", "methods", "pairs", "variance")},
        "upper": methods.UPPER,
        "lower": methods.LOWER,
        "share of classes in training": TRAIN_SHARE,
        "folds of the training classes": FOLDS,
        "grids": {method.name: list(method.grid(_Anything())) for method in methods.METHODS},
        "ITML's rounds": methods.ROUNDS,
        "ITML ran": peers.available(),
        "workers": options.workers,
    }


class _Anything(dict[str, Any]):
    """Stands for what was chosen for earlier methods, where a grid starts from it."""

    def __missing__(self, name: str) -> dict[str, Any]:
        return {"chosen for": name}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=[*CLASSES, KINSHIP], choices=[*CLASSES, KINSHIP])
    every = [*(method.name for method in methods.METHODS), product.REFIT]
    parser.add_argument(
        "--methods",
        nargs="+",
        default=every,
        choices=every,
        help="the Fantope and what others need among them",
    )
    parser.add_argument("--kin", type=int, default=20, help="how many of kinfacew_I's 20 trials, a relation and a fold")
    parser.add_argument("--pairs", type=int, default=4_000, help="pairs to learn from, and to test on")
    parser.add_argument("--variance", type=float, default=0.9, help="share that the principal components keep")
    parser.add_argument(
        "--curves", type=int, default=3, help="how many seeds of a set also show what iterations, mu and pairs change"
    )
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark(
    "verification",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "rank and accuracy against mu, accuracy against iterations",
    report.headline,
)
