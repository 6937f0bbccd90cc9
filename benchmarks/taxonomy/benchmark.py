"""Metrics that respect a tree of classes, after Law, Thome and Cord (IJCV 2017), tables 4 to 6, on other data.

    python -m benchmarks taxonomy --data DIR [--json OUT] [--speakers 12,30] [--trials N] [--report DIR]

DIR holds ``isolet_g1_g5``, letters spoken by 60 people, and the photographs ``merged20`` and ``merged10``. The trees
are letters by the sound of their names, and photographs by kind. Letters are learned from so many speakers, once for
each number, and tested on 30 others; of every class of photographs 60 per cent are learned from. Rows are the principal
components with 95 per cent of the training rows' variance, of photographs of three views together. All settings are
chosen by hierarchical accuracy in three folds of the training part, which for letters part no speaker. Photographs are
described once and cached in OUT.cache. ``--methods`` may name regularisers of equation (8), for full metrics from
quadruplets by the tree and pairs by the classes together.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Benchmark, MissingDataError, numbers, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.photographs import photographs
from benchmarks.taxonomy import report
from benchmarks.taxonomy.data import (
    FOLDERS,
    FOLDS,
    LETTERS,
    PHOTOGRAPHS,
    TEST_SPEAKERS,
    TRAIN_SHARE,
    VARIANCE,
    Trial,
    letters,
    pictures,
)
from benchmarks.taxonomy.methods import DRAWN, EVERY, METHODS, NEIGHBORS, PENALTIES, measure

FOLDER = "isolet_g1_g5"
MOST_SPEAKERS = 60 - TEST_SPEAKERS


@dataclass(frozen=True)
class Task:
    """A trial of one set."""

    data: Path
    cache: Path
    seed: int
    speakers: int
    """Number of letters; 0: photographs."""

    @property
    def set(self) -> str:
        """The training data."""
        return f"{LETTERS} of {self.speakers} speakers" if self.speakers else PHOTOGRAPHS

    def trial(self) -> Trial:
        """Return its data."""
        if self.speakers:
            return letters(self.data / FOLDER, self.seed, self.speakers)
        return pictures(self.data, self.cache, self.seed)


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets."""
    if max(options.speakers) > MOST_SPEAKERS:
        raise SystemExit(f"--speakers: letters are learned from at most {MOST_SPEAKERS} speakers")
    names = options.methods or list(METHODS)
    settings = {
        "seeds": list(seeds_of(options)),
        "sets": options.sets,
        "speakers": list(options.speakers),
        "variance": VARIANCE,
        "test speakers": TEST_SPEAKERS,
        "training share": TRAIN_SHARE,
        "folds": FOLDS,
        "neighbors": NEIGHBORS,
        "penalties": PENALTIES,
        "drawn": DRAWN,
        "grids": {name: EVERY[name].grid for name in names},
        "workers": options.workers,
    }
    tasks = {f"{task.set}, seed {task.seed}": task for task in _tasks(options)}
    trials = run_trials(options, settings, tasks, run, names, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def run(task: Task, names: Sequence[str]) -> dict[str, Any]:
    """Return the figures of the named methods on one trial."""
    began = time.perf_counter()
    trial = task.trial()
    results: dict[str, Any] = {}
    for name in names:
        before = results.get(EVERY[name].after)
        results[name] = measure(EVERY[name], trial, before["settings"] if before else {})
    sizes = {"train": len(trial.outer.rows), "test": len(trial.outer.queries), "columns": trial.outer.rows.shape[1]}
    return {"set": task.set, "seed": task.seed, **sizes, "methods": results, "seconds": time.perf_counter() - began}


def _tasks(options: argparse.Namespace) -> list[Task]:
    """Return the trials, once the photographs that they share are described."""
    cache, counts = cache_folder(options), list(options.speakers) if LETTERS in options.sets else []
    if PHOTOGRAPHS in options.sets:
        try:
            for folder in FOLDERS:
                photographs(options.data / folder, cache)
        except MissingDataError as error:
            raise MissingDataError(f"--data {options.data} lacks photographs: {error}; see --sets") from None
        counts.append(0)
    return [Task(options.data, cache, seed, count) for seed in seeds_of(options) for count in counts]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=[LETTERS, PHOTOGRAPHS], choices=[LETTERS, PHOTOGRAPHS])
    parser.add_argument("--speakers", type=numbers, default=(12, 30), help="how many speakers letters are learned from")
    parser.add_argument("--methods", nargs="+", choices=list(EVERY), help="these [default: the paper's]")
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark("taxonomy", __doc__, _arguments, measure_all, report.markdown, headline=report.headline)
