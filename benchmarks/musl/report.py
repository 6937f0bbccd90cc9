"""Figures, Markdown tables and plot of the MuSL benchmark, the paper's figures beside ours."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.frame.benchmark import Document
from benchmarks.frame.paired import Trials
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.musl.trial import (
    DRAWS,
    EXAMPLES,
    KMEANS,
    METHODS,
    MUSL,
    NEIGHBORS,
    ONE,
    ONE_CHOSEN,
    ONE_WIDE,
    PER_CLASS,
    PRINTED,
    RANDOM,
    RETRAINED,
)

ACCURACIES = tuple(f"{k}-NN" for k in NEIGHBORS)
MAIN = ACCURACIES[-1]
NAMES = ("method", "metrics", "examples")
ONE_PRINTED = PRINTED[0]
SINGLE = (ONE, ONE_CHOSEN, ONE_PRINTED)
SOURCE = (
    "Paper: from its text, on Merged 20 of other pictures (Caltech 256, Oxford flowers, UIUC textures), but one metric "
    "for each class on Caltech 20, and stability by another measure than the adjusted Rand index here."
)
# Distinct in the common kinds of colour blindness.
COLORS = {MUSL: "#56B4E9", RETRAINED: "#0072B2", KMEANS: "#E69F00", RANDOM: "#555555"}
LABELS = {
    "curve": f"{MAIN} accuracy, %",
    "groupings": "adjusted Rand index between splits",
    "novel": f"{MAIN} accuracy on novel classes, %",
}


def abouts(trials: Trials, part: str, *methods: str) -> list[dict[str, Any]]:
    """Returns what names each figure of a part: method, number of metrics and, of novel classes, of examples."""
    found = [{name: row[name] for name in NAMES if name in row} for row in trials[0].get(part, [])]
    return [about for about in found if not methods or about["method"] in methods]


def counts(trials: Trials, part: str) -> list[int]:
    """Returns the numbers of metrics that a part has figures of methods for."""
    return sorted({about["metrics"] for about in abouts(trials, part, *METHODS)})


def values(trials: Trials, part: str, name: str, **about: Any) -> list[Any]:
    """Returns a figure of every trial; none where there is no such figure."""
    found = [row for trial in trials for row in trial.get(part, []) if about.items() <= row.items()]
    return [row[name] for row in found if name in row]


def single(trials: Trials, method: str, name: str) -> list[Any]:
    """Returns a figure of a method that has one number of metrics only."""
    return values(trials, "curve", name, method=method)


def stability(trials: Trials, method: str, metrics: int) -> list[float]:
    """Returns the adjusted Rand index of the groups of every two trials; 1 of a single trial."""
    groups = values(trials, "groupings", "parts", method=method, metrics=metrics)
    return [adjusted_rand_score(*pair) for pair in combinations(groups, 2)] or [1.0]


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Returns means and standard deviations over the trials of all figures."""
    found = []
    novel = (*ACCURACIES, *(f"{name}, all" for name in ACCURACIES), "kinds")
    parts = {"curve": (*ACCURACIES, "seconds"), "groupings": ("kinds",), "novel": novel}
    for part, names in parts.items():
        for about in abouts(trials, part):
            for name in names:
                if given := values(trials, part, name, **about):
                    found.append({"part": part, **about, "metric": name, **summary(given)})
    for about in abouts(trials, "groupings"):
        found.append({"part": "groupings", **about, "metric": "stability", **summary(stability(trials, **about))})
    return found


def progress(trial: Mapping[str, Any]) -> str:
    """Returns what a trial found, in short."""
    shown = [row for row in trial["curve"] if row["method"] in (ONE, ONE_CHOSEN, PER_CLASS)]
    return ", ".join(f"{row['method']} {100 * row[MAIN]:.1f}" for row in shown)


