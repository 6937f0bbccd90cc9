"""Markdown tables and plot of the verification benchmark, the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.paired import Trials, gains, values
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, span, summary, table
from benchmarks.verification import methods

# LFW, "restricted": tables 2 and 3, and section 6.1.2 for mu = 0.
PAPER: Mapping[str, str] = {
    methods.NONE + methods.EARLY: "81.2",
    methods.TRACE: "77.6 ± 0.7",
    methods.FANTOPE: "82.3 ± 0.5",
    methods.BOTH + methods.EARLY: "83.5 ± 0.5",
    methods.ITML: "76.2 ± 0.5",
    methods.LOGISTIC: "77.5 ± 0.5",
    methods.PCCA + methods.EARLY: "82.2 ± 0.4",
}
PAPER_ITERATIONS = ("79.2", "79.3", "75.8", "63.2")
METRICS = ("accuracy", "fixed", "auc", "rank", "validation", "seconds", "tuning")
COLORS = {"merged20": "#0072B2", "corel1k": "#D55E00"}  # distinct in the common kinds of colour blindness


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and standard deviation of every figure, and of the paired differences from the Fantope."""
    summaries = []
    for kind, own in _sets(trials).items():
        for method in own[0]["methods"]:
            for metric in METRICS:
                if numbers := _known(own, method, metric):
                    summaries.append({"set": kind, "method": method, "metric": metric, **summary(numbers)})
            for metric in ("accuracy", "auc"):
                gained = summary(gains(own, method, methods.FANTOPE, metric))
                summaries.append({"set": kind, "method": method, "metric": f"{metric} lost to Fantope", **gained})
    return summaries


def markdown(document: Document) -> str:
    """Return the report: a table for each data set, paired differences, and what depends on iterations, mu, pairs."""
    settings = document["settings"]
    ran = "" if settings["ITML ran"] else " ITML did not run."
    protocol = (
        f"{100 * settings['share of classes in training']:.0f} % of the classes train and the others test, "
        f"{settings['pairs']:,} pairs each, half of one class. Validation pairs choose settings and threshold. "
        f"Rows are the principal components with {100 * settings['variance']:.0f} % of the variance. ± is the standard "
        f"error over the trials.{ran}"
    )
    parts = ["# Verification of pairs, after Law, Thome and Cord (CVPR 2014), tables 2 to 4 and figure 2", protocol]
    for kind, trials in _sets(document["trials"]).items():
        shape = f"{len(trials)} trials, {span([trial['columns'] for trial in trials])} columns"
        parts += [f"## {kind}\n\n{shape}.", table(_methods(trials)), "### Chosen settings"]
        parts.append(table(_chosen(trials)))
        if with_curves := _with_curves(trials):
            parts += _curves(with_curves)
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    kind, trials = next(iter(_sets(document["trials"]).items()))
    ours = mean_and_error(values(trials, methods.FANTOPE, "accuracy"))
    return (
        f"Decide whether two photographs of {kind} show the same class, classes unseen (Fantope): accuracy, %",
        ours,
        f"{PAPER[methods.FANTOPE].split()[0]} in the paper, on faces (LFW)",
    )


def plot(path: Path, document: Document) -> None:
    """Draw rank and accuracy against mu, as figure 2, and accuracy against iterations, as table 4."""
    with panels(path, 1, 3, (15, 4.5)) as figure:
        left, middle, right = figure.axes
        for kind, own in _sets(_with_curves(document["trials"])).items():
            color = COLORS.get(kind, "#555555")
            mus = [point["mu"] for point in own[0]["weights"]]
            for axis, name, factor in ((left, "full rank", 1), (middle, "accuracy", 100)):
                matrix = factor * np.array([[point[name] for point in trial["weights"]] for trial in own])
                _band(axis, mus, matrix, color, kind)
            for method, line in ((methods.FANTOPE, "-"), (methods.PCCA, "--")):
                points = [trial["iterations"][method] for trial in own]
                steps = [point["steps"] for point in points[0]]
                matrix = 100 * np.array([[point["accuracy"] for point in curve] for curve in points])
                _band(right, steps, matrix, color, f"{kind}, {method}", line)
        for axis, label in ((left, "rank before the cut"), (middle, "accuracy, %"), (right, "accuracy, %")):
            axis.set_ylabel(label)
            axis.set_xlabel("iterations at most" if axis is right else "mu")
            axis.set_xscale("log") if axis is right else axis.set_xscale("symlog", linthresh=0.01)
            axis.legend(frameon=False)


