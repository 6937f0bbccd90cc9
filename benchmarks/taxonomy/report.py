"""Tables of the taxonomy benchmark, the paper's averages beside ours."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.taxonomy.methods import (
    ACCURACY,
    EUCLIDEAN,
    HIERARCHICAL,
    LMNN_DIAGONAL,
    LMNN_FULL,
    LOSS,
    NEAREST,
    NO_REGULARIZER,
    PULL,
    QWISE_DIAGONAL,
    QWISE_FULL,
    REGULARIZERS,
    SQUARED_NORM,
    SVM,
    TRACE,
)

Trials = Sequence[Mapping[str, Any]]
CELLS = tuple(product((NEAREST, SVM), (ACCURACY, HIERARCHICAL, LOSS)))
"""The classifiers, and what is measured of each."""
PAIRS = (
    (QWISE_FULL, LMNN_FULL),
    (QWISE_DIAGONAL, LMNN_DIAGONAL),
    (LMNN_FULL, EUCLIDEAN),
    (QWISE_FULL, EUCLIDEAN),
    (LMNN_DIAGONAL, EUCLIDEAN),
    (QWISE_DIAGONAL, EUCLIDEAN),
    *((name, NO_REGULARIZER) for name in (SQUARED_NORM, TRACE, PULL)),
)
PAPER: Mapping[str, tuple[str, str, str]] = {
    EUCLIDEAN: ("28.3", "34.4", ""),
    LMNN_DIAGONAL: ("30.8", "36.7", ""),
    LMNN_FULL: ("32.6", "37.8", ""),
    QWISE_DIAGONAL: ("31.4", "38.6", "36.4"),
    QWISE_FULL: ("33.2", "40.1", "36.5"),
}
"""The averages of tables 5, 6 and 4, over nine subtrees of ImageNet: 10-NN plain, 10-NN hierarchical, SVM plain."""


def values(trials: Trials, method: str, classifier: str, metric: str) -> list[float]:
    """Return a figure of every trial."""
    return [trial["methods"][method][classifier][metric] for trial in trials]


def gains(trials: Trials, pair: tuple[str, str], classifier: str, metric: str) -> Any:
    """Return the first method's figure less the second's, trial by trial."""
    first, second = (values(trials, name, classifier, metric) for name in pair)
    return np.subtract(first, second)


def by_set(trials: Trials) -> dict[str, list[Mapping[str, Any]]]:
    """Return the trials of every set."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for trial in trials:
        groups.setdefault(trial["set"], []).append(trial)
    return groups


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation of the figures, of paired differences and of the seconds of a fit, set by set."""
    summaries: list[dict[str, Any]] = []
    for kind, of_set in by_set(trials).items():
        names = list(of_set[0]["methods"])
        for classifier, metric in CELLS:
            row = {"set": kind, "classifier": classifier, "metric": metric}
            summaries += [
                {**row, "method": name, **summary(values(of_set, name, classifier, metric))} for name in names
            ]
            summaries += [
                {**row, "method": pair[0], "against": pair[1], **summary(gains(of_set, pair, classifier, metric))}
                for pair in _pairs(names)
            ]
        for name in names:
            seconds = [trial["methods"][name]["fit seconds"] for trial in of_set]
            summaries.append({"set": kind, "method": name, "metric": "seconds of a fit", **summary(seconds)})
    return summaries


def progress(trial: Mapping[str, Any]) -> str:
    """Return accuracy and hierarchical accuracy of every method by nearest neighbours in one line."""
    texts = [
        f"{name} {100 * figures[NEAREST][ACCURACY]:.1f}/{100 * figures[NEAREST][HIERARCHICAL]:.1f}"
        for name, figures in trial["methods"].items()
    ]
    return f"{', '.join(texts)}; {trial['seconds']:.0f} s"


def headline(document: Document) -> tuple[str, str, str]:
    """Return a line of README: the first set, hierarchical accuracy of the full metrics."""
    kind, trials = next(iter(by_set(document["trials"]).items()))
    if QWISE_FULL not in trials[0]["methods"]:
        names = [name for name in trials[0]["methods"] if name in REGULARIZERS]
        ours = [f"{mean_and_error(values(trials, name, NEAREST, HIERARCHICAL))} ({name})" for name in names]
        return f"Recognise {kind} by quadruplets and pairs: hierarchical accuracy of 10-NN, %", ", ".join(ours), ""
    ours = [mean_and_error(values(trials, name, NEAREST, HIERARCHICAL)) for name in (QWISE_FULL, LMNN_FULL)]
    task = f"Recognise {kind} by a metric that respects a tree of classes: hierarchical accuracy of 10-NN, %"
    theirs = f"{PAPER[QWISE_FULL][1]} (without the tree: {PAPER[LMNN_FULL][1]}) in the paper, on other data"
    return task, f"{ours[0]} (without the tree: {ours[1]})", theirs


def markdown(document: Document) -> str:
    """Return the report: the figures of every set, paired differences, and the chosen settings."""
    parts = [_title(document), _protocol(document)]
    for kind, trials in by_set(document["trials"]).items():
        names = list(trials[0]["methods"])
        sizes = (
            f"{trials[0]['train']:,} rows to learn from, {trials[0]['test']:,} to test with, "
            f"{min(trial['columns'] for trial in trials)} to {max(trial['columns'] for trial in trials)} columns."
        )
        parts += [f"## {kind[0].upper()}{kind[1:]}", sizes, _figures(trials, names)]
        parts += ["Paired over splits, points:", _differences(trials, names)]
        parts += ["Chosen settings:", _chosen(trials, names)]
    return "\n\n".join(parts)


def _title(document: Document) -> str:
    if set(document["settings"]["grids"]) & set(REGULARIZERS):
        return "# Regularisers of a full metric from quadruplets and pairs together, equation (8)"
    return "# Metrics that respect a tree of classes, after Law, Thome and Cord (2017), tables 4 to 6"


def _protocol(document: Document) -> str:
    settings = document["settings"]
    if set(settings["grids"]) & set(REGULARIZERS):
        return (
            f"{len(settings['seeds'])} splits. Each metric learns from {settings['drawn']:,} quadruplets by the tree "
            "and as many pairs by the classes, in one problem. The paper has no figures of these regularisers with "
            "pairs."
        )
    return (
        f"{len(settings['seeds'])} splits. Letters spoken by {settings['test speakers']} other people, in a tree by "
        "the sound of their names; photographs in a tree by kind. Qwise is LMNN with the triplets of the tree. Means "
        "over the classes in per cent, ± standard error over the splits; hierarchical accuracy counts a sibling half, "
        "the LCA loss is the height of the lowest common ancestor. The paper's figures are of nine subtrees of "
        "ImageNet."
    )


def _figures(trials: Trials, names: Sequence[str]) -> str:
    head = ["method", *map(" ".join, CELLS)]
    lines = [[*head, "paper, 10-NN", "paper, 10-NN hierarchical", "paper, SVM", "seconds a fit"]]
    for name in names:
        cells = [mean_and_error(values(trials, name, *cell), 100, 2) for cell in CELLS]
        seconds = float(np.mean([trial["methods"][name]["fit seconds"] for trial in trials]))
        lines.append([name, *cells, *PAPER.get(name, ("", "", "")), f"{seconds:.1f}"])
    return table(lines)


def _differences(trials: Trials, names: Sequence[str]) -> str:
    lines = [["difference", *map(" ".join, CELLS)]]
    for pair in _pairs(names):
        cells = [mean_and_error(gains(trials, pair, *cell), 100, 2, "+") for cell in CELLS]
        lines.append([" − ".join(pair), *cells])
    return table(lines)


def _chosen(trials: Trials, names: Sequence[str]) -> str:
    tuned = [name for name in names if trials[0]["methods"][name]["settings"]]
    lines = [["split", *tuned]]
    for trial in trials:
        choices = [trial["methods"][name]["settings"].items() for name in tuned]
        cells = [", ".join(f"{key}={value:g}" for key, value in settings) for settings in choices]
        lines.append([str(trial["seed"]), *cells])
    return table(lines)


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    return [pair for pair in PAIRS if set(pair) <= set(names)]
