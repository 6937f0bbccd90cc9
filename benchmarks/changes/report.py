"""Table 1, figures 5, 8 and 9 and tables 2 and 3 of the quadruplet paper, on pages that are drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.changes.designs import IMPORTANT
from benchmarks.changes.methods import (
    ACTIVE,
    BOTH,
    COUNTS,
    DIAGONAL,
    EUCLIDEAN,
    FULL,
    LEARNED,
    METHODS,
    PRINTED,
    RANDOM,
    STRUCTURAL,
    TRIPLETS,
    UNLEARNED,
    VISUAL,
)
from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table

Trials = Sequence[Mapping[str, Any]]
GRID = 10
MAPPED = (DIAGONAL, FULL)
"""Metrics whose maps are shown."""
GROUPS = {"adverts": ("advert", "rotation"), "menus": ("menu",), "stories and headlines": IMPORTANT}
"""Kinds of blocks: a map should leave the first two out, and be on the last."""
PAPER: Mapping[str, tuple[float | None, ...]] = {
    EUCLIDEAN: (92.9, 74.6, 77.0, 83.9),
    TRIPLETS: (95.2, 86.1, 85.2, 86.3),
    DIAGONAL: (96.5, 88.9, 88.6, 86.1),
    PRINTED: (96.6, 93.1, 92.2, 87.7),
    STRUCTURAL: (96.1, None, 91.9, 87.3),
}
"""MAP in table 1 on the pages of NPR, New York Times, CNN and BBC."""
PAPER_PAGES = ("NPR", "NYTimes", "CNN", "BBC")
PAPER_ACCURACY: Mapping[str, tuple[float, ...]] = {
    VISUAL: (87.0, 76.4, 72.9, 68.6),
    BOTH: (86.7, 77.0, 75.0, 68.6),
    f"5 {BOTH}": (90.6, 83.4, 77.4, 80.0),
    f"5 {UNLEARNED}": (81.4, 65.3, 70.2, 69.8),
    f"20 {BOTH}": (90.6, 90.2, 85.1, 83.9),
    f"20 {UNLEARNED}": (86.1, 68.3, 71.6, 72.3),
}
"""Accuracies in tables 2 and 3, by evidence without labels, and by labels of each kind."""
_WAYS = (RANDOM, ACTIVE, f"{ACTIVE}, {BOTH}", UNLEARNED)
_GROUPED = (
    f"{'; '.join(GROUPS).capitalize()}. A cell is of the block that its centre lies in: the broadcaster's clock, which "
    "shows the hour, shares its cells with the menu above it."
)
_PRECISIONS = ("AP_S", "AP_D", "MAP")


def progress(trial: Mapping[str, Any]) -> str:
    """Return the line of a finished trial."""
    precisions = ", ".join(f"{method} {100 * trial['precision'][method]['MAP']:.1f}" for method in METHODS)
    return f"{precisions}; {trial['seconds']:.0f} s"


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation of all figures by page."""
    summaries = []
    for design in dict.fromkeys(trial["design"] for trial in trials):
        own = [trial for trial in trials if trial["design"] == design]
        for method in METHODS:
            for metric in _PRECISIONS:
                names = {"page": design, "method": method, "metric": metric}
                summaries.append({**names, **summary([trial["precision"][method][metric] for trial in own])})
        for what in ("grid", "evidence", "kinds"):
            for name in own[0].get(what, ()):
                names = {"page": design, what: name, "metric": "balanced accuracy"}
                summaries.append({**names, **summary([trial[what][name] for trial in own])})
        for way in _WAYS:
            for count in own[0]["labels"][way]:
                names = {"page": design, "labels": f"{count} {way}", "metric": "balanced accuracy"}
                summaries.append({**names, **summary([trial["labels"][way][count] for trial in own])})
    return summaries


