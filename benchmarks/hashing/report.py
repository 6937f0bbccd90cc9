"""Markdown tables and plot of the hashing benchmark."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TEST, TRAINED, UNSEEN, of_database
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import mean_and_error, rows_with, table
from benchmarks.hashing.methods import COMPARED, METHODS, TUNED_BITS

WITHIN = {"across": False, "within": True}
FIGURES = (("map", None), ("precision", 50), ("precision", 100))
USUAL = {"corel": TRAINED, "wikipedia": TEST}
"""What the queries search in the papers' protocols."""
TITLES = {"corel": "Photographs", "wikipedia": "Wikipedia documents"}
# Distinct in the common kinds of colour blindness; with a kernel the line is solid.
COLORS = {
    "multi-npp, sign": "#E69F00",
    "multi-npp, lsh": "#0072B2",
    "multi-npp, itq": "#009E73",
    "semantic, lsh": "#CC79A7",
    "scm": "#56B4E9",
    "npp-hash": "#000000",
}
Rows = Sequence[Mapping[str, Any]]


def markdown(document: Document) -> str:
    """Returns the report: mAP and precision against bits, and what the supervised codes are compared with."""
    settings = document["settings"]
    protocol = (
        f"Photographs: {len(settings['seeds'])} splits (seeds {settings['seeds'][0]} to {settings['seeds'][-1]}), mean "
        "± standard error; the training part is the database. Wikipedia: one split; the test documents are queries and "
        f"database. Settings: {settings['tuning']}. Ties: {settings['ties']}."
    )
    if any(len(_databases(document, data)) > 1 for data in TITLES):
        protocol += " Among unseen items: the test part searches itself, but no query finds its own item, in no view."
    parts = ["# Codes across views", protocol]
    for data, title in TITLES.items():
        parts.append(f"## {title}")
        for (metric, k), where in product(FIGURES, WITHIN):
            head = "mAP" if metric == "map" else f"precision at {k}"
            parts.append(f"### {head}, {where} views\n\n{table(_lines(document, data, metric, k, where))}")
        for database, where in product(_databases(document, data)[1:], WITHIN):
            lines = _lines(document, data, "map", None, where, database)
            parts.append(f"### mAP, {where} views, among {database} items\n\n{table(lines)}")
    parts.append(f"## {TUNED_BITS}-bit codes compared, mAP across views\n\n{table(list(_comparisons(document)))}")
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    trials = rows_with(document["trials"], data="corel")
    codes, others = (
        "; among unseen items ".join(
            _cell([means(trial, name, TUNED_BITS, "map", None, "across", database) for trial in trials])
            for database in _databases(document, "corel")
        )
        for name in ("npp-hash", "scm")
    )
    return (f"photographs by {TUNED_BITS} bits across colour and SIFT words, npp-hash: mAP", codes, f"{others} (SCM)")


def means(
    trial: Mapping[str, Any], method: str, bits: int | None, metric: str, k: int | None, where: str, database: str = ""
) -> float:
    """Returns a method's figure on one split, mean over the directions across views, or over the views.

    It is that of a database, by default the one that is usual for the data.
    """
    rows = rows_with(trial["rows"], method=method, bits=bits, metric=metric, k=k)
    rows = of_database(rows, database or USUAL[trial["data"]], USUAL[trial["data"]])
    within = WITHIN[where]
    return float(np.mean([row["value"] for row in rows if (row["query_view"] == row["database_view"]) == within]))


def plot(path: Path, document: Document) -> None:
    """Draws mAP across views against bits, a panel for each data set, a curve for each kind of codes."""
    with panels(path, 1, 2, (11, 5)) as figure:
        for axis, (data, title) in zip(figure.axes, TITLES.items(), strict=True):
            trials = rows_with(document["trials"], data=data)
            _draw_codes(axis, trials, document["settings"]["bits"])
            _draw_embeddings(axis, trials, document["settings"]["bits"])
            axis.set_title(f"{title}: across views")
        axes = figure.axes
        axes[0].set_ylabel("mAP")
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=5, frameon=False, fontsize=8)


def _draw_codes(axis: Any, trials: Rows, bits: Sequence[int]) -> None:
    for method in (method for method in METHODS if method.binary and method.across):
        values = [_mean_map(trials, method.name, length) for length in bits]
        style = "-" if method.kernel else "--"
        color = COLORS[method.name.removeprefix("kernel ")]
        axis.plot(bits, values, style, color=color, marker="o", markersize=3, label=method.name)
    axis.set_xscale("log", base=2)
    axis.set_xticks(bits, [str(length) for length in bits])
    axis.set_xlabel("bits")


def _draw_embeddings(axis: Any, trials: Rows, bits: Sequence[int]) -> None:
    for number, method in enumerate(method for method in METHODS if not method.binary):
        value = _mean_map(trials, method.name, None)
        axis.axhline(value, color="#999999", linestyle="-" if method.kernel else "--", linewidth=0.8)
        side = ("left", "right")[number % 2]  # names of equally good embeddings must not lie on each other
        place = (bits[0] if side == "left" else bits[-1], value)
        axis.annotate(method.name, place, fontsize=6, ha=side, va="bottom", color="#777777")


def _databases(document: Document, data: str) -> list[str]:
    """Returns the databases that there are figures of, the usual one first."""
    rows = [row for trial in rows_with(document["trials"], data=data) for row in trial["rows"]]
    return [USUAL[data], *(name for name in (UNSEEN, TRAINED) if name != USUAL[data] and of_database(rows, name, ""))]


def _mean_map(trials: Rows, method: str, bits: int | None) -> float:
    return float(np.mean([means(trial, method, bits, "map", None, "across") for trial in trials]))


def _lines(
    document: Document, data: str, metric: str, k: int | None, where: str, database: str = ""
) -> list[list[str]]:
    bits = document["settings"]["bits"]
    trials = rows_with(document["trials"], data=data)
    lines = [["method", "embeddings", *(f"{b} bits" for b in bits)]]
    for method in (method for method in METHODS if method.across or where == "within"):
        lengths = [None, *bits]
        cells = ["" if (length is None) == method.binary else _cell(
            [means(trial, method.name, length, metric, k, where, database) for trial in trials]
        ) for length in lengths]  # fmt: skip
        lines.append([method.name, *cells])
    return lines


def _comparisons(document: Document) -> Iterator[list[str]]:
    yield ["data", "codes", "less", "difference, paired", "share of the best embeddings' mAP", "best embeddings"]
    for data in TITLES:
        trials = rows_with(document["trials"], data=data)

        def found(name: str, bits: int | None, trials: Rows = trials) -> Any:
            return np.array([means(trial, name, bits, "map", None, "across") for trial in trials])

        floats = {method.name: found(method.name, None) for method in METHODS if not method.binary}
        best = max(floats, key=lambda name: floats[name].mean())
        for codes, others in COMPARED:
            difference = found(codes, TUNED_BITS) - found(others, TUNED_BITS)
            share = found(codes, TUNED_BITS) / floats[best]
            yield [data, codes, others, _cell(difference, "+"), _cell(share), best]


def _cell(values: Any, sign: str = "") -> str:
    return mean_and_error(values, 1, 4, sign)
