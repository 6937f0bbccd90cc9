"""Items that come later: every learner at its own defaults and tuned rivals, in trained, unseen and mixed databases.

Random 80/20 splits of photographs (corel1k, merged20, osr8), of Wikipedia's images and texts, of faces (pubfig) and of
spoken letters (isolet, halves of its columns as views); speakers and equal pictures stay together. The measure is
the mean average precision of held-out queries in every direction, and how the default compares with the best of the
other learners.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Benchmark, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.sets.named import DEVELOPMENT, DIVISION, load, sets_argument, sets_of
from benchmarks.unseen import report
from benchmarks.unseen.trial import METHODS, run


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets and seeds."""
    seeds = seeds_of(options)
    cache = cache_folder(options)
    for name in sets_of(options):
        load(name, options.data, cache)  # described once, before trials in several processes need it
    methods = {
        name: method if isinstance(method, str) else f"{method.__module__}.{method.__name__}"
        for name, method in METHODS.items()
    }
    settings = {"seeds": list(seeds), "methods": methods, "looks": DIVISION["looks"], "workers": options.workers}
    tasks = {f"{name} seed {seed}": (name, seed) for seed in seeds for name in sets_of(options)}
    trials = run_trials(options, settings, tasks, run, options.data, cache, progress=_progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": report.compared(trials)}


def _progress(trial: Mapping[str, Any]) -> str:
    return f"{trial['seconds']:.0f} s"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    sets_argument(parser, DEVELOPMENT)
    trial_arguments(parser, trials=20)


BENCHMARK = Benchmark(
    "unseen",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    headline=report.headline,
)
