"""Tables and plot of the music benchmark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint.active_report import COLORS, needed

Trials = Sequence[Mapping[str, Any]]
GENRES = "genres as they are"


def progress(trial: Mapping[str, Any]) -> str:
    """Return the errors after the most answers in one line."""
    most = max(row["answers"] for row in trial["curves"])
    learned = (f"{row['method']} {100 * row['error']:.1f}" for row in trial["curves"] if row["answers"] == most)
    active = (f"{session['way']} {100 * session['curve'][-1]['error']:.1f}" for session in trial["asked"])
    return f"{most:,} answers: {', '.join([*learned, *active])}"


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation of every error."""
    summaries = [{"method": GENRES, "metric": "error", **summary([trial["genres"] for trial in trials])}]
    for method, answers in _points(trials):
        errors = summary(_errors(trials, method, answers))
        summaries.append({"method": method, "answers": answers, "metric": "error", **errors})
    for way in _ways(trials):
        curves = _curves(trials, way)
        for place, point in enumerate(curves[0]):
            errors = summary([curve[place]["error"] for curve in curves])
            summaries.append({"method": f"{way} answers", "answers": point["questions"], "metric": "error", **errors})
    return summaries


def markdown(document: Document) -> str:
    """Return the report: errors of all ways to place artists, and of chosen answers beside random ones."""
    trials = document["trials"]
    consistency, tied, genres = (
        mean_and_error([trial[name] for trial in trials]) for name in ("consistency", "tied", "genres")
    )
    about = (
        f"Answers about 400 artists (Ellis et al., 2002), {trials[0]['test']:,} of them held out; the mean of "
        f"{len(trials)} splits ± standard error. Nothing was published on these splits. Genres order {consistency} % "
        f"of the held-out triplets as people did; {tied} % are ties. With a tie counted half, the error of {GENRES} is "
        f"{genres} %."
    )
    text = "Answers asked for in random order, or the most informative first."
    parts = ["# Music artists by what people answered", about, _placed(trials)]
    return "\n\n".join([*parts, "## Chosen answers", text, _asked(trials)])


def plot(path: Path, document: Document) -> None:
    """Draw the errors against answers: of ways to place artists, and of chosen and random answers."""
    trials = document["trials"]
    with panels(path, 1, 2, (11, 4.5), sharey=True) as figure:
        methods_axis, ways_axis = figure.axes
        for method in _methods(trials):
            budgets = [answers for name, answers in _points(trials) if name == method]
            errors = [100 * np.mean(_errors(trials, method, budget)) for budget in budgets]
            methods_axis.plot(budgets, errors, "o-", label=method, markersize=3)
        for way in _ways(trials):
            curves = _curves(trials, way)
            errors = 100 * np.mean([[point["error"] for point in curve] for curve in curves], axis=0)
            questions = [point["questions"] for point in curves[0]]
            ways_axis.plot(questions, errors, "o-", color=COLORS[way], label=way, markersize=3)
        methods_axis.set_ylabel("triplet error, %")
        for axis in figure.axes:
            axis.set_xlabel("answers")
            axis.legend(frameon=False)


def _placed(trials: Trials) -> str:
    budgets = list(dict.fromkeys(answers for _, answers in _points(trials)))
    lines = [["error, %", *(f"{budget:,} answers" for budget in budgets)]]
    for method in _methods(trials):
        lines.append([method, *(mean_and_error(_errors(trials, method, budget)) for budget in budgets)])
    return table(lines)


def _asked(trials: Trials) -> str:
    random, active = (_curves(trials, way) for way in _ways(trials))
    lines = [["answers", "random, error %", "active", "active answers for the error of random ones"]]
    for place, point in enumerate(random[0]):
        errors = [[curve[place]["error"] for curve in curves] for curves in (random, active)]
        counts = [needed(curve, error) / point["questions"] for curve, error in zip(active, errors[0], strict=True)]
        share = mean_and_error(counts, 1, 2) if np.isfinite(counts).all() else "beyond"
        lines.append([f"{point['questions']:,}", *map(mean_and_error, errors), share])
    return table(lines)


def _methods(trials: Trials) -> list[str]:
    return list(dict.fromkeys(method for method, _ in _points(trials)))


def _points(trials: Trials) -> list[tuple[str, int]]:
    return list(dict.fromkeys((row["method"], row["answers"]) for trial in trials for row in trial["curves"]))


def _errors(trials: Trials, method: str, answers: int) -> list[float]:
    points = (point for trial in trials for point in trial["curves"])
    return [point["error"] for point in points if (point["method"], point["answers"]) == (method, answers)]


def _ways(trials: Trials) -> list[str]:
    return list(dict.fromkeys(session["way"] for trial in trials for session in trial["asked"]))


def _curves(trials: Trials, way: str) -> list[list[Mapping[str, Any]]]:
    return [session["curve"] for trial in trials for session in trial["asked"] if session["way"] == way]
