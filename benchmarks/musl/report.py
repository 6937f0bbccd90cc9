"""Figures, Markdown tables and plot of the MuSL benchmark, the paper's figures beside ours."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from benchmarks.frame.benchmark import Document
from benchmarks.frame.paired import Trials
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.musl.trial import (
    DRAWS,
    FEW,
    KMEANS,
    METHODS,
    MUSL,
    NEIGHBORS,
    ONE,
    ONE_CHOSEN,
    PER_CLASS,
    PRINTED,
    RANDOM,
    RETRAINED,
    THRESHOLDS,
)

ACCURACIES = tuple(f"{k}-NN" for k in NEIGHBORS)
MAIN = ACCURACIES[-1]
NAMES = ("method", "metrics", "thresholds")
BY_THRESHOLDS = (ONE, RETRAINED, PER_CLASS)
ONE_PRINTED = PRINTED[0]
CHOSEN = "chosen"
SINGLE = (ONE, ONE_CHOSEN, ONE_PRINTED)
SOURCE = (
    "Paper: from its text, on Merged 20 of other pictures (Caltech 256, Oxford flowers, UIUC textures), but one metric "
    "for each class on Caltech 20. Stability is the share of classes in the same group in two splits, where groups of "
    "the splits are matched so that most classes agree (Lange and others, Neural Computation 2004); by chance, it is "
    "48 % for three groups of 20 classes."
)
# Distinct in the common kinds of colour blindness.
COLORS = {
    MUSL: "#56B4E9",
    RETRAINED: "#0072B2",
    KMEANS: "#E69F00",
    RANDOM: "#555555",
    ONE: "#009E73",
    PER_CLASS: "#CC79A7",
}
LABELS = {
    "curve": f"{MAIN} accuracy, %",
    "groupings": "stability of groups, %",
    "thresholds": f"{MAIN} accuracy, %",
}


def agreement(first: Any, second: Any) -> float:
    """Return the share of classes in the same group of two groupings, matched so that most classes agree."""
    overlap = contingency_matrix(first, second)
    return float(overlap[linear_sum_assignment(-overlap)].sum() / len(first))


def abouts(trials: Trials, part: str, *methods: str) -> list[dict[str, Any]]:
    """Return what names each figure of a part: method, and number of metrics or of thresholds."""
    keys = [{name: row[name] for name in NAMES if name in row} for row in trials[0].get(part, [])]
    return [about for about in keys if not methods or about["method"] in methods]


def counts(trials: Trials, part: str) -> list[int]:
    """Return the numbers of metrics that a part has figures of methods for."""
    return sorted({about["metrics"] for about in abouts(trials, part, *METHODS)})


def values(trials: Trials, part: str, name: str, **about: Any) -> list[Any]:
    """Return a figure of every trial that has it."""
    figures = [row for trial in trials for row in trial.get(part, []) if about.items() <= row.items()]
    return [row[name] for row in figures if name in row]


def single(trials: Trials, method: str, name: str) -> list[Any]:
    """Return a figure of a method that has one number of metrics only."""
    return values(trials, "curve", name, method=method)


def stability(trials: Trials, method: str, metrics: int) -> list[float]:
    """Return the agreement of the groups of every two trials; 1 of a single trial."""
    groups = values(trials, "groupings", "parts", method=method, metrics=metrics)
    return [agreement(*pair) for pair in combinations(groups, 2)] or [1.0]


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return means and standard deviations over the trials of all figures."""
    summaries = []
    timed = (*ACCURACIES, "seconds")
    parts = {"curve": timed, "groupings": ("kinds",), "thresholds": timed}
    for part, names in parts.items():
        for about in abouts(trials, part):
            for name in names:
                if numbers := values(trials, part, name, **about):
                    summaries.append({"part": part, **about, "metric": name, **summary(numbers)})
    for about in abouts(trials, "groupings"):
        summaries.append({"part": "groupings", **about, "metric": "stability", **summary(stability(trials, **about))})
    for method in BY_THRESHOLDS:
        about = {"part": "thresholds", "method": method, "thresholds": CHOSEN}
        summaries.append({**about, "metric": MAIN, **summary(of_chosen(trials, method))})
        summaries.append({**about, "metric": f"{MAIN} gained", **summary(gain_of_thresholds(trials, method))})
    return summaries


def by_thresholds(trials: Trials, method: str, thresholds: int, name: str = MAIN) -> list[Any]:
    """Return a figure of every trial with so many thresholds a word."""
    return values(trials, "thresholds", name, method=method, thresholds=thresholds)


def of_chosen(trials: Trials, method: str) -> list[float]:
    """Return the accuracy of every trial with the number of thresholds that was chosen in it."""
    return [by_thresholds([trial], method, trial["chosen thresholds"][method])[0] for trial in trials]


