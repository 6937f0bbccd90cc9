"""Kinds of information: few, missing, wrong and no labels, pairs of similar items, items that lack views.

Random 80/20 splits of photographs (corel1k, merged20), of Wikipedia's images and texts, of faces (pubfig) and of spoken
letters (isolet). The seed draws at most 1,000 training items with supervision: every method learns from
that, each at its own defaults, and held-out items ask each other across the views.
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Benchmark, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.information import report
from benchmarks.information.kinds import KINDS
from benchmarks.information.trial import METHODS, MOST_ITEMS, SETTINGS, run
from benchmarks.unseen.data import LOADERS, load

SETS = ("corel1k", "merged20", "wikipedia", "pubfig", "isolet")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets and seeds."""
    seeds, cache = seeds_of(options), cache_folder(options)
    for name in options.sets:
        load(name, options.data, cache)  # described once, before trials in several processes need it
    methods = {name: [method.spec, dict(SETTINGS.get(name, {}))] for name, method in METHODS.items()}
    settings = {"seeds": list(seeds), "methods": methods, "kinds": list(KINDS), "most_items": MOST_ITEMS}
    settings["workers"] = options.workers
    tasks = {f"{name} seed {seed}": (name, seed) for seed in seeds for name in options.sets}
    trials = run_trials(options, settings, tasks, run, options.data, cache)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def _arguments(parser: argparse.ArgumentParser) -> None:
    names = [name for name in LOADERS if name in SETS]
    parser.add_argument("--data", required=True, type=Path, help="folder of the sets")
    parser.add_argument("--sets", nargs="+", choices=names, default=names, help="which of them")
    trial_arguments(parser, trials=5)


BENCHMARK = Benchmark("information", __doc__, _arguments, measure, report.markdown, headline=report.headline)
