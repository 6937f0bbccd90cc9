"""Kinds of information: few, wrong, partial and no labels, and pairs of similar items.

Random 80/20 splits of the sets of ``benchmarks/sets``. The seed draws at most 600 training items with supervision:
every method learns from that, and at most 500 held-out items ask each other across the views. The default is what the
product chooses for each kind. Rivals, of scikit-learn and of papers, choose their settings inside the training items.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Benchmark, seeds_of, trial_arguments
from benchmarks.frame.databases import UNSEEN
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.information import report
from benchmarks.information.kinds import KINDS, STANDARD, known
from benchmarks.information.methods import DEFAULT, METHODS, Method, Rival, default_for
from benchmarks.rivals.known import Known
from benchmarks.sets.named import DEVELOPMENT, DIVISION, load, sets_argument, sets_of
from benchmarks.sets.split import Split
from benchmarks.unseen.trial import retrieved

MOST_ITEMS, MOST_QUERIES = 600, 500
"""Items that are learned from, and held-out items; drawn by chance where there are more."""

Figures = list[tuple[str, str, float]]
"""Database, metric and value."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all sets and seeds."""
    seeds, cache = seeds_of(options), cache_folder(options)
    for name in sets_of(options):
        load(name, options.data, cache)  # described once, before trials in several processes need it
    settings = {
        "seeds": list(seeds),
        "methods": {name: method.spec for name, method in METHODS.items()},
        "kinds": options.kinds,
        "most_items": MOST_ITEMS,
        "most_queries": MOST_QUERIES,
        "looks": DIVISION["looks"],
        "workers": options.workers,
    }
    tasks = {f"{name} seed {seed}": (name, seed, options.kinds) for seed in seeds for name in sets_of(options)}
    trials = run_trials(options, settings, tasks, run, options.data, cache)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, type=Path, help="folder of the sets")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(STANDARD), help="kinds of information")
    sets_argument(parser, DEVELOPMENT)
    trial_arguments(parser, trials=3)


def run(task: tuple[str, int, list[str]], data: Path, cache: Path) -> dict[str, Any]:
    """Return the figures of all methods on one split, each [kind, method, database, metric, value]."""
    name, seed, kinds = task
    began = time.monotonic()
    split = drawn(load(name, data, cache)(seed), seed)
    figures, of_views = [], {}
    for kind in kinds:
        supervision = known(kind, split, split.train, seed)
        alike: dict[str, Figures] = {}  # methods by what they learn, because the default is one of its parts
        for title, method in {DEFAULT: default_for(supervision), **METHODS}.items():
            key = f"{supervision.mask.tobytes()!r} {method.spec}"
            if method.of_views and key not in of_views:
                of_views[key] = list(measured(method, supervision, split))
            if method.spec not in alike:
                alike[method.spec] = of_views[key] if method.of_views else list(measured(method, supervision, split))
            figures += [[kind, title, *figure] for figure in alike[method.spec]]
    sizes = len(split.train), len(split.held_out)
    return {"data": name, "seed": seed, "sizes": sizes, "figures": figures, "seconds": time.monotonic() - began}


def drawn(split: Split, seed: int) -> Split:
    """Return the drawn training items and held-out items of a split, alone."""
    draw = np.random.default_rng(seed)
    parts = ((split.train, MOST_ITEMS), (split.held_out, MOST_QUERIES))
    items, queries = (np.sort(draw.permutation(part)[:most]) for part, most in parts)
    both = np.concatenate([items, queries])
    return replace(
        split,
        rows={name: rows[both] for name, rows in split.rows.items()},
        labels=split.labels[both],
        train=np.arange(len(items)),
        held_out=np.arange(len(items), len(both)),
        groups=None if split.groups is None else split.groups[both],
    )


def measured(method: Method | Rival, supervision: Known, split: Split) -> Iterator[tuple[str, str, float]]:
    """Yield database, metric and value of a method; nothing where it cannot learn from what is given."""
    began = time.perf_counter()
    views = zip(split.rows.values(), supervision.mask.T, strict=True)
    rows = [np.where(present[:, None], view[split.train], np.nan) for view, present in views]
    try:
        chain = method.fitted(rows, supervision)
    except ValueError:
        return
    if chain is None:
        return
    yield "", report.SECONDS, time.perf_counter() - began
    figures: dict[str, list[float]] = {}
    for database, query, target, metric, value in retrieved(chain, split):
        if database == UNSEEN and query != target and metric in beside.TITLES:
            figures.setdefault(report.ACROSS if metric == beside.MAP else metric, []).append(value)
    yield from ((UNSEEN, metric, float(np.mean(values))) for metric, values in figures.items())


BENCHMARK = Benchmark("information", __doc__, _arguments, measure, report.markdown, headline=report.headline)
