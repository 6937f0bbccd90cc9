"""Section 7.2 of Law, Thome and Cord (IJCV 2017): classes recognised by attributes whose order of the classes is known.

    python -m benchmarks attributes --data DIR [--json OUT] [--trials N] [--report DIR]

DIR holds ``osr8``, a folder of scenes by class, and ``pubfig_relattr/pubfig_relattr.npz``; ``--sets`` names one of
them. 30 pictures of each class train the attributes and the classifiers, the others test; every seed draws them again.
All ways of learning scores take the same pairs of classes in the same order, one constraint for each two training
pictures of a pair, the same solver, and the C that cross-validation among the training pictures chooses for each.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.attributes import report
from benchmarks.attributes.data import FACES, TRAIN, Pictures, faces, scenes
from benchmarks.attributes.held_out import HELD_OUT_WEIGHTS, held_out
from benchmarks.attributes.methods import (
    ATTRIBUTE_METHODS,
    CLASSIFIERS,
    FEATURES,
    FEATURES_GRID,
    FOLDS,
    LMNN_GRID,
    VOTES,
    WEIGHTS,
    Division,
    Scores,
    classified,
    folds_of,
    gaussian,
)
from benchmarks.frame.benchmark import Benchmark, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from crossview.engine.learners.papers.attributes.described_odds import ODDS

SETS = ("osr8", "pubfig")
PAIRS = (1, 2, 3, 5, 8, 11, 15, 20, 24, 28)
"""How many pairs of classes each attribute is learned from, for figure 11."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all splits of the named sets."""
    data: dict[str, Pictures] = {}
    if "osr8" in options.sets:
        data["osr8"] = scenes(options.data / "osr8", cache_folder(options))
    if "pubfig" in options.sets:
        data["pubfig"] = faces(options.data / Path(FACES).stem)
    seeds = seeds_of(options)
    settings = {
        "sets": list(data),
        "seeds": list(seeds),
        "train": TRAIN,
        "folds": FOLDS,
        "relations": {name: relations and vars(relations) for name, relations in ATTRIBUTE_METHODS.items()},
        "grids": {"C": WEIGHTS, "votes": VOTES, "lmnn": list(LMNN_GRID), "lmnn of features": list(FEATURES_GRID)},
        "held out": {"C": HELD_OUT_WEIGHTS, "log odds": ODDS},
        "workers": options.workers,
    }
    jobs = {f"{name} seed {seed}": {"data": name, "seed": seed} for seed in seeds for name in data}
    trials = run_trials(options, settings, jobs, run, data, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def run(job: Mapping[str, Any], data: Mapping[str, Pictures]) -> dict[str, Any]:
    """Return the accuracies of one split: by way of learning scores and classifier, and by number of pairs."""
    pictures, seed, began = data[job["data"]], job["seed"], time.perf_counter()
    train = pictures.split(seed)
    division = Division(pictures, train, np.setdiff1d(np.arange(len(pictures.codes)), train), seed)
    folds = folds_of(pictures, train, seed)
    figures: dict[str, Any] = {}
    for name in (FEATURES, *ATTRIBUTE_METHODS):
        scores = Scores(division, folds, name)
        results = {classifier: classified(scores, classifier) for classifier in CLASSIFIERS}
        figures[name] = {
            "accuracy": {classifier: accuracy for classifier, (accuracy, _) in results.items()},
            "settings": {classifier: settings for classifier, (_, settings) in results.items()},
            "curve": _curve(division, name, results["Gaussian"][1]["C"]),
        }
    described = held_out(pictures, train, seed)
    return {**job, "methods": figures, "held out": described, "seconds": time.perf_counter() - began}


def _curve(division: Division, name: str, weight: float) -> dict[int, float]:
    """Return the accuracy of Gaussians by the number of pairs of classes, where scores are learned from such."""
    relations = ATTRIBUTE_METHODS.get(name)
    if relations is None:
        return {}
    most = division.most_pairs(relations)
    counts = sorted({min(count, most) for count in PAIRS})
    return {count: gaussian(division.scores(relations, weight, count)) for count in counts}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {' and '.join(SETS)}")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="which of them (default: both)")
    trial_arguments(parser, trials=10)


BENCHMARK = Benchmark(
    "attributes",
    __doc__ or "",
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "accuracy by the number of pairs of classes",
    report.headline,
)
