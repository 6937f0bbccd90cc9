"""Tables and plot of the benchmark of active questions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint.asking import WAYS

Trials = Sequence[Mapping[str, Any]]
COLORS = {"random": "#555555", "active": "#0072B2", "grid": "#E69F00", "active grid": "#009E73"}


def progress(trial: Mapping[str, Any]) -> str:
    """Return the errors of a trial in one line."""
    return " ".join(f"{100 * point['error']:.1f}" for point in trial["curve"]) + f"; {trial['seconds']:.0f} s"


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation of every error."""
    summaries = []
    for name, share, way in dict.fromkeys((trial["set"], trial["share"], trial["way"]) for trial in trials):
        curves = _curves(trials, name, share, way)
        for place, point in enumerate(curves[0]):
            names = {"set": name, "people err": share / 100, "method": way, "questions": point["questions"]}
            for metric in ("error", "slips"):
                values = summary([curve[place][metric] for curve in curves])
                summaries.append({**names, "metric": metric, **values})
    return summaries


def needed(curve: Sequence[Mapping[str, Any]], error: float) -> float:
    """Return how many questions lead to an error, between the measured points by the logarithm; NaN beyond them."""
    errors = np.minimum.accumulate([point["error"] for point in curve])[::-1]
    if not errors[0] <= error <= errors[-1]:
        return float("nan")
    return float(np.exp(np.interp(error, errors, np.log([point["questions"] for point in curve])[::-1])))


def markdown(document: Document) -> str:
    """Return the report: answers for the same error, seconds and slips by useful triplet, and all errors."""
    settings, trials = document["settings"], document["trials"]
    about = (
        f"200 objects, {len(settings['seeds'])} seeds, ± the standard error over them. People err more often in close "
        "calls. *Grid*: the four nearest of nine pictures, which are chosen for *active* grids. Shares compare the "
        "answers that lead to the same error as random single questions."
    )
    parts = ["# Questions that are chosen", about]
    for name in dict.fromkeys(trial["set"] for trial in trials):
        parts += [f"## {name}", _saved(trials, name), _errors(trials, name)]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the errors against seconds, a panel for each set and error rate."""
    trials = document["trials"]
    places = list(dict.fromkeys((trial["set"], trial["share"]) for trial in trials))
    with panels(path, 1, len(places), (4 * len(places), 4), sharey=True, squeeze=False) as figure:
        for axis, (name, share) in zip(figure.axes, places, strict=True):
            for way, color in COLORS.items():
                curves = _curves(trials, name, share, way)
                seconds = [point["questions"] * WAYS[way].seconds for point in curves[0]]
                errors = np.mean([[point["error"] for point in curve] for curve in curves], axis=0)
                axis.semilogx(seconds, 100 * errors, "o-", color=color, label=way, markersize=3)
            axis.set_title(f"{name}, people err on {share} %")
            axis.set_xlabel("seconds of a person")
        figure.axes[0].set_ylabel("triplet error, %")
        figure.axes[0].legend(frameon=False)


def _saved(trials: Trials, name: str) -> str:
    """Return a line for each error rate and number of random answers: what the other ways need."""
    head = ["people err", "random answers", "error, %", "active", "grids", "active grids"]
    lines = [[*head, *(f"seconds, {way}" for way in WAYS), *(f"slips, {way}" for way in WAYS)]]
    for share in dict.fromkeys(trial["share"] for trial in trials if trial["set"] == name):
        baseline = _curves(trials, name, share, "random")
        for place, point in enumerate(baseline[0]):
            if point["questions"] < 2_000:
                continue
            lines.append([f"{share} %", f"{point['questions']:,}", *_costs(trials, name, share, place)])
    return table(lines)


def _costs(trials: Trials, name: str, share: int, place: int) -> list[str]:
    """Return the error of random questions at a budget, and the costs of a useful triplet of all ways."""
    baseline = _curves(trials, name, share, "random")
    errors = [curve[place]["error"] for curve in baseline]
    budget = baseline[0][place]["questions"]
    counts = {
        way: [needed(curve, error) for curve, error in zip(_curves(trials, name, share, way), errors, strict=True)]
        for way in WAYS
    }
    shares = [_mean([count / budget for count in counts[way]], 1, 2) for way in WAYS if way != "random"]
    seconds = [_mean([count * WAYS[way].seconds / budget for count in counts[way]], 1, 1) for way in WAYS]
    slips = []
    for way in WAYS:
        wrong = [curve[-1]["slips"] * WAYS[way].triplets for curve in _curves(trials, name, share, way)]
        slips.append(
            _mean([mistakes * count / budget for mistakes, count in zip(wrong, counts[way], strict=True)], 1, 2)
        )
    return [mean_and_error(errors, 100, 1), *shares, *seconds, *slips]


def _mean(values: Sequence[float], factor: float, digits: int) -> str:
    return mean_and_error(values, factor, digits) if np.isfinite(values).all() else "beyond"


def _errors(trials: Trials, name: str) -> str:
    lines = [["people err", "questions", *WAYS]]
    for share in dict.fromkeys(trial["share"] for trial in trials if trial["set"] == name):
        curves = {way: _curves(trials, name, share, way) for way in WAYS}
        for single, grid in zip(curves["random"][0], curves["grid"][0], strict=True):
            cells = []
            for way in WAYS:
                count = (single if WAYS[way].candidates == 2 else grid)["questions"]
                errors = [point["error"] for curve in curves[way] for point in curve if point["questions"] == count]
                cells.append(mean_and_error(errors, 100, 1))
            lines.append([f"{share} %", f"{single['questions']:,}, or {grid['questions']:,} grids", *cells])
    return table(lines)


def _curves(trials: Trials, name: str, share: int, way: str) -> list[list[Mapping[str, Any]]]:
    key = (name, share, way)
    return [trial["curve"] for trial in trials if (trial["set"], trial["share"], trial["way"]) == key]
