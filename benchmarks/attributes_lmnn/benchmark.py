"""Table 5 of Law, Thome and Cord (CVPR 2014) on PubFig: metrics in the space of relative attributes.

    python -m benchmarks attributes-lmnn --data DIR [--json OUT] [--trials N] [--report DIR]

DIR holds ``pubfig_relattr.npz``: 772 images of 8 people, 542 features of two views, which are joined as a space joins
them, and how the people are ordered by 11 attributes. 30 images of each person train the attributes and the
classifiers, the others test; every seed draws them again. The attributes are learned in every split, and in every fold
that settings are chosen by, from its training images alone; the predictor in the file was trained on images that random
splits put among the test ones, and is not used.
"""

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.attributes_lmnn.methods import (
    EUCLIDEAN,
    FANTOPE,
    FOLDS,
    GAUSSIAN,
    LEARNER,
    METHODS,
    PEER,
    PLAIN,
    POOLED,
    REPEATS,
    TRACE,
    Images,
    Labels,
    choose,
    measure,
)
from benchmarks.frame.benchmark import Benchmark, Document, read_arrays, seeds_of, trial_arguments
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.frame.paired import Trials, gains_table, rows_of, values
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from crossview.engine.spaces.pipeline import Part

FILE = "pubfig_relattr.npz"
TRAIN = 30

PAPER: Mapping[str, str] = {GAUSSIAN: "70.6 ± 1.8", PLAIN: "74.3 ± 1.9", TRACE: "75.0 ± 1.6", FANTOPE: "77.5 ± 1.6"}
PAIRS = (
    (TRACE, PLAIN),
    (FANTOPE, TRACE),
    (FANTOPE, PLAIN),
    (PLAIN, GAUSSIAN),
    (PLAIN, EUCLIDEAN),
    (PLAIN, PEER),
    (FANTOPE, POOLED),
)
COLOR = "#0072B2"


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
    trials = run_trials(options, settings, by_seed(seeds), run, data, names, progress=progress)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


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


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and standard deviation of accuracy and time, and of the paired differences of accuracy."""
    return rows_of(trials, _names(trials), ("accuracy", "seconds"), _pairs(trials))


def progress(trial: Mapping[str, Any]) -> str:
    """Return the accuracies of a trial in one line."""
    return ", ".join(f"{name} {100 * figures['accuracy']:.1f}" for name, figures in trial["methods"].items())


def headline(document: Document) -> tuple[str, str, str]:
    ours = mean_and_error(values(document["trials"], FANTOPE, "accuracy"))
    return (
        "Recognise 8 people by 11 relative attributes (LMNN with a Fantope): accuracy, %",
        ours,
        f"{PAPER[FANTOPE].split()[0]} in the paper",
    )


def markdown(document: Document) -> str:
    """Return the report: accuracy beside the paper's, paired differences, and what was chosen how often."""
    settings, trials = document["settings"], document["trials"]
    protocol = (
        f"{settings['images']} images of 8 people; {settings['train']} of each train the 11 relative attributes and "
        f"the classifiers, the others test; {len(trials)} random splits. Accuracy is the mean over the people, ± its "
        "standard deviation over the splits, as in the paper. All settings are chosen by "
        f"{settings['repeats']} x {settings['folds']}-fold cross-validation among the training images, with the "
        "attributes learned again in every fold. Features are standardised first. Metrics classify by the vote of the "
        "nearest training images; the trace and Fantope rows keep the settings chosen for LMNN and choose their own "
        "regularisation besides; metric-learn's LMNN gets the settings chosen for ours, and the same classifier."
    )
    lines = [["method", "accuracy, %", "paper, %", "seconds a split"]]
    for name in _names(trials):
        spread = summary(100 * np.array(values(trials, name, "accuracy")))
        seconds = np.mean(values(trials, name, "seconds"))
        lines.append([name, f"{spread['value']:.1f} ± {spread['std']:.1f}", PAPER.get(name, ""), f"{seconds:.0f}"])
    parts = [
        "# Metrics of relative attributes, after Law, Thome and Cord (CVPR 2014), table 5, PubFig",
        protocol,
        table(lines),
        f"## Paired over splits\n\n{gains_table(trials, _pairs(trials))}",
        f"## Chosen settings, and in how many splits\n\n{table(_chosen(trials))}",
    ]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the accuracy on every split, their mean, and the paper's."""
    names = _names(document["trials"])
    with panels(path, 1, 1, (8, 4.5)) as figure:
        (axis,) = figure.axes
        for place, name in enumerate(names):
            accuracies = 100 * np.array(values(document["trials"], name, "accuracy"))
            axis.plot(accuracies, np.full(len(accuracies), place), "o", color=COLOR, alpha=0.4)
            axis.plot(accuracies.mean(), place, "|", color=COLOR, markersize=24, markeredgewidth=2)
            if name in PAPER:
                axis.plot(float(PAPER[name].split()[0]), place, "x", color="black")
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        axis.set_xlabel("test accuracy, %: a point per split, | their mean, × the paper's")


def _names(trials: Trials) -> list[str]:
    return [name for name in METHODS if name in trials[0]["methods"]]


def _pairs(trials: Trials) -> list[tuple[str, str]]:
    return [pair for pair in PAIRS if set(pair) <= set(_names(trials))]


def _chosen(trials: Trials) -> list[list[str]]:
    lines = [["method", "setting", "value: splits"]]
    for name in _names(trials):
        for setting in METHODS[name].grid:
            counts = Counter(trial["methods"][name]["settings"][setting] for trial in trials)
            lines.append([name, setting, ", ".join(f"{value:g}: {counts[value]}" for value in sorted(counts))])
    return lines


BENCHMARK = Benchmark("attributes-lmnn", __doc__, _arguments, measure_all, markdown, plot, "accuracy", headline)
