"""Tables of the benchmark of kinds of information."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TRAINED, UNSEEN
from benchmarks.frame.tables import mean_and_error, summary, table
from benchmarks.unseen.report import standard_error

Trials = Sequence[Mapping[str, Any]]
Values = dict[str, NDArray[np.float64]]
"""The values of a figure over the splits, by method."""
FIRST = "co-em"


def figures_of(trials: Trials) -> dict[tuple[str, str, str, str], Values]:
    """Return the values by set, kind, database and metric, then by method."""
    found: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    for trial in trials:
        for kind, method, database, metric, value in trial["figures"]:
            found.setdefault((trial["data"], kind, database, metric), {}).setdefault(method, []).append(value)
    return {key: {name: np.array(values) for name, values in one.items()} for key, one in found.items()}


def rows(trials: Trials) -> list[dict[str, Any]]:
    """Return mean and deviation over the splits of every figure."""
    names = ("data", "kind", "database", "metric")
    return [
        {**dict(zip(names, key, strict=True)), "method": method, **summary(values)}
        for key, methods in figures_of(trials).items()
        for method, values in methods.items()
    ]


def lead(values: Values, count: int, overlap: float) -> tuple[str, float, float] | None:
    """Return the best method but ``FIRST``, and by how much ``FIRST`` is ahead of it, with the standard error of the
    paired difference; None where ``FIRST`` or all others lack a split."""
    others = [name for name in values if name != FIRST and len(values[name]) == count]
    if not others or len(values.get(FIRST, ())) < count:
        return None
    best = max(others, key=lambda name: float(values[name].mean()))
    gain = values[FIRST] - values[best]
    return best, float(gain.mean()), standard_error(gain, overlap) if count > 1 else float("inf")


def markdown(document: Document) -> str:
    """Return the report: for every kind of information the mAP of all methods on every set."""
    trials, settings = document["trials"], document["settings"]
    figures, sets = figures_of(trials), list(dict.fromkeys(trial["data"] for trial in trials))
    text = (
        f"Of at most {settings['most_items']:,} training items something is known: their classes, of some or wrong "
        "ones of some; pairs of items of one class, some of them wrong; nothing but that an item's views belong "
        "together. Every method learns from the same, at its own defaults: those that take classes take items that "
        "pairs join for one; Multi-NPP and cluster CCA (Rasiwasia et al., 2014) all pairs of similar items; kernel CCA "
        "and PLS the views of items. Held-out items ask each other across the views: mAP in per cent, mean over all "
        "directions, ± standard error over the splits. The last columns: the best of the others, and what co-EM is "
        "ahead, paired, with a standard error corrected for overlapping splits (Nadeau and Bengio, 2003)."
    )
    parts = ["# Kinds of supervision: few, wrong and no labels, pairs, missing views", text, *_summary(trials)]
    for name in sets:
        parts.append(f"## {name}")
        parts += [table(_lines(trials, figures, name, UNSEEN))]
    parts += ["## In the database that was learned from", "Held-out items ask the items that were learned from."]
    for name in sets:
        parts.append(f"### {name}, trained")
        parts += [table(_lines(trials, figures, name, TRAINED))]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    """Return the mean over the sets of two labels a class, of co-EM and of class posteriors."""
    figures = figures_of(document["trials"])
    kind, other = "2 labels a class", "posteriors"
    means = {
        name: np.mean([of[name].mean() for key, of in figures.items() if key[1:] == (kind, UNSEEN, "across")])
        for name in (FIRST, other)
    }
    shown = f"{means[FIRST]:.3f} ({other}: {means[other]:.3f})"
    return "two labels a class on five sets across views, unseen items: mAP", shown, ""


def _lines(
    trials: Trials, figures: Mapping[tuple[str, str, str, str], Values], name: str, database: str
) -> list[list[str]]:
    own = [trial for trial in trials if trial["data"] == name]
    overlap = own[0]["sizes"][1] / own[0]["sizes"][0]
    methods = list(dict.fromkeys(figure[1] for figure in own[0]["figures"]))
    lines = [["known", *methods, "best other", "ahead"]]
    for kind in dict.fromkeys(figure[0] for figure in own[0]["figures"]):
        values = figures.get((name, kind, database, "across"), {})
        cells = [mean_and_error(values.get(method, ())) for method in methods]
        found = lead(values, len(own), overlap)
        shown = ["", ""] if found is None else [found[0], f"{100 * found[1]:+.1f} ± {100 * found[2]:.1f}"]
        lines.append([kind, *cells, *shown])
    return lines


def _summary(trials: Trials) -> list[str]:
    """Return a table of the kinds: on how many sets co-EM is first, equal and behind, beyond its standard error."""
    figures = figures_of(trials)
    lines = [["known", "sets where co-EM is first", "equal", "behind", "mean mAP of co-EM", "of the best others"]]
    for kind in dict.fromkeys(figure[0] for figure in trials[0]["figures"]):
        counts, ours, theirs = [0, 0, 0], [], []
        for name in dict.fromkeys(trial["data"] for trial in trials):
            own = [trial for trial in trials if trial["data"] == name]
            values = figures.get((name, kind, UNSEEN, "across"), {})
            found = lead(values, len(own), own[0]["sizes"][1] / own[0]["sizes"][0])
            if found is None:
                continue
            best, gain, error = found
            counts[0 if gain > error else 2 if gain < -error else 1] += 1
            ours.append(values[FIRST].mean())
            theirs.append(values[best].mean())
        means = [f"{100 * np.mean(one):.1f}" if one else "" for one in (ours, theirs)]
        lines.append([kind, *map(str, counts), *means])
    return ["## By what is known", table(lines)]
