"""Multi-NPP on a folder of classes, by the protocol of Quadrianto and Lampert (ICML 2011).

Ten 80/20 splits; the training part is the database and the test part the queries; colour histograms, colour SIFT words,
whose codebook is fitted on the training part, and GIST; k-NN accuracy, precision at k and mAP for every query and
database view. Beside the paper's methods there are later baselines, kernels and three views. Settings are chosen by
cross-validation inside each training part, for every method in the same way.
"""

import argparse
import hashlib
import json
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from benchmarks.frame.record import record, write_json
from benchmarks.multi_npp import report
from benchmarks.multi_npp.compare import compared
from benchmarks.multi_npp.methods import DIMS, GROUPS, METHODS
from benchmarks.multi_npp.trial import FOLDS, MEASURES, NEIGHBORS, TEST_SIZE, TUNED_BY, run_trial
from benchmarks.photographs import Photographs, photographs

NAME = "multi-npp"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; what is finished is kept beside the output (OUT.partial, OUT.cache) and not run again."""
    options = _options(arguments)
    console = Console()
    started = time.monotonic()
    cache = options.json.with_name(options.json.name + ".cache")
    images = photographs(options.data, cache)
    settings = _settings(images, options)
    kept = options.json.with_name(options.json.name + ".partial") / _digest(settings)[:16]
    kept.mkdir(parents=True, exist_ok=True)
    seeds = range(options.first_seed, options.first_seed + options.trials)
    begun = sum((kept / f"{seed}.jsonl").exists() for seed in seeds)
    console.print(f"{len(images.labels)} images; {len(seeds)} trials, {begun} of them begun or done before")
    trials = dict(_run(options, cache, kept, seeds))
    document = record(NAME, {**settings, "seeds": list(seeds)}, summary([trials[seed]["rows"] for seed in seeds]))
    document["chosen"] = [{"seed": seed, **one} for seed in seeds for one in trials[seed]["chosen"]]
    document["compared"] = compared([trials[seed]["rows"] for seed in seeds])
    document["seconds"] = sum(trials[seed]["seconds"] for seed in seeds)
    write_json(options.json, document)
    text = report.markdown(document)
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    if options.report:
        report.write(options.report, document, text)
    console.print(f"{len(seeds)} trials in {time.monotonic() - started:.0f} s")
    return 0


def summary(trials: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Returns one row per figure with its mean and (population) standard deviation over the trials."""
    values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    names = ("method", "dim", "query_view", "database_view", "metric", "k")
    for rows in trials:
        for row in rows:
            values[tuple(row[name] for name in names)].append(row["value"])
    return [
        {**dict(zip(names, key, strict=True)), "value": float(np.mean(found)), "std": float(np.std(found))}
        for key, found in values.items()
    ]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with images/<class>/* or <class>/*")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first trial; the others follow")
    parser.add_argument("--json", type=Path, required=True, help="where to write the figures")
    parser.add_argument("--report", type=Path, help="folder for the Markdown tables and the plot")
    parser.add_argument("--methods", choices=GROUPS, default="all", help="paper: only those of the paper's tables")
    parser.add_argument("--tuned-by", choices=MEASURES, default="both", help="both: the mean of accuracy and mAP")
    parser.add_argument("--workers", type=int, default=2, help="trials at a time")
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.workers < 1:
        parser.error("--trials and --workers must be at least 1")
    return options


def _settings(images: Photographs, options: argparse.Namespace) -> dict[str, Any]:
    methods = METHODS if options.methods == "all" else GROUPS[options.methods]
    counts = dict(zip(*(part.tolist() for part in np.unique(images.labels, return_counts=True)), strict=True))
    return {
        "images": counts,
        "fingerprint": images.fingerprint,
        "dims": list(DIMS),
        "neighbors": list(NEIGHBORS),
        "test_size": TEST_SIZE,
        "tuning": f"{FOLDS}-fold cross-validation in the training part, by {_MEASURED[options.tuned_by]} of the query "
        "view against the other views (original and pca: against itself); per method, dimension and query view",
        "grids": {m.name: {**m.grid, "fixed": m.fixed, "exhaustive": m.exhaustive, "views": m.views} for m in methods},
        "headline": "hybrid: the frozen view is the view of the queries",
    }


_MEASURED = {"both": f"the mean of {TUNED_BY}-NN accuracy and mAP", "accuracy": f"{TUNED_BY}-NN accuracy"}


def _digest(settings: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _run(
    options: argparse.Namespace, cache: Path, kept: Path, seeds: Sequence[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    context = multiprocessing.get_context("spawn")
    how = options.tuned_by, options.methods
    with ProcessPoolExecutor(min(options.workers, len(seeds)), mp_context=context) as pool:
        pending = {pool.submit(_trial, options.data, cache, kept / f"{seed}.jsonl", seed, *how): seed for seed in seeds}
        for future in track(as_completed(pending), "Trials", total=len(pending)):
            yield pending[future], future.result()


def _trial(data: Path, cache: Path, kept: Path, seed: int, tuned_by: str, group: str) -> dict[str, Any]:
    with threadpool_limits(limits=1):
        return run_trial(photographs(data, cache), seed, kept, tuned_by, group)
