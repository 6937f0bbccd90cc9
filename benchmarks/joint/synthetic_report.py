"""Tables and plot of the synthetic benchmark, the paper's gains beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.joint.data import KINDS
from benchmarks.joint.methods import area

Trials = Sequence[Mapping[str, Any]]

SHARINGS = ("joint", "independent", "pooled")
PAPER: Mapping[tuple[str, str], float] = {
    ("uniform", "joint"): 26,
    ("uniform", "pooled"): -40,
    ("clustered", "joint"): 44,
    ("clustered", "pooled"): -29,
}
"""Table 3: by how much the area under the error is less than that of independent embeddings, per cent."""
CONSISTENCY = {"uniform": 0.60, "clustered": 0.69}
COLORS = {"joint": "#0072B2", "independent": "#D55E00", "pooled": "#555555"}


def name(sharing: str, width: int) -> str:
    """Return what the trials call a method."""
    return f"{sharing}, D = {width}"


def progress(trial: Mapping[str, Any]) -> str:
    """Return the errors of a trial in one line."""
    last = max(curve["triplets"] for curve in trial["curves"])
    curves = [curve for curve in trial["curves"] if curve["triplets"] == last]
    return f"{last:,} triplets: " + ", ".join(
        f"{curve['method']} {100 * np.mean(curve['errors']):.1f}" for curve in curves
    )


def rows(trials: Trials, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return mean and deviation of every error, and of the gains of area over independent embeddings."""
    summaries: list[dict[str, Any]] = []
    for kind in KINDS:
        of_kind = [trial for trial in trials if trial["kind"] == kind]
        for width in settings["widths"]:
            for sharing in SHARINGS:
                method = name(sharing, width)
                for budget in settings["budgets"]:
                    for metric in ("errors", "neighbor errors"):
                        if values := _errors(of_kind, method, budget, metric):
                            names = {"kind": kind, "method": method, "triplets": budget, "metric": metric}
                            summaries.append({**names, **summary(values)})
                if sharing != "independent" and len(settings["budgets"]) > 1:
                    gains = _gains(of_kind, sharing, width, settings["budgets"])
                    summaries.append({"kind": kind, "method": method, "metric": "area gained", **summary(gains)})
    return summaries


def headline(document: Document) -> tuple[str, str, str]:
    """Return the gain of joint embeddings of 10 dimensions, or of the widest there are."""
    settings, ours, paper = document["settings"], [], []
    for kind in KINDS:
        of_kind = _of(document, kind)
        gains = _gains(of_kind, "joint", max(settings["widths"]), settings["budgets"])
        ours.append(f"{mean_and_error(gains)} ({kind})")
        paper.append(f"{PAPER[kind, 'joint']} ({kind})")
    what = "Learn six notions of similarity jointly instead of one by one: less area under the error, %"
    return what, ", ".join(ours), f"{', '.join(paper)} in the paper"


def markdown(document: Document) -> str:
    """Return the report: errors by number of triplets, gains beside the paper's, and the further questions."""
    settings = document["settings"]
    parts = ["# Joint embeddings of six notions, after Zhang, Maji and Tomioka (2015), figures 3, 6 and 7"]
    parts.append(_protocol(settings))
    for kind in KINDS:
        of_kind = _of(document, kind)
        consistency = mean_and_error([trial["consistency"] for trial in of_kind], 1, 2)
        parts.append(
            f"## {kind.capitalize()} objects\n\nMean triplet error, %. Two views order {consistency} of all triplets "
            f"equally; in the paper {CONSISTENCY[kind]:.2f}.\n\n{_curves(of_kind, settings, 'errors')}"
        )
        if kind == "clustered":
            text = "Leave-one-out 3-NN error, %, of the centre that an object was drawn about:"
            parts.append(f"{text}\n\n{_curves(of_kind, settings, 'neighbor errors')}")
    if len(settings["budgets"]) > 1:
        parts.append(f"## Area under the error\n\n{_areas(document)}")
    uniform = _of(document, "uniform")
    if "wide" in uniform[0]:
        parts += [f"## 60 shared dimensions\n\n{_wide(uniform)}", f"## Triplets of one view\n\n{_one_view(uniform)}"]
    return "\n\n".join(parts)


