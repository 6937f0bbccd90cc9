"""Table 5 of Law, Thome and Cord (CVPR 2014) on PubFig: metrics in the space of relative attributes.

    python -m benchmarks attributes-lmnn --data DIR --json OUT [--trials N] [--report DIR]

DIR holds ``pubfig_relattr.npz``: 772 images of 8 people, 542 features of two views, which are joined as a space joins
them, and how the people are ordered by 11 attributes. 30 images of each person train the attributes and the
classifiers, the others test; every seed draws them again. The attributes are learned in every split, and in every fold
that settings are chosen by, from its training images alone; the predictor in the file was trained on images that random
splits put among the test ones, and is not used.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.attributes_lmnn import report
from benchmarks.attributes_lmnn.methods import FOLDS, LEARNER, METHODS, PEER, REPEATS, Images, Labels, choose, measure
from benchmarks.frame.benchmark import Benchmark, read_arrays, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from crossview.engine.spaces.parts import Part

FILE = "pubfig_relattr.npz"
TRAIN = 30


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all splits."""
    data = read(options.data)
    seeds = seeds_of(options)
    names = [name for name in METHODS if name != PEER or peers.available()]
    settings = {
        "seeds": list(seeds),
        "images": len(data["labels"]),
        "train": TRAIN,
        "folds": FOLDS,
        "repeats": REPEATS,
        "grids": {name: {**METHODS[name].grid, "after": METHODS[name].after} for name in names},
        "learner": LEARNER,
        "workers": options.workers,
    }
    trials = run_trials(options, settings, by_seed(seeds), run, data, names, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def read(folder: Path) -> dict[str, Any]:
    """Return features (n, d), labels (n,), orderings of the classes, and the parts of the features, one for each view.

    MissingDataError names what is missing.
    """
    arrays = read_arrays(folder, FILE, "X", "y", "relative_ordering", "view_of_feature")
    orderings = arrays["relative_ordering"].T.astype(np.float64)
    return {
        "features": arrays["X"].astype(np.float64),
        "labels": arrays["y"].astype(np.int64),
        "orderings": {str(label): amounts.tolist() for label, amounts in enumerate(orderings)},
        "parts": [Part(width) for width in np.bincount(arrays["view_of_feature"]).tolist()],
    }


def split(labels: Labels, seed: int) -> Labels:
    """Return the positions of the training images, 30 of each class."""
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(np.flatnonzero(labels == label))[:TRAIN] for label in np.unique(labels)]
    return np.concatenate(drawn)


def run(seed: int, data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the figures of the named methods on one split."""
    images = Images(**data, train=split(data["labels"], seed), seed=seed)
    figures: dict[str, Any] = {}
    for name in names:
        method = METHODS[name]
        began = time.perf_counter()
        fixed = figures[method.after]["settings"] if method.after else {}
        settings, validated = choose(method, images, fixed) if method.grid else (dict(fixed), None)
        figures[name] = {
            "accuracy": measure(method, images, settings),
            "validated": validated,
            "settings": settings,
            "seconds": time.perf_counter() - began,
        }
    return {"seed": seed, "methods": figures}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {FILE}")
    trial_arguments(parser, trials=30)


BENCHMARK = Benchmark(
    "attributes-lmnn", __doc__, _arguments, measure_all, report.markdown, report.plot, "accuracy", report.headline
)
