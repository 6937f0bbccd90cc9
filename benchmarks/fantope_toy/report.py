"""Markdown table and plot of the Fantope toy benchmark, the paper's figures beside ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.paired import Trials, gains_table, rows_of, values
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, span, table
from crossview.engine.learners.papers.losses.parameters import RANK_TOLERANCE

NONE, CUT = "no regularisation", "no regularisation, cut"
LOW_RANK, TRACE = "descent over L", "trace"
ADMM, FANTOPE, BOTH = "Fantope, ADMM", "Fantope", "Fantope and trace"
METHODS = (NONE, CUT, LOW_RANK, TRACE, ADMM, FANTOPE, BOTH)
PAPER: Mapping[str, tuple[str, str, str]] = {
    NONE: ("89.3", "31", "1.07"),
    CUT: ("", "", ""),
    LOW_RANK: ("92.7", "10", "0.44"),
    TRACE: ("95.1", "4", "0.38"),
    ADMM: ("96.6", "", ""),
    FANTOPE: ("97.5", "10", "0.04"),
    BOTH: ("98.0", "10", "0.03"),
}
PAIRS = (
    (TRACE, NONE),
    (FANTOPE, TRACE),
    (BOTH, FANTOPE),
    (FANTOPE, CUT),
    (FANTOPE, LOW_RANK),
    (BOTH, LOW_RANK),
    (FANTOPE, ADMM),
)
METRICS = ("accuracy", "rank", "rank before the cut", "distance", "seconds")
# Distinct in the common kinds of colour blindness; in the order of the methods.
COLORS = ("#555555", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9", "#0072B2", "#009E73")


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and standard deviation of every figure, and of the paired differences of accuracy."""
    return rows_of(trials, METHODS, METRICS, PAIRS)


def progress(trial: Mapping[str, Any]) -> str:
    """Return the accuracies of a trial in one line."""
    return ", ".join(f"{name} {100 * figures['accuracy']:.2f}" for name, figures in trial["methods"].items())


def headline(document: Document) -> tuple[str, str, str]:
    ours = mean_and_error(values(document["trials"], FANTOPE, "accuracy"), digits=2)
    task = "Recover a metric of rank 10 from quadruplets (Fantope): unseen quadruplets in order, %"
    return task, ours, f"{PAPER[FANTOPE][0]} in the paper"


def markdown(document: Document) -> str:
    """Return the report: accuracy, rank and distance to the target beside the paper's, and paired differences."""
    settings, trials = document["settings"], document["trials"]
    least = min(np.mean([trial["target"] for trial in trials], axis=0))
    protocol = (
        f"{settings['rows']:,} uniform rows of {settings['width']} columns, a target metric T of rank "
        f"{settings['rank']}, whose eigenvalues fall to {least:.2g} of the largest; {settings['train']:,} quadruplets "
        f"to train on, {settings['test']:,} to test; {len(trials)} seeds, ± the standard error over them. Ranks count "
        "eigenvalues above 1e-6 of the largest. The paper gives one run."
    )
    head = ["method", "accuracy, %", "accuracy, paper", "rank", "rank before the cut", "rank, paper", "distance to T"]
    head += ["distance, paper", "seconds"]
    lines = [head, *(_line(trials, method) for method in METHODS)]
    choices = [["seed", *METHODS]]
    choices += [[str(trial["seed"]), *(_chosen(trial["methods"][method]) for method in METHODS)] for trial in trials]
    remark = (
        "The second row keeps the ten largest eigenvalues of the first row's metric. Seconds are those of the fit with "
        "the chosen settings."
    )
    parts = ["# A metric of known rank from quadruplets, after Law, Thome and Cord (CVPR 2014), table 1", protocol]
    parts += [table(lines), remark]
    parts += [f"## Paired over seeds\n\n{gains_table(trials, PAIRS)}", f"## Chosen settings\n\n{table(choices)}"]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the accuracy on every seed beside the paper's, and the mean eigenvalues beside the target's."""
    trials = document["trials"]
    with panels(path, 1, 2, (11, 4.5)) as figure:
        left, right = figure.axes
        _draw_accuracies(left, trials)
        _draw_spectra(right, trials)


def _draw_accuracies(axis: Any, trials: Trials) -> None:
    for place, (method, color) in enumerate(zip(METHODS, COLORS, strict=True)):
        accuracies = 100 * np.array(values(trials, method, "accuracy"))
        axis.plot(accuracies, np.full(len(accuracies), place), "o", color=color, alpha=0.6)
        if PAPER[method][0]:
            axis.plot(float(PAPER[method][0]), place, "x", color="black")
    axis.set_yticks(range(len(METHODS)), METHODS)
    axis.invert_yaxis()
    axis.set_xlabel("test accuracy, %: a point per seed, × the paper's")


def _draw_spectra(axis: Any, trials: Trials) -> None:
    for method, color in zip(METHODS, COLORS, strict=True):
        spectrum = np.mean(values(trials, method, "eigenvalues"), axis=0)
        places = np.flatnonzero(spectrum > RANK_TOLERANCE)
        axis.semilogy(places + 1, spectrum[places], color=color, marker="o", markersize=3, label=method)
    target = np.mean([trial["target"] for trial in trials], axis=0)
    axis.semilogy(np.arange(len(target)) + 1, target, "k--", label="target")
    axis.set_xlabel("eigenvalue")
    axis.set_ylabel("share of the largest, mean over seeds")
    axis.set_ylim(bottom=RANK_TOLERANCE)
    axis.legend(frameon=False)


def _line(trials: Trials, method: str) -> list[str]:
    accuracy, distance = (values(trials, method, metric) for metric in ("accuracy", "distance"))
    ranks = [span(values(trials, method, metric)) for metric in ("rank", "rank before the cut")]
    paper = PAPER[method]
    seconds = f"{np.mean(values(trials, method, 'seconds')):.1f}"
    cells = mean_and_error(accuracy, 100, 2), mean_and_error(distance, 1, 3)
    return [method, cells[0], paper[0], *ranks, paper[1], cells[1], paper[2], seconds]


def _chosen(figures: Mapping[str, Any]) -> str:
    settings = figures["settings"]
    return ", ".join(f"{name}={settings[name]:g}" for name in ("mu", "gamma", "rho") if settings.get(name))