def plot(path: Path, document: Document) -> None:
    """Draw the errors by number of triplets, a panel for each kind of objects."""
    settings = document["settings"]
    with panels(path, 1, len(KINDS), (11, 4.5), sharey=True) as figure:
        for axis, kind in zip(figure.axes, KINDS, strict=True):
            for width in settings["widths"]:
                for sharing in SHARINGS:
                    errors = [
                        100 * np.mean(_errors(_of(document, kind), name(sharing, width), budget, "errors"))
                        for budget in settings["budgets"]
                    ]
                    style = "-" if width == max(settings["widths"]) else "--"
                    label = name(sharing, width)
                    axis.semilogx(settings["budgets"], errors, style, color=COLORS[sharing], marker="o", label=label)
            axis.set_title(f"{kind} objects")
            axis.set_xlabel("triplets of all six views")
        figure.axes[0].set_ylabel("triplet error, %")
        figure.axes[0].legend(frameon=False)


def _protocol(settings: Mapping[str, Any]) -> str:
    return (
        f"{settings['objects']} objects, six views of 2 to 7 dimensions, as many triplets of each, "
        f"{settings['test triplets of a view']:,} others to test; {len(settings['seeds'])} seeds, ± the standard error "
        f"over them. All have the hinge loss and the same solver; {settings['folds']} folds choose the weights."
    )


def _curves(trials: Trials, settings: Mapping[str, Any], metric: str) -> str:
    lines = [["method", *(f"{budget:,}" for budget in settings["budgets"])]]
    for width in settings["widths"]:
        for sharing in SHARINGS:
            method = name(sharing, width)
            cells = [mean_and_error(_errors(trials, method, budget, metric)) for budget in settings["budgets"]]
            lines.append([method, *cells])
    return table(lines)


def _areas(document: Document) -> str:
    settings = document["settings"]
    lines = [["less area than independent, %", *KINDS, *(f"paper, {kind}" for kind in KINDS)]]
    for width in settings["widths"]:
        for sharing in ("joint", "pooled"):
            gains = [_gains(_of(document, kind), sharing, width, settings["budgets"]) for kind in KINDS]
            paper = [str(PAPER[kind, sharing]) for kind in KINDS]
            lines.append([name(sharing, width), *map(mean_and_error, gains), *paper])
    return table(lines)


def _wide(trials: Trials) -> str:
    budgets = sorted({point["triplets"] for point in trials[0]["wide"]})
    methods = list(dict.fromkeys(point["method"] for point in trials[0]["wide"]))
    lines = [["triplet error, %", *(f"{budget:,} triplets" for budget in budgets)]]
    for method in methods:
        cells = []
        for budget in budgets:
            points = [
                point
                for trial in trials
                for point in trial["wide"]
                if (point["method"], point["triplets"]) == (method, budget)
            ]
            cells.append(mean_and_error([float(np.mean(point["errors"])) for point in points]))
        lines.append([method, *cells])
    return table(lines)


def _one_view(trials: Trials) -> str:
    added = sorted({point["added"] for point in trials[0]["one view"]})
    lines = [["method", "triplet error, %, of", *(f"{count:,} more" for count in added)]]
    for method in dict.fromkeys(point["method"] for point in trials[0]["one view"]):
        for what, views in (("the view", slice(0, 1)), ("the others", slice(1, None))):
            cells = []
            for count in added:
                points = [
                    point
                    for trial in trials
                    for point in trial["one view"]
                    if (point["method"], point["added"]) == (method, count)
                ]
                cells.append(mean_and_error([float(np.mean(point["errors"][views])) for point in points]))
            lines.append([method, what, *cells])
    return table(lines)


def _of(document: Document, kind: str) -> Trials:
    return [trial for trial in document["trials"] if trial["kind"] == kind]


def _errors(trials: Trials, method: str, budget: int, metric: str) -> list[float]:
    """Return the mean over views of a method's errors, by trial."""
    return [
        float(np.mean(curve[metric]))
        for trial in trials
        for curve in trial["curves"]
        if (curve["method"], curve["triplets"]) == (method, budget) and curve[metric]
    ]


def _gains(trials: Trials, sharing: str, width: int, budgets: Sequence[int]) -> list[float]:
    """Return by what share the area of a method is less than that of independent embeddings, by trial."""
    gains = []
    for trial in trials:
        areas = [
            area(budgets, [_errors([trial], name(way, width), budget, "errors")[0] for budget in budgets])
            for way in (sharing, "independent")
        ]
        gains.append(1 - areas[0] / areas[1])
    return gains
