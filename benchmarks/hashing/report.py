"""Markdown tables and plot of the hashing benchmark."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TEST, UNSEEN, of_database
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, rows_with, table
from benchmarks.hashing.methods import KERNEL, METHODS, OURS, TUNED_BITS, WITH_INSTANCES, Method
from benchmarks.hashing.trial import LABELLED, PROTOCOLS
from benchmarks.wikipedia.report import PUBLISHED

WITHIN = {"across": False, "within": True}
TITLES = {"corel": "Photographs", "wikipedia": "Wikipedia documents"}
PAIRS = (("image", "text"), ("text", "image"))
FLOATS = (("GMLDA", 0.275, 0.210), *PUBLISHED)
"""Published figures; GMLDA (Sharma et al., CVPR 2012) as later papers compare it on the same documents."""
# Distinct in the common kinds of colour blindness.
COLORS = {
    "multi-npp, sign": "#999999",
    "multi-npp, lsh": "#0072B2",
    "multi-npp, itq": "#009E73",
    "posteriors, lsh": "#CC79A7",
    "posteriors, itq": "#D55E00",
    "scm": "#56B4E9",
    "scratch": "#E69F00",
    "class codes": "#F0E442",
    "npp-hash": "#000000",
}
Trials = Sequence[Mapping[str, Any]]
Values = NDArray[np.float64]


def markdown(document: Document) -> str:
    """Return the report: mAP by protocol, a table for each set and number of bits; and how npp-hash compares."""
    settings = document["settings"]
    seeds = settings["seeds"]
    protocol = (
        f"mAP over the whole ranking, mean ± standard error of {len(seeds)} seeds. Within views: the mean of both "
        "views; across: of both directions. The best codes are bold. *Labelled*: training items with the codes that "
        "were learned from their labels; *trained*: the same items by their features; *unseen*: test items that ask "
        f"each other. Settings: {settings['tuning']}."
    )
    parts = ["# Codes across views", protocol]
    for data, title in TITLES.items():
        trials = rows_with(document["trials"], data=data)
        if trials:
            parts.append(f"## {title}")
            parts += [f"### {title}, {bits} bits\n\n{table(_lines(trials, bits))}" for bits in settings["bits"]]
    parts.append(f"## npp-hash and the best other codes\n\n{table(list(_comparisons(document)))}")
    parts.append(f"## What {TUNED_BITS} bits keep of the best embeddings\n\n{table(list(_kept(document)))}")
    parts += _beyond_classes(document)
    if documents := rows_with(document["trials"], data="wikipedia"):
        parts.append(f"## Wikipedia by direction, {TUNED_BITS} bits\n\n{table(list(_directions(documents)))}")
        parts.append(
            "*test*: all test documents, the query's own among them, as published. The published figures are of "
            "embeddings of floats, on the same documents; their features and tuning need not be ours."
        )
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    trials = rows_with(document["trials"], data="corel")
    ours, rival = (_headline(trials, name) for name in (OURS[1], KERNEL + "scratch"))
    task = f"Find photographs across colour and SIFT words by codes of {TUNED_BITS} bits (npp-hash): mAP"
    return task, ours, f"{rival}: SCRATCH"


def _headline(trials: Trials, method: str) -> str:
    figures = [(database, _figures(trials, method, TUNED_BITS, database, "across")) for database in PROTOCOLS]
    for metric in (beside.RECALL, beside.COVERAGE):
        figures.append(
            (f"{beside.TITLES[metric]}, unseen", _figures(trials, method, TUNED_BITS, UNSEEN, "across", metric))
        )
    return "; ".join(f"{_cell(values)} ({name})" for name, values in figures if not np.isnan(values).any())


def means(
    trial: Mapping[str, Any], method: str, bits: int | None, database: str, where: str, metric: str = beside.MAP
) -> float:
    """Return a method's figure in one trial, mean over the directions across views, or over the views; NaN of none."""
    rows = of_database(rows_with(trial["rows"], method=method, bits=bits, metric=metric), database, "")
    values = [row["value"] for row in rows if (row["query_view"] == row["database_view"]) == WITHIN[where]]
    return float(np.mean(values)) if values else float("nan")


def plot(path: Path, document: Document) -> None:
    """Draw mAP across views against bits, a panel for each data set and protocol, a curve for each kind of codes."""
    with panels(path, len(TITLES), len(PROTOCOLS), (14, 9)) as figure:
        axes = iter(figure.axes)
        for data, title in TITLES.items():
            trials = rows_with(document["trials"], data=data)
            for database in PROTOCOLS:
                axis = next(axes)
                _draw(axis, trials, document["settings"]["bits"], database)
                axis.set_title(f"{title}, {database} database")
        figure.axes[0].set_ylabel("mAP across views")
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=6, frameon=False, fontsize=8)


def _draw(axis: Any, trials: Trials, bits: Sequence[int], database: str) -> None:
    for method in (method for method in METHODS if method.binary and method.name not in WITH_INSTANCES):
        values = [_figures(trials, method.name, length, database, "across").mean() for length in bits]
        color = COLORS[method.name.removeprefix(KERNEL)]
        style = "-" if method.kernel else "--"
        axis.plot(bits, values, style, color=color, marker="o", markersize=3, label=method.name)
    axis.set_xscale("log", base=2)
    axis.set_xticks(bits, [str(length) for length in bits])
    axis.set_xlabel("bits")


