"""Verification of pairs after Law, Thome and Cord (CVPR 2014), tables 2 to 4 and figure 2, on stand-ins for LFW.

    python -m benchmarks verification --data DIR --json OUT [--report DIR]

DIR holds ``kinfacew_I`` (pairs of faces, kin or not, in five given folds for each of four relations) and folders of
images by class, ``merged20`` and ``corel1k``, of which pairs of the same and of different classes are drawn; the
classes of the test are unseen in training. All settings and thresholds are chosen in the training part: with folds of
its classes (of kinfacew_I, its given folds) in turn unseen. What is computed of the images once is kept beside the
output (OUT.cache).
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import peers
from benchmarks.frame.record import record, usable_cores, write_json
from benchmarks.photographs import photographs
from benchmarks.verification import methods, report
from benchmarks.verification.data import FOLDS, KINSHIP, TRAIN_SHARE, Trial, kinship, unseen
from benchmarks.verification.trial import COUNTS, ITERATIONS, MUS, Bench

NAME = "verification"
CLASSES = ("merged20", "corel1k")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """What one process does: a trial of one data set."""

    data: Path
    cache: Path
    kind: str
    which: int
    """The seed, or the position among the given folds."""
    pairs: int
    variance: float
    curves: bool

    def trial(self) -> Trial:
        """Returns the data of the trial."""
        if self.kind == KINSHIP:
            return kinship(self.data / self.kind)[self.which]
        return unseen(self.data / self.kind, self.cache, self.which, self.pairs)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    console = Console(stderr=True)
    began = time.perf_counter()
    tasks = _tasks(options)
    trials = []
    for trial in _trials(tasks, options.workers):
        console.print(f"{trial['set']}, {trial['trial']}: {trial['seconds']:.0f} s", highlight=False)
        trials.append(trial)
    trials.sort(key=lambda trial: (options.sets.index(trial["set"]), trial["which"]))
    document = record(NAME, _settings(options), report.rows(trials))
    document |= {"trials": trials, "seconds": time.perf_counter() - began}
    write_json(options.json, document)
    text = report.markdown(document)
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
    if options.report:
        report.write(options.report, document, text)
    return 0


def run(task: Task) -> dict[str, Any]:
    """Returns the figures of all methods on one trial, and, where asked for, the curves."""
    began = time.perf_counter()
    trial = task.trial()
    bench = Bench.of(trial, task.variance)
    euclidean, *others = [method for method in methods.METHODS if method.name != methods.ITML or peers.available()]
    figures = Bench.of(trial, None).run([euclidean]) | bench.run(others)
    found = {"set": task.kind, "which": task.which, "trial": trial.name, "methods": figures}
    found |= {
        "columns": bench.outer.rows.shape[1],
        "train": len(trial.outer.fit.alike),
        "test": len(trial.outer.check.alike),
    }
    if task.curves:
        found["iterations"] = bench.iterations(figures, ITERATIONS)
        found["weights"] = bench.weights(figures, MUS)
        found["amounts"] = bench.amounts(figures, [*COUNTS, task.pairs])
    return {**found, "seconds": time.perf_counter() - began}


def _tasks(options: argparse.Namespace) -> list[Task]:
    """The trials, after what they share is there; a set that is missing is a SystemExit that says so."""
    cache = options.json.with_name(options.json.name + ".cache")
    tasks = []
    try:
        for kind in options.sets:
            if kind == KINSHIP:
                which: Sequence[int] = range(len(kinship(options.data / kind)))[: options.kin]
            else:
                photographs(options.data / kind, cache)
                which = range(options.first_seed, options.first_seed + options.trials)
            curves = 0 if kind == KINSHIP else options.curves
            fixed = (options.pairs, options.variance)
            tasks += [Task(options.data, cache, kind, one, *fixed, place < curves) for place, one in enumerate(which)]
    except FileNotFoundError as error:
        raise SystemExit(f"--data {options.data} lacks a data set: {error}; --sets names those to run on") from None
    return tasks


def _trials(tasks: Sequence[Task], workers: int) -> Iterator[dict[str, Any]]:
    if workers == 1:
        yield from map(run, tasks)
        return
    # One thread for each process: matrices of a hundred columns gain nothing from more.
    kept = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            for done in as_completed([pool.submit(run, task) for task in tasks]):
                yield done.result()
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "seeds": list(range(options.first_seed, options.first_seed + options.trials)),
        "sets": options.sets,
        "pairs": options.pairs,
        "variance": options.variance,
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


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=[*CLASSES, KINSHIP], choices=[*CLASSES, KINSHIP])
    parser.add_argument("--trials", type=int, default=10, help="number of seeds, of the sets of classes")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kin", type=int, default=20, help="how many of kinfacew_I's 20 trials, a relation and a fold")
    parser.add_argument("--pairs", type=int, default=4_000, help="pairs to learn from, and to test on")
    parser.add_argument("--variance", type=float, default=0.9, help="share that the principal components keep")
    parser.add_argument(
        "--curves", type=int, default=3, help="how many seeds of a set also show what iterations, mu and pairs change"
    )
    parser.add_argument("--workers", type=int, default=usable_cores(), help="processes, a trial each")
    parser.add_argument("--json", type=Path, required=True, help="where to write the figures")
    parser.add_argument("--report", type=Path, help="folder for the Markdown tables and the plot")
    return parser.parse_args(arguments)
