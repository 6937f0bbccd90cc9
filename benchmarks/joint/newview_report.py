"""Tables and plot of the benchmark of a notion that comes later."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint.synthetic_report import COLORS

Trials = Sequence[Mapping[str, Any]]

ADDED, JOINT, INDEPENDENT = "added over the map", "joint from the start", "independent"
METHODS = {ADDED: COLORS["joint"], JOINT: "#009E73", INDEPENDENT: COLORS["independent"]}
PAPER = 700
"""Triplets up to which joint learning was better than independent, of one view of birds."""


def progress(trial: Mapping[str, Any]) -> str:
    """Return the errors of a trial in one line."""
    counts = _counts([trial])
    shown = (
        f"{name} {' '.join(f'{100 * _errors([trial], name, count)[0]:.1f}' for count in counts)}" for name in METHODS
    )
    return ", ".join(shown)


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation over the seeds of every mean error over the notions."""
    found = []
    for name in _sets(trials):
        of_set = _of(trials, name)
        maps = summary([float(np.mean([one["map"] for one in trial["notions"]])) for trial in of_set])
        found.append({"set": name, "method": "map alone", "metric": "error", **maps})
        for method in METHODS:
            for count in _counts(of_set):
                errors = summary(_errors(of_set, method, count))
                found.append({"set": name, "method": method, "triplets": count, "metric": "error", **errors})
    return found


def markdown(document: Document) -> str:
    """Return the report: errors by number of triplets of the new notion, and how long the others help."""
    settings, trials = document["settings"], document["trials"]
    about = (
        f"Each notion is left out in turn; of each of the others there are {settings['triplets of the others']:,} "
        f"triplets. Error of {settings['test triplets']:,} test triplets of the notion that was left out in per cent, "
        f"by the number of its triplets, the mean over all notions, ± standard error over {len(settings['seeds'])} "
        f"seeds. D = {settings['dimensions']}. Added: the map of the others stays, and the notion's metric over it is "
        "learned. The weight of the map is chosen by folds of the others' triplets, and serves the new notion, too; "
        "the independent one is chosen by folds of the new notion's triplets."
    )
    parts = ["# A notion that comes later, after Zhang, Maji and Tomioka (2015), figure 4 (c)", about]
    for name in _sets(trials):
        of_set = _of(trials, name)
        maps = [float(np.mean([one["map"] for one in trial["notions"]])) for trial in of_set]
        text = (
            f"Without any triplet of the notion, by the map alone: {mean_and_error(maps)} %. Added is better than "
            f"independent up to {_better(of_set)} triplets; in the paper joint was so up to around {PAPER}, on birds."
        )
        parts += [f"## {name.capitalize()}", _table(of_set), text]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the errors by number of triplets, a panel for each set."""
    trials = document["trials"]
    names = _sets(trials)
    with panels(path, 1, len(names), (5.5 * len(names), 4.5), sharey=True, squeeze=False) as figure:
        for axis, name in zip(figure.axes, names, strict=True):
            of_set = _of(trials, name)
            counts = _counts(of_set)
            for method, color in METHODS.items():
                errors = [100 * np.mean(_errors(of_set, method, count)) for count in counts]
                axis.semilogx(counts, errors, "o-", color=color, label=method)
            axis.set_title(name)
            axis.set_xlabel("triplets of the new notion")
        figure.axes[0].set_ylabel("triplet error, %")
        figure.axes[0].legend(frameon=False)


def _table(trials: Trials) -> str:
    lines = [["method", *(f"{count:,}" for count in _counts(trials))]]
    lines += [[name, *(mean_and_error(_errors(trials, name, count)) for count in _counts(trials))] for name in METHODS]
    return table(lines)


def _better(trials: Trials) -> str:
    """Return the most triplets up to which the mean error of the added notion is less than the independent one's."""
    last = "no"
    for count in _counts(trials):
        if np.mean(_errors(trials, ADDED, count)) >= np.mean(_errors(trials, INDEPENDENT, count)):
            break
        last = f"{count:,}"
    return last


def _errors(trials: Trials, method: str, count: int) -> list[float]:
    """Return the mean error over the notions, by trial."""
    return [_error(trial, method, count) for trial in trials]


def _error(trial: Mapping[str, Any], method: str, count: int) -> float:
    points = (point for one in trial["notions"] for point in one["curves"])
    return float(np.mean([one["error"] for one in points if (one["method"], one["triplets"]) == (method, count)]))


def _counts(trials: Trials) -> list[int]:
    return sorted({point["triplets"] for point in trials[0]["notions"][0]["curves"]})


def _sets(trials: Trials) -> list[str]:
    return list(dict.fromkeys(trial["set"] for trial in trials))


def _of(trials: Trials, name: str) -> Trials:
    return [trial for trial in trials if trial["set"] == name]