def markdown(document: Document) -> str:
    """Return the report."""
    trials, settings = document["trials"], document["settings"]
    text = (
        f"{len(settings['designs'])} drawn pages of 50 days, visited every hour; {len(settings['splits'])} times "
        f"{settings['days']} days to learn from and the others to judge by; mean ± standard error over these. The "
        "paper's pages are real ones. Learning uses no label; C is chosen by comparisons held out in time."
    )
    parts = [
        "# Which changes of a page matter",
        text,
        "## Mean average precision, %",
        _precision_table(trials, settings["designs"]),
        "## Gain in MAP over the Euclidean distance and over triplets, points, paired",
        _gains(trials),
        "## Share of the map, %",
        _GROUPED,
        _maps(trials, settings["designs"]),
        "## Seconds to learn 120 versions, features aside",
        _seconds(trials),
        "## Balanced accuracy without labels, %, by cells a side",
        _accuracies(trials, settings["designs"], "grid"),
        "## Balanced accuracy without labels, %, by evidence, beside table 2",
        _accuracies(trials, settings["designs"], "evidence", PAPER_ACCURACY),
        "## Balanced accuracy with labels, %",
        _labels(trials, settings["designs"]),
    ]
    if "kinds" in trials[0]:  # results of earlier versions have none
        heading = "## Balanced accuracy with so many labels of each kind, drawn by chance, %, beside table 3"
        parts += [heading, _accuracies(trials, settings["designs"], "kinds", PAPER_ACCURACY)]
    if document.get("series"):
        parts += ["## A real series", _series(document["series"])]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the MAP of the full metric, and the least and most in the paper."""
    values = [trial["precision"][FULL]["MAP"] for trial in document["trials"]]
    published = [value for value in PAPER[PRINTED] if value is not None]
    return (
        "Find the important changes of pages without any label (full metric): mAP, %",
        mean_and_error(values),
        f"{min(published)} to {max(published)} in the paper, on other pages",
    )


def plot(path: Path, document: Document) -> None:
    """Draw the maps of every page under its blocks, and accuracy against labels."""
    trials, designs = document["trials"], document["settings"]["designs"]
    with panels(path, 1, 2, (11.0, 4.2), squeeze=False) as figure:
        precision, labels = figure.axes
        for method in METHODS:
            values = [np.mean(_precision(trials, design, method, "MAP")) for design in designs]
            precision.plot(designs, [100 * value for value in values], marker="o", label=method)
        precision.set(ylabel="MAP, %", title="no labels")
        for way in _WAYS:
            values = [np.mean([trial["labels"][way][str(count)] for trial in _keyed(trials)]) for count in COUNTS]
            labels.plot(COUNTS, [100 * value for value in values], marker="o", label=way)
        labels.set(xlabel="labels", ylabel="balanced accuracy, %", title="labels")
        for axis in figure.axes:
            axis.legend(fontsize="small")


def _keyed(trials: Trials) -> list[dict[str, Any]]:
    """Return the trials with numbers as texts in their tables, as a file of JSON has them."""
    return [
        {
            **trial,
            "labels": {
                way: {str(key): value for key, value in by_count.items()} for way, by_count in trial["labels"].items()
            },
            "grid": {str(key): value for key, value in trial["grid"].items()},
        }
        for trial in trials
    ]


def _precision(trials: Trials, design: str | None, method: str, metric: str) -> NDArray[np.float64]:
    return np.array(
        [trial["precision"][method][metric] for trial in trials if design is None or trial["design"] == design]
    )


def _precision_table(trials: Trials, designs: Sequence[str]) -> str:
    lines = [["distance", *designs, "all pages", *(f"paper, {page}" for page in PAPER_PAGES)]]
    for method in METHODS:
        ours = [mean_and_error(_precision(trials, design, method, "MAP")) for design in (*designs, None)]
        paper = ["" if value is None else str(value) for value in PAPER.get(method, (None,) * len(PAPER_PAGES))]
        lines.append([method, *ours, *paper])
    return table(lines)


def _gains(trials: Trials) -> str:
    lines = [["metric", f"over {EUCLIDEAN}", f"over {TRIPLETS}", f"over {DIAGONAL}"]]
    for method in LEARNED:
        own = _precision(trials, None, method, "MAP")
        baselines = [_precision(trials, None, other, "MAP") for other in (EUCLIDEAN, TRIPLETS, DIAGONAL)]
        lines.append([method, *(mean_and_error(own - other, sign="+") for other in baselines)])
    return table(lines)


def _maps(trials: Trials, designs: Sequence[str]) -> str:
    lines = [["metric", *designs]]
    for method in LEARNED:
        cells = []
        for design in designs:
            maps = [trial["precision"][method]["map"] for trial in trials if trial["design"] == design]
            shares = [
                mean_and_error([sum(importance.get(kind, 0.0) for kind in kinds) for importance in maps])
                for kinds in GROUPS.values()
            ]
            cells.append("; ".join(shares))
        lines.append([method, *cells])
    return table(lines)


def _seconds(trials: Trials) -> str:
    lines = [["metric", "median", "most"]]
    for method in LEARNED:
        seconds = [trial["precision"][method]["seconds"] for trial in trials]
        lines.append([method, f"{np.median(seconds):.2f}", f"{max(seconds):.2f}"])
    return table(lines)


def _accuracies(
    trials: Trials, designs: Sequence[str], what: str, paper: Mapping[str, tuple[float, ...]] | None = None
) -> str:
    published = paper or {}
    lines = [["", *designs, "all pages", *(f"paper, {page}" for page in PAPER_PAGES if published)]]
    keyed = _keyed(trials)
    for name in keyed[0][what]:
        values = [(trial["design"], trial[what][name]) for trial in keyed]
        cells = [[value for design, value in values if column in (None, design)] for column in (*designs, None)]
        figures = published.get(name, ("",) * len(PAPER_PAGES if published else ()))
        lines.append([name, *map(mean_and_error, cells), *map(str, figures)])
    return table(lines)


def _labels(trials: Trials, designs: Sequence[str]) -> str:
    lines = [["labels", *designs, "all pages"]]
    keyed = _keyed(trials)
    ways = [("none", [(trial["design"], trial["evidence"][VISUAL]) for trial in keyed])]
    ways += [
        (f"{count} {way}", [(trial["design"], trial["labels"][way][str(count)]) for trial in keyed])
        for way in _WAYS
        for count in COUNTS
    ]
    for name, values in ways:
        cells = [[value for design, value in values if column in (None, design)] for column in (*designs, None)]
        lines.append([name, *map(mean_and_error, cells)])
    few, many = COUNTS[-2:]
    active = np.array([trial["labels"][ACTIVE][str(few)] for trial in keyed])
    drawn = np.array([trial["labels"][RANDOM][str(many)] for trial in keyed])
    gain = f"{few} asked for over {many} at random, paired, points: {mean_and_error(active - drawn, sign='+')}"
    return f"{table(lines)}\n\n{gain}"


def _series(series: Mapping[str, Any]) -> str:
    said = (
        f"{series['versions']} screenshots of one page, daily with gaps of up to {series['longest gap, hours']:.0f} "
        f"hours, in steps: {series['quadruplets']:,} comparisons. Importance of the regions, in thousandths:"
    )
    parts = [said]
    for form in ("diagonal", "full"):
        figures = series[form]
        values = np.array(figures["importance"]).reshape(GRID, GRID)
        order = "" if figures["order"] is None else f", {figures['order']:.0%} of held-out comparisons in order"
        head = f"{form}, {figures['seconds']:.1f} s{order}"
        cells = "\n".join(" ".join(f"{1000 * value:4.0f}" for value in row) for row in values)
        parts.append(f"**{head}**\n\n```\n{cells}\n```")
    return "\n\n".join(parts)