def _figures(
    trials: Trials, method: str, bits: int | None, database: str, where: str, metric: str = beside.MAP
) -> Values:
    return np.array([means(trial, method, bits, database, where, metric) for trial in trials])


def _methods(trials: Trials) -> list[Method]:
    """Return the methods that were measured: results of earlier versions lack some."""
    names = {row["method"] for trial in trials for row in trial["rows"]}
    return [method for method in METHODS if method.name in names]


def _lines(trials: Trials, bits: int) -> list[list[str]]:
    columns = [(where, database) for where in WITHIN for database in PROTOCOLS]
    cells = {
        method.name: [_figures(trials, method.name, bits if method.binary else None, *reversed(column))
                      for column in columns]
        for method in _methods(trials)
    }  # fmt: skip
    lines = [["method", *(f"{where}, {database}" for where, database in columns)]]
    codes = [method.name for method in _methods(trials) if method.binary]
    best = [max(codes, key=lambda name: cells[name][number].mean()) for number in range(len(columns))]
    for method in _methods(trials):
        row = [_cell(values) for values in cells[method.name]]
        row = [f"**{cell}**" if best[number] == method.name else cell for number, cell in enumerate(row)]
        lines.append([method.name + ("" if method.binary else " (floats)"), *row])
    return lines


def _comparisons(document: Document) -> Iterator[list[str]]:
    """Yield, for each set and protocol, npp-hash's mAP less the best other codes' at each number of bits.

    Without the kernel, with it, and of all: the better of the two less the best of all others. Paired by seed.
    """
    bits = document["settings"]["bits"]
    yield ["data", "database", "views", "features", *(f"{length} bits" for length in bits)]
    groups = {"as they are": [False], "with the kernel": [True], "all": [False, True]}
    for data in TITLES:
        trials = rows_with(document["trials"], data=data)
        for database, where, (group, kernels) in ((d, w, g) for d in PROTOCOLS for w in WITHIN for g in groups.items()):
            if trials:
                methods = [method for method in METHODS if method.binary and method.kernel in kernels]
                methods = [method for method in methods if method.name not in WITH_INSTANCES]
                cells = [_difference(trials, methods, length, database, where) for length in bits]
                yield [data, database, where, group, *cells]


def _difference(trials: Trials, methods: Sequence[Method], bits: int, database: str, where: str) -> str:
    figures = {method.name: _figures(trials, method.name, bits, database, where) for method in methods}
    ours, other = (
        max((name for name in figures if (name in OURS) == own), key=lambda name: figures[name].mean())
        for own in (True, False)
    )
    return f"{_cell(figures[ours] - figures[other], '+')} ({other})"


def _kept(document: Document) -> Iterator[list[str]]:
    """Yield which share of the best embeddings' mAP the codes of a set keep."""
    yield ["data", "views", "database", "best embeddings", *OURS]
    for data in TITLES:
        trials = rows_with(document["trials"], data=data)
        for where, database in ((where, database) for where in WITHIN for database in PROTOCOLS[1:] if trials):
            floats = {m.name: _figures(trials, m.name, None, database, where) for m in METHODS if not m.binary}
            best = max(floats, key=lambda name: floats[name].mean())
            shares = [_figures(trials, name, TUNED_BITS, database, where) / floats[best] for name in OURS]
            yield [data, where, database, f"{best}, {_cell(floats[best])}", *map(_cell, shares)]


def _beyond_classes(document: Document) -> list[str]:
    """Return a table for each set of the figures beside mAP; results of earlier versions have none."""
    if not any(row["metric"] == beside.COVERAGE for trial in document["trials"] for row in trial["rows"]):
        return []
    text = (
        f"Means over the directions and seeds: {beside.EXPLAINED}. Codes at equal distances are hits in a drawn order."
    )
    parts = ["## Own items, coverage and hubness", text]
    for data, title in TITLES.items():
        trials = rows_with(document["trials"], data=data)
        figures: dict[str, dict[str, float]] = {}
        for method in _methods(trials):
            bits, name = (TUNED_BITS, method.name) if method.binary else (None, f"{method.name} (floats)")
            of_trials = {
                metric: _figures(trials, method.name, bits, UNSEEN, "across", metric) for metric in beside.TITLES
            }
            figures[name] = {
                metric: float(np.mean(values)) for metric, values in of_trials.items() if np.isfinite(values).all()
            }
        if trials:
            parts += [f"### {title}, {TUNED_BITS} bits, across views, unseen", table(beside.lines(figures))]
    return parts


def _directions(trials: Trials) -> Iterator[list[str]]:
    databases = (LABELLED, TEST, UNSEEN)
    yield ["method", *(f"{query} → {target}, {name}" for name in databases for query, target in PAIRS)]
    for method in _methods(trials):
        bits = TUNED_BITS if method.binary else None
        cells = []
        for database, (query, target) in ((database, pair) for database in databases for pair in PAIRS):
            names = {
                "metric": beside.MAP,
                "method": method.name,
                "bits": bits,
                "query_view": query,
                "database_view": target,
            }
            rows = [row for trial in trials for row in rows_with(trial["rows"], database=database, **names)]
            cells.append(_cell(np.array([row["value"] for row in rows])))
        yield [method.name + ("" if method.binary else " (floats)"), *cells]
    for name, *figures in FLOATS:
        yield [f"{name} (published, floats)", "", "", *(f"{figure:.3f}" for figure in figures), "", ""]


def _cell(values: Any, sign: str = "") -> str:
    return "" if np.isnan(values).any() else mean_and_error(values, 1, 4, sign)
