"""Multi-NPP on a folder of classes, by the protocol of Quadrianto and Lampert (ICML 2011).

Ten 80/20 splits; the training part is the database and the test part the queries, which also search each other, as a
database of unseen items; colour histograms, colour SIFT words, whose codebook is fitted on the training part, and GIST;
k-NN accuracy, precision at k and mAP for every query and database view. Beside the paper's methods there are later
baselines, kernels and three views. Settings are chosen by cross-validation inside each training part, for every method
in the same way; the rows "as printed" have the paper's own settings. Grey pictures have no colour: --views sift,gist.
"""

import argparse
from collections.abc import Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import Benchmark, seeds_of, trial_arguments
from benchmarks.frame.databases import TRAINED, UNSEEN, of_database
from benchmarks.frame.journal import Journal, by_seed, cache_folder, partial_folder, run_trials
from benchmarks.frame.tables import Row, rows_with, values_by
from benchmarks.multi_npp import report
from benchmarks.multi_npp.methods import BASELINES, DIMS, GROUPS, VIEWS, WIDEST, Views, methods
from benchmarks.multi_npp.trial import FOLDS, MEASURES, NEIGHBORS, TUNED_BY, Plan, run_trial
from benchmarks.photographs import TEST_SIZE, Photographs, photographs


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows, chosen settings and comparisons of all splits."""
    cache = cache_folder(options)
    images = photographs(options.data, cache)
    seeds = seeds_of(options)
    settings = {**_settings(images, options), "seeds": list(seeds)}
    cells = partial_folder(options, settings, run)
    plan = Plan(options.views, options.tuned_by, options.methods)
    trials = run_trials(options, settings, by_seed(seeds), run, options.data, cache, cells, plan)
    rows = [trial["rows"] for trial in trials]
    return {
        "settings": settings,
        "rows": summary(rows),
        "chosen": [
            {"seed": seed, **choice} for seed, trial in zip(seeds, trials, strict=True) for choice in trial["chosen"]
        ],
        "compared": compared(rows, options.views[:2]),
        "seconds": sum(trial["seconds"] for trial in trials),
    }


def run(seed: int, data: Path, cache: Path, cells: Path, plan: Plan) -> dict[str, Any]:
    """Return the figures of a seed; its finished cells are kept in a folder, so that a rerun goes on from them."""
    return run_trial(photographs(data, cache), seed, Journal(cells / f"{seed}.jsonl"), plan)


def summary(trials: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return one row per figure with its mean and (population) standard deviation over the trials."""
    names = ("method", "dim", "query_view", "database_view", "database", "metric", "k")
    groups = values_by(chain.from_iterable(trials), names)
    return [{**about, "value": float(np.mean(values)), "std": float(np.std(values))} for about, values in groups]


def compared(trials: Sequence[Sequence[Row]], pair: Views) -> list[dict[str, Any]]:
    """Return one row per method and figure: its mean over the trials, and its mean difference to the best baseline's.

    Figures are accuracy and mAP, from either view of the pair to either, in each database. The best baseline is the
    one with the greatest mean; within a view it is the original space. "standard_error" is that of the mean of the
    differences, trial by trial, or None for a single trial.

    Args:
        trials: the rows of each trial, the same figures in all of them.
        pair: two views.
    """
    comparisons = []
    for database, query, target in product((TRAINED, UNSEEN), pair, pair):
        of_trials = [of_database(rows, database) for rows in trials]
        for metric, k in (("accuracy", TUNED_BY), ("map", None)):
            figure: dict[str, Any] = {"query_view": query, "database_view": target, "metric": metric, "k": k}
            values = _by_method(of_trials, figure)
            rivals = ["original"] if query == target else BASELINES
            baselines = {name: values[name].mean() for name in rivals if name in values}
            if not baselines:
                continue
            best = max(baselines, key=lambda name: float(baselines[name]))
            about = {**figure, "database": database, "baseline": best}
            comparisons += [{"method": name, **about, **_against(own, values[best])} for name, own in values.items()]
    return comparisons


def _by_method(trials: Sequence[Sequence[Row]], figure: Row) -> dict[str, NDArray[np.float64]]:
    rows = [row for rows in trials for row in rows_with(rows, **figure) if row["dim"] in (*WIDEST, None)]
    return {about["method"]: np.array(values) for about, values in values_by(rows, ["method"])}


def _against(own: NDArray[np.float64], best: NDArray[np.float64]) -> dict[str, Any]:
    difference = own - best
    count = len(difference)
    error = float(difference.std(ddof=1) / np.sqrt(count)) if count > 1 else None
    return {"value": float(own.mean()), "difference": float(difference.mean()), "standard_error": error}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with images/<class>/* or <class>/*")
    parser.add_argument(
        "--views", type=_views, default=VIEWS, help="two or three, the pair of the paper's methods first"
    )
    parser.add_argument("--methods", choices=GROUPS, default="all", help="paper: only those of the paper's tables")
    parser.add_argument("--tuned-by", choices=MEASURES, default="both", help="both: the mean of accuracy and mAP")
    trial_arguments(parser, trials=10, workers=2)


def _views(text: str) -> Views:
    """Return two or three views, for argparse."""
    views = tuple(text.split(","))
    if not 2 <= len(views) == len(set(views)) or not set(views) <= set(VIEWS):
        raise argparse.ArgumentTypeError(f"{text!r} is not two or three of {','.join(VIEWS)}")
    return views


def _settings(images: Photographs, options: argparse.Namespace) -> dict[str, Any]:
    learners = methods(options.views, options.methods)
    counts = dict(zip(*(part.tolist() for part in np.unique(images.labels, return_counts=True)), strict=True))
    return {
        "data": options.data.resolve().name,
        "views": list(options.views),
        "images": counts,
        "fingerprint": images.fingerprint,
        "dims": list(DIMS),
        "neighbors": list(NEIGHBORS),
        "test_size": TEST_SIZE,
        "tuning": f"{FOLDS}-fold cross-validation in the training part, by {_MEASURED[options.tuned_by]} of the query "
        "view against the other views (original and pca: against itself); per method, dimension and query view",
        "grids": {m.name: {**m.grid, "fixed": m.fixed, "exhaustive": m.exhaustive, "views": m.views} for m in learners},
        "headline": "hybrid: the frozen view is the view of the queries",
    }


_MEASURED = {"both": f"the mean of {TUNED_BY}-NN accuracy and mAP", "accuracy": f"{TUNED_BY}-NN accuracy"}


BENCHMARK = Benchmark(
    "multi-npp", __doc__, _arguments, measure, report.markdown, report.plot, "k-NN accuracy", report.headline
)
