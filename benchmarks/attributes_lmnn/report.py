"""Markdown table and plot of the attribute benchmark, the paper's figures beside ours."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.attributes_lmnn.methods import (
    EUCLIDEAN,
    FANTOPE,
    GAUSSIAN,
    METHODS,
    PEER,
    PLAIN,
    POOLED,
    TRACE,
)

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


def rows(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns mean and standard deviation of accuracy and time, and of the paired differences of accuracy."""
    found = [
        {"method": name, "metric": metric, **_summary(_values(trials, name, metric))}
        for name in _names(trials)
        for metric in ("accuracy", "seconds")
    ]
    for first, second in PAIRS:
        if {first, second} <= set(_names(trials)):
            gains = np.subtract(_values(trials, first, "accuracy"), _values(trials, second, "accuracy"))
            found.append({"method": first, "against": second, "metric": "accuracy gained", **_summary(gains)})
    return found


def markdown(document: Mapping[str, Any]) -> str:
    """Returns the report: accuracy beside the paper's, paired differences, and what was chosen how often."""
    settings, trials = document["settings"], document["trials"]
    protocol = (
        f"{settings['images']} images of 8 people; {settings['train']} of each train the 11 relative attributes and "
        f"the classifiers, the others test; {len(trials)} random splits. Accuracy is the mean over the people, ± its "
        "standard deviation over the splits, as in the paper. All settings are chosen by "
        f"{settings['repeats']} x {settings['folds']}-fold cross-validation among the training images, with the "
        "attributes learned anew in every fold. Features are standardised first. Metrics classify by the vote of the "
        "nearest training images; the trace and Fantope rows keep the settings chosen for LMNN and choose their own "
        "regularisation besides; metric-learn's LMNN gets the settings chosen for ours, and the same classifier."
    )
    lines = [["method", "accuracy, %", "paper, %", "seconds a split"]]
    for name in _names(trials):
        values = 100 * np.array(_values(trials, name, "accuracy"))
        spread = _summary(values)
        seconds = np.mean(_values(trials, name, "seconds"))
        lines.append([name, f"{spread['value']:.1f} ± {spread['std']:.1f}", PAPER.get(name, ""), f"{seconds:.0f}"])
    gains = [["difference in accuracy", "points, ± standard error"]]
    for row in document["rows"]:
        if row["metric"] == "accuracy gained":
            error = 100 * row["std"] / np.sqrt(len(trials))
            gains.append([f"{row['method']} − {row['against']}", f"{100 * row['value']:+.2f} ± {error:.2f}"])
    parts = [
        "# Metrics of relative attributes, after Law, Thome and Cord (CVPR 2014), table 5, PubFig",
        protocol,
        _table(lines),
        f"## Paired over splits\n\n{_table(gains)}",
        f"## Chosen settings, and in how many splits\n\n{_table(_chosen(trials))}",
    ]
    return "\n\n".join([*parts, f"The run took {document['seconds']:.0f} s."]) + "\n"


def write(folder: Path, document: Mapping[str, Any], text: str) -> None:
    """Writes attributes-lmnn.md and attributes-lmnn.png into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "attributes-lmnn.md").write_text(text + "\n![accuracy](attributes-lmnn.png)\n", encoding="utf-8")
    plot(folder / "attributes-lmnn.png", document["trials"])


def plot(path: Path, trials: Sequence[Mapping[str, Any]]) -> None:
    """Draws the accuracy on every split, their mean, and the paper's."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the plot needs matplotlib: pip install "crossview[bench]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = _names(trials)
    figure, axis = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for place, name in enumerate(names):
        values = 100 * np.array(_values(trials, name, "accuracy"))
        axis.plot(values, np.full(len(values), place), "o", color=COLOR, alpha=0.4)
        axis.plot(values.mean(), place, "|", color=COLOR, markersize=24, markeredgewidth=2)
        if name in PAPER:
            axis.plot(float(PAPER[name].split()[0]), place, "x", color="black")
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xlabel("test accuracy, %: a point per split, | their mean, × the paper's")
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _names(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in METHODS if name in trials[0]["methods"]]


def _values(trials: Sequence[Mapping[str, Any]], name: str, metric: str) -> list[float]:
    return [trial["methods"][name][metric] for trial in trials]


def _summary(values: Any) -> dict[str, float]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"value": float(np.mean(values)), "std": spread}


def _chosen(trials: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    lines = [["method", "setting", "value: splits"]]
    for name in _names(trials):
        for setting in METHODS[name].grid:
            counts = Counter(trial["methods"][name]["settings"][setting] for trial in trials)
            lines.append([name, setting, ", ".join(f"{value:g}: {counts[value]}" for value in sorted(counts))])
    return lines


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body])
