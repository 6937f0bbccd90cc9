"""Markdown table and plot of the attribute benchmark, the paper's figures beside ours."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.attributes_lmnn.methods import EUCLIDEAN, FANTOPE, GAUSSIAN, METHODS, PEER, PLAIN, POOLED, TRACE
from benchmarks.frame.benchmark import Document
from benchmarks.frame.paired import Trials, gains_table, rows_of, values
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table

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


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and standard deviation of accuracy and time, and of the paired differences of accuracy."""
    return rows_of(trials, _names(trials), ("accuracy", "seconds"), _pairs(trials))


def progress(trial: Mapping[str, Any]) -> str:
    """Return the accuracies of a trial in one line."""
    return ", ".join(f"{name} {100 * figures['accuracy']:.1f}" for name, figures in trial["methods"].items())


def headline(document: Document) -> tuple[str, str, str]:
    ours = mean_and_error(values(document["trials"], FANTOPE, "accuracy"))
    return (
        "8 people by 11 relative attributes (PubFig), LMNN with a Fantope: accuracy, %",
        ours,
        PAPER[FANTOPE].split()[0],
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