def gain_of_thresholds(trials: Trials, method: str) -> Any:
    """Return what the chosen number of thresholds gains over the learner's default, split by split."""
    return np.subtract(of_chosen(trials, method), by_thresholds(trials, method, THRESHOLDS[0]))


def progress(trial: Mapping[str, Any]) -> str:
    """Return what a trial found, in short."""
    curve = [row for row in trial["curve"] if row["method"] in (ONE, ONE_CHOSEN, PER_CLASS)]
    texts = [f"{method}, thresholds chosen {100 * of_chosen([trial], method)[0]:.1f}" for method in BY_THRESHOLDS]
    return ", ".join([*(f"{row['method']} {100 * row[MAIN]:.1f}" for row in curve), *texts])


def markdown(document: Document) -> str:
    """Return the report: ours beside the paper's, accuracy against K and by thresholds, groups and times."""
    settings, trials = document["settings"], document["trials"]
    learner, kinds = settings["learner"], len(np.unique(settings["kinds"]))
    protocol = (
        f"{settings['pictures']} pictures in {len(settings['classes'])} classes; {settings['train']} of each are the "
        f"training part and the database, the others the queries. {len(trials)} random splits, {learner['n_bits']} "
        "bits a metric. Accuracy is the mean over classes; ± is the standard error over splits."
    )
    parts = ["# Metrics for groups of classes, after Babenko, Branson and Belongie (ICCV 2009)", protocol]
    parts.append(f"## Beside the paper, {MAIN}\n\n{table(_beside_paper(trials))}\n\n{SOURCE}")
    groups = (
        f'"{ONE_CHOSEN}": by {settings["folds"]}-fold cross-validation. "As printed": the constants of the paper. '
        f"Random groups are of equal size; their figures are means over {DRAWS} draws."
    )
    parts.append(f"## Differences, {MAIN}, points, paired over splits\n\n{groups}\n\n{table(_gains(trials))}")
    parts += [f"## Accuracy against K, {name}, %\n\n{table(_curve(trials, name))}" for name in reversed(ACCURACIES)]
    parts.append(
        f"## Thresholds a word, {MAIN}, %\n\n{table(_thresholds(trials))}\n\n"
        f"{CHOSEN}: by {settings['folds']}-fold cross-validation among the training pictures, in each split and for "
        f"each line. Groups are those of one threshold a word.\n\n{table(_between(trials))}"
    )
    heading = "Stability of the groups between splits, %, and adjusted Rand index with the kinds"
    parts.append(f"## {heading}\n\n{table(_groups(trials, kinds > 1))}")
    parts.append(f"## Processor seconds of training, one core\n\n{table(_curve(trials, 'seconds', 1))}")
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    rise = np.subtract(single(document["trials"], PER_CLASS, MAIN), single(document["trials"], ONE, MAIN))
    classes = len(document["settings"]["classes"])
    return (
        f"Learn a metric for each of {classes} classes instead of one metric: points of 5-NN accuracy gained",
        _points(rise),
        "14 in the paper",
    )


def gained(trials: Trials, metrics: int, other: str) -> Any:
    """Return the retrained metrics' accuracy less another method's, split by split; that of one metric has K = 1."""
    against = single(trials, other, MAIN) if other in SINGLE else _accuracy(trials, other, metrics)
    return np.subtract(_accuracy(trials, RETRAINED, metrics), against)


def _accuracy(trials: Trials, method: str, metrics: int) -> list[float]:
    return values(trials, "curve", MAIN, method=method, metrics=metrics)


def plot(path: Path, document: Document) -> None:
    """Draw accuracy and stability of the groups, each against K, and accuracy against the number of thresholds."""
    trials = document["trials"]
    parts = [part for part in LABELS if abouts(trials, part)]
    with panels(path, 1, len(parts), (5 * len(parts), 4.5)) as figure:
        for part, axis in zip(parts, figure.axes, strict=True):
            for method in BY_THRESHOLDS if part == "thresholds" else METHODS:
                _draw(axis, trials, part, method)
            if part == "curve":
                for method, style in ((ONE, "--"), (PER_CLASS, ":")):
                    level = 100 * float(np.mean(single(trials, method, MAIN)))
                    axis.axhline(level, color="black", linestyle=style, label=method)
            axis.set_xlabel("thresholds a word" if part == "thresholds" else "metrics")
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.set_ylabel(LABELS[part])
            axis.legend(frameon=False)


