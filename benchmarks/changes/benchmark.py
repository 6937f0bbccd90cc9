"""Section 5 of Law, Thome and Cord (IJCV 2017): which changes of a page matter, learned from time alone.

    python -m benchmarks changes [--json OUT] [--data DIR] [--designs NAME...] [--trials N] [--report DIR]

Pages of several designs are drawn hour by hour for 50 days by a browser (Debian's chromium) and kept in the cache
beside OUT; which of their changes are important is known. Five days are learned from, without labels; the others
judge. The designs and seeds were written down before anything was tuned: those of reported figures are
``benchmarks/changes/designs.py``'s HELD_OUT, with seeds from 0; DEVELOPMENT ones have seeds from 100. With DIR, the
map of a real series, ``webshots/images``, is learned, too.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.changes import report
from benchmarks.changes.designs import DESIGNS, DEVELOPMENT, HELD_OUT
from benchmarks.changes.methods import (
    COUNTS,
    LEARNED,
    OF_EACH_KIND,
    Split,
    by_evidence,
    by_grid,
    by_kind,
    by_labels,
    precisions,
)
from benchmarks.changes.pages import DAYS_TO_LEARN, GRIDS, Page, gist_of, page
from benchmarks.frame.benchmark import Benchmark, MissingDataError, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from crossview.engine.findings.changes.decision import region_distances
from crossview.engine.findings.changes.importance import learn
from crossview.engine.findings.changes.monotony import monotony
from crossview.engine.findings.changes.times import file_timeline
from crossview.features.decode import decode

SERIES = "webshots"
PERIOD = 4.0
"""Versions after which most of the real series has changed."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: the splits of every page, and the map of the real series."""
    splits = list(range(options.trials))
    settings = {
        "designs": list(options.designs),
        "designs tuned on": [design for design in options.designs if design in DEVELOPMENT],
        "seed": options.first_seed,
        "splits": splits,
        "days": DAYS_TO_LEARN,
        "grids": list(GRIDS),
        "labels": list(COUNTS),
        "labels of each kind": list(OF_EACH_KIND),
        "period": PERIOD,
        "workers": options.workers,
    }
    cache = cache_folder(options)
    pages = {design: page(design, options.first_seed, cache) for design in options.designs}
    jobs = {f"{design} split {split}": {"design": design, "split": split} for split in splits for design in pages}
    trials = run_trials(options, settings, jobs, run, pages, progress=report.progress)
    series = None if options.data is None else real_series(options.data / SERIES / "images")
    return {"settings": settings, "rows": report.rows(trials), "trials": trials, "series": series}


def run(job: Mapping[str, Any], pages: Mapping[str, Page]) -> dict[str, Any]:
    """Return what is measured on one split of a page."""
    split, began = Split(pages[job["design"]], job["split"]), time.perf_counter()
    figures = {
        "precision": precisions(split),
        "grid": by_grid(split),
        "evidence": by_evidence(split),
        "kinds": by_kind(split),
        "labels": by_labels(split),
    }
    return {**job, **figures, "seconds": time.perf_counter() - began}


def real_series(folder: Path) -> dict[str, Any]:
    """Return the map of a series of screenshots, by the diagonal and the full metric; MissingDataError if none."""
    files = sorted(folder.glob("*.jpg"))
    if not files:
        raise MissingDataError.of(folder, "pictures")
    line = file_timeline(files)
    gist = gist_of(report.GRID)
    rows = np.stack([gist.row(decode(files[place].read_bytes()).image) for place in line.order])
    comparisons = monotony(np.arange(len(rows), dtype=np.float64), PERIOD)
    regions = region_distances(rows, comparisons.pairs, report.GRID)
    result: dict[str, Any] = {"versions": len(rows), "quadruplets": len(comparisons), "longest gap, hours": None}
    result["longest gap, hours"] = float(np.diff(line.hours()).max())
    for form, settings in (LEARNED[name] for name in report.MAPPED):
        began = time.perf_counter()
        metric = learn(regions, comparisons, form, **settings)
        result[form] = {
            "importance": metric.weights().tolist(),
            "order": metric.order,
            "C": metric.weight,
            "seconds": time.perf_counter() - began,
        }
    return result


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help=f"folder with {SERIES}, the real series [default: none]")
    parser.add_argument(
        "--designs", nargs="+", choices=DESIGNS, default=HELD_OUT, help="pages (default: the held-out ones)"
    )
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark(
    "changes",
    __doc__ or "",
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "what matters on pages, and labels",
    report.headline,
)
