"""Table and plot of what sharing gains by consistency, the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint import tables
from benchmarks.joint.synthetic_report import COLORS

Trials = Sequence[Mapping[str, Any]]

PAPER: Mapping[str, tuple[float, float, float]] = {
    "birds": (0.53, -4.6, -8.0),
    "faces": (0.59, 6.5, -56),
    "uniform": (0.60, 26, -40),
    "clustered": (0.69, 44, -29),
    "poses": (0.85, 35, 23),
}
"""Table 3, by set: consistency, and the gains of joint and of pooled learning, per cent."""
SHARINGS = tables.JOINT, tables.POOLED


def of_share(share: int) -> str:
    """Return the name of a set whose notions have a share in common, per cent."""
    return f"{share} % shared"


def progress(trial: Mapping[str, Any]) -> str:
    """Return the consistency and the errors of a trial in one line."""
    return f"{trial['consistency']:.2f}, {tables.progress(trial)}"


def rows(trials: Trials, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return mean and deviation of every consistency, gain and error."""
    found: list[dict[str, Any]] = []
    for name in _sets(trials):
        of_set = _of(trials, name)
        shown = summary([trial["consistency"] for trial in of_set])
        found.append({"set": name, "method": "notions", "metric": "consistency", **shown})
        for sharing, gains in tables.gains(of_set, settings["budgets"], settings["dimensions"]).items():
            found.append({"set": name, "method": sharing, "metric": "area gained", **summary(gains)})
        found += [{"set": name, **row} for row in tables.rows(of_set)]
    return found


def markdown(document: Document) -> str:
    """Return the report: gains in the order of consistency, the paper's beside ours, and all errors."""
    settings, trials = document["settings"], document["trials"]
    budgets = ", ".join(f"{budget:,}" for budget in settings["budgets"])
    about = (
        f"Consistency: the share of random triplets that two notions order equally, the mean over pairs of notions. "
        f"Gain: by how much the area under the triplet error is smaller than that of independent embeddings, over the "
        f"logarithm of the number of triplets ({budgets} of all notions; the paper's go to 100,000). "
        f"D = {settings['dimensions']}, {len(settings['seeds'])} seeds, ± standard error. Weights are chosen by "
        f"{settings['folds']} folds of the training triplets, of which so many are looked at as have "
        f"{settings['held-out triplets that choose']:,} held-out ones. In sets with "
        "a share, notions have four coordinates in common, which are that share of each squared distance, and four of "
        "their own each."
    )
    head = ["set", "consistency", "joint gains, %", "pooled, %", "paper: consistency", "joint", "pooled"]
    where = (
        "The paper's uniform and clustered sets are drawn as ours; its other sets are birds (CUB-200), 39 attributes "
        "of faces, and photographs of aeroplanes, instead of which ours are eleven attributes and a model's pictures."
    )
    title = "# Gain of sharing by the consistency of notions, after Zhang, Maji and Tomioka (2015), figure 5"
    gains = table([head, *(_line(trials, name, settings) for name in _sets(trials))])
    parts = [title, about, gains, where, "## Errors"]
    for name in _sets(trials):
        parts += [f"{name.capitalize()}, mean triplet error, %:", tables.errors_table(_of(trials, name))]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the gains by consistency, ours and the paper's."""
    settings, trials = document["settings"], document["trials"]
    with panels(path, 1, 1, (7, 4.5)) as figure:
        (axis,) = figure.axes
        for place, sharing in enumerate(SHARINGS, 1):
            found = [_point(trials, name, settings, sharing) for name in _sets(trials)]
            places, gains, errors = zip(*found, strict=True)
            axis.errorbar(places, gains, errors, fmt="o", color=COLORS[sharing], label=sharing)
            paper = sorted((figures[0], figures[place]) for figures in PAPER.values())
            axis.plot(*zip(*paper, strict=True), "x--", color=COLORS[sharing], label=f"{sharing}, the paper's sets")
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_xlabel("triplet consistency")
        axis.set_ylabel("less area than independent, %")
        axis.legend(frameon=False)


def _line(trials: Trials, name: str, settings: Mapping[str, Any]) -> list[str]:
    of_set = _of(trials, name)
    gains = tables.gains(of_set, settings["budgets"], settings["dimensions"])
    shown = mean_and_error([trial["consistency"] for trial in of_set], 1, 3)
    paper = [f"{PAPER[name][0]:.2f}", *(f"{gain:g}" for gain in PAPER[name][1:])] if name in PAPER else [""] * 3
    return [name, shown, *(mean_and_error(gains[sharing]) for sharing in SHARINGS), *paper]


def _point(trials: Trials, name: str, settings: Mapping[str, Any], sharing: str) -> tuple[float, float, float]:
    """Return consistency, gain and its standard error."""
    of_set = _of(trials, name)
    gains = 100 * np.array(tables.gains(of_set, settings["budgets"], settings["dimensions"])[sharing])
    error = float(np.std(gains, ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0
    return float(np.mean([trial["consistency"] for trial in of_set])), float(np.mean(gains)), error


def _sets(trials: Trials) -> list[str]:
    """Return the sets by ascending consistency."""
    names = dict.fromkeys(trial["set"] for trial in trials)
    return sorted(names, key=lambda name: float(np.mean([trial["consistency"] for trial in _of(trials, name)])))


def _of(trials: Trials, name: str) -> Trials:
    return [trial for trial in trials if trial["set"] == name]