def markdown(document: Document) -> str:
    """Returns the report: ours beside the paper's, accuracy against K, groups, novel classes and times."""
    settings, trials = document["settings"], document["trials"]
    learner, kinds = settings["learner"], len(np.unique(settings["kinds"]))
    protocol = (
        f"{settings['pictures']} pictures in {len(settings['classes'])} classes; {settings['train']} of each are the "
        f"training part and the database, the others the queries; {len(trials)} random splits. 2,000 forest words, "
        f"counts, learned from the training part. {learner['n_bits']} bits a metric, alpha = {learner['alpha']} and "
        f"{learner['joint_alpha']} in joint training, r of 500, 1000 and 2000 by the objective for pair weights of sum "
        f"1, {learner['n_thresholds']} threshold a word: the learner's defaults, chosen on other splits. Accuracy is "
        "the mean over classes; ± is the standard error over splits. "
        f'Neighbours at equal distance share their votes. "{ONE_CHOSEN}": by {settings["folds"]}-fold cross-validation '
        'among the training pictures. "As printed": all pairs weigh the same, the offset is T/2 from the first bit on, '
        "alpha = 0.1, r = 500, and K = 5 where metrics are learned together. K-means groups the classes by the means "
        f"of their square-rooted counts; random groups are of equal size, and their figures means over {DRAWS} draws."
    )
    parts = ["# Metrics for groups of classes, after Babenko, Branson and Belongie (ICCV 2009)", protocol]
    parts.append(f"## Beside the paper, {MAIN}\n\n{table(_beside_paper(trials))}\n\n{SOURCE}")
    parts += [f"## Accuracy against K, {name}, %\n\n{table(_curve(trials, name))}" for name in reversed(ACCURACIES)]
    parts.append(f"## Differences, {MAIN}, points, paired over splits\n\n{table(_gains(trials))}")
    parts.append(f"## Groups: adjusted Rand index\n\n{table(_groups(trials, kinds > 1))}")
    if abouts(trials, "novel"):
        parts.append(
            f"## Novel classes, %\n\n{settings['novel per kind']} classes of each kind, without which words and "
            "metrics were learned; their metrics are found by 5 or by all 30 of their training pictures."
        )
        for name in reversed(ACCURACIES):
            parts.append(f"Database and queries of the novel classes, {name}:\n\n{table(_novel(trials, name))}")
        all_classes = f"Database and queries of all classes, {MAIN}:"
        parts.append(f"{all_classes}\n\n{table(_novel(trials, f'{MAIN}, all'))}")
    parts.append(f"## Processor seconds of training, one core\n\n{table(_curve(trials, 'seconds', 1))}")
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    rise = np.subtract(single(document["trials"], PER_CLASS, MAIN), single(document["trials"], ONE, MAIN))
    classes = len(document["settings"]["classes"])
    return (
        f"{classes} classes of photographs, MuSL on forest words: points that a metric per class gains",
        _points(rise),
        "14",
    )


def gained(trials: Trials, metrics: int, other: str) -> Any:
    """Returns the retrained metrics' accuracy less another method's, split by split; that of one metric has K = 1."""
    against = single(trials, other, MAIN) if other in SINGLE else _accuracy(trials, other, metrics)
    return np.subtract(_accuracy(trials, RETRAINED, metrics), against)


def _accuracy(trials: Trials, method: str, metrics: int) -> list[float]:
    return values(trials, "curve", MAIN, method=method, metrics=metrics)


def plot(path: Path, document: Document) -> None:
    """Draws accuracy, stability of the groups, and accuracy on novel classes, each against K."""
    trials = document["trials"]
    parts = [part for part in LABELS if abouts(trials, part)]
    with panels(path, 1, len(parts), (5 * len(parts), 4.5)) as figure:
        for part, axis in zip(parts, figure.axes, strict=True):
            for method in METHODS:
                _draw(axis, trials, part, method)
            if part == "curve":
                for method, style in ((ONE, "--"), (PER_CLASS, ":")):
                    level = 100 * float(np.mean(single(trials, method, MAIN)))
                    axis.axhline(level, color="black", linestyle=style, label=method)
            axis.set_xlabel("metrics")
            axis.xaxis.get_major_locator().set_params(integer=True)
            axis.set_ylabel(LABELS[part])
            axis.legend(frameon=False)


