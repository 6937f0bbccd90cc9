"""Figure 5 of Zhang, Maji and Tomioka (2015): what sharing gains, by how consistent the notions are.

    python -m benchmarks joint-consistency --json OUT [--data DIR] [--trials N] [--report DIR]

Consistency is the share of random triplets that two notions order equally, the mean over all pairs of notions. The gain
is the share by which the area under the triplet error is smaller than that of independent embeddings.

Sets are those of the other benchmarks of notions, faces where DIR holds ``pubfig_relattr.npz``, and a family in which
consistency is chosen: five notions have four normal coordinates in common, which are a share of every squared distance,
and four of their own each.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Benchmark, numbers, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import run_trials
from benchmarks.joint import consistency_report as report
from benchmarks.joint import tables
from benchmarks.joint.methods import FOLDS, SOLVING, Method
from benchmarks.joint.objects import GRIDS
from benchmarks.joint.sets import SYNTHETIC, Notions, faces, partly_shared

SHARES = (0, 30, 60, 85)
"""Per cent of a squared distance that notions have in common."""
ENOUGH = 600
"""Held-out triplets that choose a weight."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: a trial is of a set and a seed."""
    settings = {
        "seeds": list(seeds_of(options)),
        "budgets": options.budgets,
        "dimensions": options.width,
        "shares": options.shares,
        "grids": GRIDS,
        "test triplets of a notion": tables.TEST,
        "folds": FOLDS,
        "held-out triplets that choose": ENOUGH,
        "solver": {"tol": SOLVING.tol, "max_iter": SOLVING.max_iter},
        "workers": options.workers,
    }
    sets: dict[str, Callable[[int], Notions]] = dict(SYNTHETIC)
    if options.data:
        sets["faces"] = partial(faces, folder=options.data)
    sets |= {report.of_share(share): partial(partly_shared, share / 100) for share in options.shares}
    tasks = {f"{name}, seed {seed}": (name, load, seed) for name, load in sets.items() for seed in seeds_of(options)}
    trials = run_trials(options, settings, tasks, run, options.budgets, options.width, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials, settings), "trials": trials}


def run(task: tuple[str, Callable[[int], Notions], int], budgets: Sequence[int], width: int) -> dict[str, Any]:
    """Return the consistency of a set, and the errors of every method by number of triplets."""
    name, load, seed = task
    notions = load(seed)
    methods = [Method(sharing, width, grid, ENOUGH) for sharing, grid in GRIDS.items()]
    found = tables.curves(notions, methods, budgets, seed)
    return {"set": name, "seed": seed, "consistency": tables.consistency(notions, seed), "curves": found}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help="folder with pubfig_relattr.npz; without it there are no faces")
    trial_arguments(parser, trials=5)
    parser.add_argument("--budgets", type=_budgets, default=(1_000, 3_000, 10_000), help="numbers of triplets")
    parser.add_argument("--width", type=positive, default=10, help="dimensions of the embeddings")
    parser.add_argument("--shares", type=_shares, default=SHARES, help="per cent that notions have in common")


def _budgets(text: str) -> tuple[int, ...]:
    found = numbers(text)
    if len(found) < 2:
        raise argparse.ArgumentTypeError(f"there is no area under the error at {text} alone: name two numbers or more")
    return found


def _shares(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


BENCHMARK = Benchmark(
    "joint-consistency",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "gain of sharing by consistency",
)