def _draw(axis: Any, trials: Trials, part: str, method: str) -> None:
    keys = abouts(trials, part, method)
    if not keys:
        return
    places = [key["thresholds" if part == "thresholds" else "metrics"] for key in keys]
    if part == "groupings":
        levels = [100 * np.mean(stability(trials, **key)) for key in keys]
        axis.plot(places, levels, "o-", color=COLORS[method], label=method)
        return
    spreads = [summary(values(trials, part, MAIN, **key)) for key in keys]
    means = [100 * spread["value"] for spread in spreads]
    errors = [100 * spread["std"] / np.sqrt(len(trials)) for spread in spreads]
    axis.errorbar(places, means, errors, marker="o", markersize=3, color=COLORS[method], label=method)


def _beside_paper(trials: Trials) -> list[list[str]]:
    lines = [["", "ours", "paper"]]
    few = {MUSL: "about 2", KMEANS: "almost 5", RANDOM: "almost 5", ONE: "10"}
    if 5 in counts(trials, "curve"):
        lines += [[f"five metrics − {other}, points", _points(gained(trials, 5, other)), few[other]] for other in few]
    rise = np.subtract(single(trials, PER_CLASS, MAIN), single(trials, ONE, MAIN))
    lines.append([f"{PER_CLASS} − {ONE}, points", _points(rise), "14"])
    if 3 in counts(trials, "groupings"):
        for method, paper in ((MUSL, "96"), (KMEANS, "50")):
            ours = f"{100 * np.mean(stability(trials, method, 3)):.1f}"
            lines.append([f"stability of three groups, {method}, %", ours, paper])
    return lines


def _curve(trials: Trials, name: str, factor: float = 100) -> list[list[str]]:
    lines = [["K", *METHODS]]
    for method in (ONE, ONE_CHOSEN, PER_CLASS, *PRINTED):
        if accuracies := single(trials, method, name):
            lines.append([method, mean_and_error(accuracies, factor), *[""] * (len(METHODS) - 1)])
    for count in counts(trials, "curve"):
        accuracies = [values(trials, "curve", name, method=method, metrics=count) for method in METHODS]
        lines.append([str(count), *(mean_and_error(draws, factor) for draws in accuracies)])
    return lines


def _gains(trials: Trials) -> list[list[str]]:
    rivals = (ONE, ONE_CHOSEN, ONE_PRINTED, MUSL, KMEANS, RANDOM)
    lines = [["K", *(f"retrained − {other}" for other in rivals)]]
    for count in counts(trials, "curve"):
        lines.append([str(count), *(_points(gained(trials, count, other)) for other in rivals)])
    return lines


def _groups(trials: Trials, kinds: bool) -> list[list[str]]:
    methods = (MUSL, KMEANS)
    lines = [["K", *(f"{method}, between splits" for method in methods)]]
    lines[0] += [f"{method}, with the kinds" for method in methods if kinds]
    for count in counts(trials, "groupings"):
        line = [str(count), *(f"{100 * np.mean(stability(trials, method, count)):.1f}" for method in methods)]
        agreements = [values(trials, "groupings", "kinds", method=method, metrics=count) for method in methods if kinds]
        lines.append([*line, *(mean_and_error(draws, 1, 2) for draws in agreements)])
    return lines


def _thresholds(trials: Trials) -> list[list[str]]:
    names = {method: f"{FEW} metrics, retrained" if method == RETRAINED else method for method in BY_THRESHOLDS}
    lines = [
        ["", *map(str, THRESHOLDS), CHOSEN, f"{CHOSEN} − {THRESHOLDS[0]}, points", "numbers chosen", "seconds of most"]
    ]
    for method in BY_THRESHOLDS:
        cells = [mean_and_error(by_thresholds(trials, method, count)) for count in THRESHOLDS]
        picked = ", ".join(str(trial["chosen thresholds"][method]) for trial in trials)
        seconds = mean_and_error(by_thresholds(trials, method, THRESHOLDS[-1], "seconds"), 1)
        gain = _points(gain_of_thresholds(trials, method))
        lines.append([names[method], *cells, mean_and_error(of_chosen(trials, method)), gain, picked, seconds])
    return lines


def _between(trials: Trials) -> list[list[str]]:
    lines = [["paired over splits, points", *map(str, THRESHOLDS), CHOSEN]]
    for first, second in ((RETRAINED, ONE), (PER_CLASS, RETRAINED)):
        pairs = [(by_thresholds(trials, first, count), by_thresholds(trials, second, count)) for count in THRESHOLDS]
        pairs.append((of_chosen(trials, first), of_chosen(trials, second)))
        names = [f"{FEW} metrics" if method == RETRAINED else method for method in (first, second)]
        lines.append([" − ".join(names), *(_points(np.subtract(ours, other)) for ours, other in pairs)])
    return lines


def _points(gains: Any) -> str:
    return mean_and_error(gains, sign="+")