def _draw(axis: Any, trials: Trials, part: str, method: str) -> None:
    keys = [key for key in abouts(trials, part, method) if key.get("examples", EXAMPLES[-1]) == EXAMPLES[-1]]
    if not keys:
        return
    places = [key["metrics"] for key in keys]
    if part == "groupings":
        axis.plot(places, [np.mean(stability(trials, **key)) for key in keys], "o-", color=COLORS[method], label=method)
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
        for method, paper in ((MUSL, "96 %"), (KMEANS, "50 %")):
            lines.append(
                [f"stability of three groups, {method}", f"{np.mean(stability(trials, method, 3)):.2f}", paper]
            )
    if 3 in counts(trials, "novel"):
        about = {"method": RETRAINED, "examples": EXAMPLES[-1]}
        three, one = (values(trials, "novel", MAIN, metrics=count, **about) for count in (3, 1))
        lines.append(["novel classes, three metrics − one, points", _points(np.subtract(three, one)), "almost 25"])
    return lines


def _curve(trials: Trials, name: str, factor: float = 100) -> list[list[str]]:
    lines = [["K", *METHODS]]
    for method in (ONE, ONE_CHOSEN, PER_CLASS, *PRINTED):
        if found := single(trials, method, name):
            lines.append([method, mean_and_error(found, factor), *[""] * (len(METHODS) - 1)])
    for count in counts(trials, "curve"):
        found = [values(trials, "curve", name, method=method, metrics=count) for method in METHODS]
        lines.append([str(count), *(mean_and_error(one, factor) for one in found)])
    return lines


def _gains(trials: Trials) -> list[list[str]]:
    others = (ONE, ONE_CHOSEN, ONE_PRINTED, MUSL, KMEANS, RANDOM)
    lines = [["K", *(f"retrained − {other}" for other in others)]]
    for count in counts(trials, "curve"):
        lines.append([str(count), *(_points(gained(trials, count, other)) for other in others)])
    return lines


def _groups(trials: Trials, kinds: bool) -> list[list[str]]:
    methods = (MUSL, KMEANS)
    lines = [["K", *(f"{method}, between splits" for method in methods)]]
    lines[0] += [f"{method}, with the kinds" for method in methods if kinds]
    for count in counts(trials, "groupings"):
        line = [str(count), *(f"{np.mean(stability(trials, method, count)):.2f}" for method in methods)]
        found = [values(trials, "groupings", "kinds", method=method, metrics=count) for method in methods if kinds]
        lines.append([*line, *(mean_and_error(one, 1, 2) for one in found)])
    return lines


def _novel(trials: Trials, name: str) -> list[list[str]]:
    columns = [(method, examples) for examples in EXAMPLES for method in (RETRAINED, KMEANS)]
    heads = [f"{method}, metric from {examples} examples" for method, examples in columns]
    lines = [["K", *heads, f"metric of its kind from {EXAMPLES[0]} examples"]]
    for count in counts(trials, "novel"):
        found = [values(trials, "novel", name, method=m, metrics=count, examples=e) for m, e in columns]
        kinds = values(trials, "novel", "kinds", method=RETRAINED, metrics=count, examples=EXAMPLES[0])
        lines.append([str(count), *(mean_and_error(one) for one in found), mean_and_error(kinds, 100, 0)])
    for method in (ONE_WIDE, ONE_PRINTED):
        few, all_of_them = (mean_and_error(values(trials, "novel", name, method=method, examples=e)) for e in EXAMPLES)
        lines.append([method, few, "", all_of_them, "", ""])
    return lines


def _points(found: Any) -> str:
    return mean_and_error(found, sign="+")