def _band(axis: Any, x: Sequence[float], matrix: Any, color: str, label: str, line: str = "-") -> None:
    mean = matrix.mean(axis=0)
    error = matrix.std(axis=0, ddof=min(1, len(matrix) - 1)) / np.sqrt(len(matrix))
    axis.plot(x, mean, line, color=color, marker="o", markersize=3, label=label)
    axis.fill_between(x, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)


def _methods(trials: Trials) -> list[list[str]]:
    head = ["method", "accuracy, %", "− Fantope", "at 1, %", "AUC, %", "− Fantope", "rank", "seconds", "paper, LFW"]
    lines = [head]
    for method in trials[0]["methods"]:
        cells = [method]
        for metric in ("accuracy", "fixed", "auc"):
            cells.append(mean_and_error(_known(trials, method, metric)))
            if metric != "fixed":
                gained = [] if method == methods.FANTOPE else gains(trials, method, methods.FANTOPE, metric)
                cells.append(mean_and_error(gained, sign="+"))
        seconds = np.mean(values(trials, method, "seconds"))
        lines.append([*cells, span(values(trials, method, "rank")), f"{seconds:.1f}", PAPER.get(method, "")])
    return lines


def _chosen(trials: Trials) -> list[list[str]]:
    lines = [["method", "how often which"]]
    for method in trials[0]["methods"]:
        texts = [
            ", ".join(f"{name} {value}" for name, value in trial["methods"][method]["settings"].items())
            for trial in trials
        ]
        counts = {text: texts.count(text) for text in dict.fromkeys(texts) if text}
        cells = [f"{count} x ({text})" for text, count in sorted(counts.items(), key=lambda item: -item[1])]
        lines += [[method, "; ".join(cells)]] if cells else []
    return lines


def _curves(trials: Trials) -> list[str]:
    remark = (
        f"Of the first {len(trials)} trials, at the ranks chosen above. Here the first validation part alone chooses "
        "the thresholds, and mu and beta again for every number of iterations unless they are kept, so figures differ "
        "from those above."
    )
    first = trials[0]
    iterations = [["after at most", *(f"{point['steps']:,}" for point in first["iterations"][methods.FANTOPE])]]
    for method in first["iterations"]:
        curves = [trial["iterations"][method] for trial in trials]
        iterations.append([f"{method}, accuracy, %", *_line(curves, "accuracy")])
        iterations.append([f"{method}, AUC, %", *_line(curves, "auc")])
        counts = np.array([[point["taken"] for point in curve] for curve in curves]).mean(axis=0)
        iterations.append([f"{method}, taken", *(f"{count:,.0f}" for count in counts)])
    iterations.append(["PCCA, paper, LFW", *PAPER_ITERATIONS])
    curves = [trial["weights"] for trial in trials]
    weights = [["mu", *(f"{point['mu']:g}" for point in curves[0])]]
    weights += [["accuracy, %", *_line(curves, "accuracy")], ["AUC, %", *_line(curves, "auc")]]
    ranks = np.array([[point["full rank"] for point in curve] for curve in curves]).mean(axis=0)
    weights.append(["rank before the cut", *(f"{rank:.1f}" for rank in ranks)])
    amounts = [
        ["accuracy, %, of training pairs", *(f"{point['pairs']:,}" for point in first["amounts"][methods.FANTOPE])]
    ]
    for method in first["amounts"]:
        amounts.append([method, *_line([trial["amounts"][method] for trial in trials], "accuracy")])
    sections = (("Iterations", iterations), ("Accuracy and rank against mu", weights), ("Number of pairs", amounts))
    return [remark, *(f"### {title}\n\n{table(lines)}" for title, lines in sections)]


def _line(curves: Sequence[Sequence[Mapping[str, Any]]], metric: str) -> list[str]:
    matrix = np.array([[point[metric] for point in curve] for curve in curves])
    return [mean_and_error(column) for column in matrix.T]


def _sets(trials: Trials) -> dict[str, list[Mapping[str, Any]]]:
    return {kind: [t for t in trials if t["set"] == kind] for kind in dict.fromkeys(t["set"] for t in trials)}


def _with_curves(trials: Trials) -> Trials:
    return [trial for trial in trials if "iterations" in trial]


def _known(trials: Trials, method: str, metric: str) -> list[float]:
    """Return the figures of a metric; none for methods that it does not apply to."""
    return [value for value in values(trials, method, metric) if value is not None]
