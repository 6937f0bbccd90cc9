"""Table 1 of Zhang, Maji and Tomioka (2015): spoken letters, with a metric for each group of speakers.

    python -m benchmarks isolet --data DIR --json OUT [--parts 3] [--trials N] [--report DIR]

DIR holds ``isolet_g1_g5.npz``: the first and the last of ISOLET's five groups of 30 speakers, which are two tasks; with
``--parts 3`` each is three, of ten speakers whose mean rows are alike. Rows are reduced to the principal components
with 99 per cent of their variance. Every run divides each task again, 60 per cent to train on, 20 to choose settings by
and 20 to test with: the share of these that their three nearest training rows give another letter.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.frame.benchmark import Benchmark, positive, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.isolet import report
from benchmarks.isolet.data import NEIGHBORS, SHARES, VARIANCE, Letters, divide, read
from benchmarks.isolet.methods import METHODS, PEER, measure


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all divisions."""
    letters = read(options.data, options.parts)
    names = [name for name in options.methods or METHODS if name != PEER or peers.available()]
    settings = {
        "seeds": list(seeds_of(options)),
        "rows": len(letters.rows),
        "columns": letters.rows.shape[1],
        "variance": VARIANCE,
        "tasks": np.bincount(letters.tasks).tolist(),
        "shares": SHARES,
        "neighbors": NEIGHBORS,
        "grids": {name: METHODS[name].grid for name in names},
        "workers": options.workers,
    }
    trials = run_trials(options, settings, by_seed(seeds_of(options)), run, letters, names, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def run(seed: int, letters: Letters, names: Sequence[str]) -> dict[str, Any]:
    """Return the figures of the named methods on one division."""
    began = time.perf_counter()
    division = divide(letters, seed)
    methods = {name: measure(METHODS[name], division) for name in names}
    return {"seed": seed, "methods": methods, "seconds": time.perf_counter() - began}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with isolet_g1_g5.npz")
    parser.add_argument("--parts", type=positive, default=1, help="tasks that each group of speakers is cut into")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="only these")
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark("isolet", __doc__, _arguments, measure_all, report.markdown, headline=report.headline)
