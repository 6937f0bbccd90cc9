"""Markdown tables and a plot of the Multi-NPP benchmark, the paper's figures beside ours."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TRAINED, UNSEEN, of_database
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import Row, rows_with, table
from benchmarks.multi_npp.methods import KERNEL, LINEAR, PAIR, THREE_VIEWS, VIEWS
from benchmarks.multi_npp.paper import paper_row

TABLES = (
    (1, "Hybrid, across the views", (("color", "sift"), ("sift", "color")), ("hybrid",)),
    (2, "Color query, color database", (("color", "color"),), ("original", "pca", "cca", "multi-npp")),
    (3, "SIFT query, SIFT database", (("sift", "sift"),), ("original", "pca", "cca", "multi-npp")),
    (4, "Color query, SIFT database", (("color", "sift"),), ("pca", "cca", "multi-npp")),
    (5, "SIFT query, color database", (("sift", "color"),), ("pca", "cca", "multi-npp")),
)
BEYOND = (
    "start: where Multi-NPP starts, before any alternation. hybrid-color, hybrid-sift: both hybrids, by the frozen "
    "view. kernel ...: after a kernel map of each view. semantic: each view regressed on the classes."
)
COMPARED = (
    "At 50 dimensions, or a method's own. Beside each figure its difference to the best baseline's of that figure, "
    "trial by trial, ± the standard error of the mean difference. Best baselines: {best}."
)
PANELS = tuple((query, database) for query in PAIR for database in PAIR)
ALL_PANELS = tuple((query, database) for query in VIEWS for database in VIEWS)
OTHERS = ("start", "hybrid-color", "hybrid-sift", *(method.name for method in (*LINEAR, *KERNEL)))
LATER = tuple(method.name for method in THREE_VIEWS)
# One hue per method in every panel, distinct in the common kinds of colour blindness; hybrids by line style.
STYLES = {
    "original": ("#555555", ":"),
    "pca": ("#999999", "-"),
    "cca": ("#E69F00", "-"),
    "multi-npp": ("#0072B2", "-"),
    "hybrid-color": ("#009E73", "-"),
    "hybrid-sift": ("#009E73", "--"),
    "kernel semantic ridge": ("#CC79A7", "-"),
    "kernel multi-npp": ("#0072B2", "--"),
}


def markdown(document: Document) -> str:
    """Returns the report: the comparison, the paper's five tables, further methods, mAP and precision, in per cent."""
    settings = document["settings"]
    protocol = (
        f"{sum(settings['images'].values())} images in {len(settings['images'])} classes, {len(settings['seeds'])} "
        f"splits with {settings['test_size']:.0%} queries. k-NN accuracy in per cent, mean ± standard deviation over "
        "the splits; in brackets the paper's, on its own images. "
        f"Settings: {settings['tuning']}. Headline {settings['headline']}."
    )
    parts = ["# Multi-NPP, by the protocol of Quadrianto and Lampert (ICML 2011)", protocol]
    for database, title in _databases(document):
        parts.append(
            f"## Across the views, against the best baseline{title}\n\n{_compared(document, PANELS[1:3], database)}"
        )
        parts.append(
            f"## Within a view, against the original space{title}\n\n{_compared(document, PANELS[::3], database)}"
        )
    for number, title, pairs, methods in TABLES:
        parts.append(f"## Table {number}. {title}\n\n{_accuracies(document, pairs, methods)}")
    parts.append(f"## Beyond the paper\n\n{BEYOND}\n\n{_accuracies(document, PANELS, OTHERS)}")
    parts.append(f"## Three views\n\n{_accuracies(document, ALL_PANELS, (*LATER, 'original'))}")
    for database, title in _databases(document):
        if database != TRAINED:
            parts.append(f"## 5-NN accuracy{title}\n\n{_by_pair(document, 'accuracy', 5, database)}")
        parts.append(f"## mAP{title}\n\n{_by_pair(document, 'map', None, database)}")
        parts.append(f"## Precision at 10{title}\n\n{_by_pair(document, 'precision', 10, database)}")
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    dim = max(document["settings"]["dims"])
    found = ((name, _rows(document, "multi-npp", dim, "sift", "color", "accuracy", name)) for name in (TRAINED, UNSEEN))
    ours = {name: row for name, rows in found for row in rows if row["k"] == 5}
    paper = paper_row("multi-npp", dim, "sift", "color")
    published = f"{paper.values[0]} (other photographs)" if paper else ""
    splits = len(document["settings"]["seeds"])
    cells = {name: f"{100 * row['value']:.1f} ± {100 * row['std'] / np.sqrt(splits):.1f}" for name, row in ours.items()}
    shown = cells[TRAINED] + (f"; among unseen items {cells[UNSEEN]}" if UNSEEN in cells else "")
    return "photographs in classes, SIFT words query colour, Multi-NPP: 5-NN accuracy, %", shown, published


def plot(path: Path, document: Document) -> None:
    """Draws k-NN accuracy against k at the largest dimension, one panel per query and database view."""
    dim = max(document["settings"]["dims"])
    with panels(path, 2, 2, (10, 7.5), sharex=True, sharey=True) as figure:
        axes = figure.axes
        for axis, pair in zip(axes, PANELS, strict=True):
            _draw(axis, document, dim, *pair)
        axes[0].set_ylim(0, 100)
        for axis in axes[2:]:
            axis.set_xlabel("neighbours k")
        for axis in axes[::2]:
            axis.set_ylabel("k-NN accuracy (%)")
        splits = len(document["settings"]["seeds"])
        figure.suptitle(f"{dim} dimensions, {splits} splits (bands: one standard deviation)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)


def _draw(axis: Any, document: Document, dim: int, query: str, database: str) -> None:
    for method, (color, line) in STYLES.items():
        own = next((None for one in _methods(document, (method,)) if one[1] is None), dim)
        rows = _rows(document, method, own, query, database, "accuracy")
        if rows:
            ks = [row["k"] for row in rows]
            values, spread = (100 * np.array([row[name] for row in rows]) for name in ("value", "std"))
            axis.plot(ks, values, line, color=color, marker="o", markersize=3, label=method)
            axis.fill_between(ks, values - spread, values + spread, color=color, alpha=0.12, linewidth=0)
    axis.set_title(f"{query} query, {database} database")


def _accuracies(document: Document, pairs: Sequence[tuple[str, str]], methods: Sequence[str]) -> str:
    ks = document["settings"]["neighbors"]
    lines = [["query", "database", "method", "dim", *(f"{k}-NN" for k in ks)]]
    for query, database in pairs:
        for method, dim in _methods(document, methods):
            rows = _rows(document, method, dim, query, database, "accuracy")
            paper = paper_row(method, dim, query, database)
            theirs = [f" ({value})" for value in paper.values] if paper else [""] * len(ks)
            if rows:
                cells = [f"{_percent(row)}{other}" for row, other in zip(rows, theirs, strict=True)]
                lines.append([query, database, method, "" if dim is None else str(dim), *cells])
    return table(lines)


def _databases(document: Document) -> list[tuple[str, str]]:
    """Returns the databases that the document has figures of, with what they add to a heading."""
    titles = {TRAINED: "", UNSEEN: ", among unseen items"}
    return [(name, title) for name, title in titles.items() if of_database(document["rows"], name)]


def _by_pair(document: Document, metric: str, k: int | None, database: str) -> str:
    lines = [["method", "dim", *(f"{query} → {database}" for query, database in ALL_PANELS)]]
    for method, dim in _methods(document, (*TABLES[1][3], *OTHERS, *LATER)):
        found = [_rows(document, method, dim, *pair, metric, database) for pair in ALL_PANELS]
        cells = [next((_percent(row) for row in rows if row["k"] == k), "") for rows in found]
        lines.append([method, "" if dim is None else str(dim), *cells])
    return table(lines)


def _compared(document: Document, pairs: Sequence[tuple[str, str]], database: str) -> str:
    """One line per method that has all the figures, those above the best baseline's set in bold."""
    found: dict[str, dict[tuple[str, str, str], Row]] = {}
    for row in of_database(document["compared"], database):
        if (row["query_view"], row["database_view"]) in pairs:
            figure = (row["query_view"], row["database_view"], row["metric"])
            found.setdefault(row["method"], {})[figure] = row
    figures = [(*pair, metric) for pair in pairs for metric in ("accuracy", "map")]
    titles = [f"{query} → {database}, {_TITLES[metric]}" for query, database, metric in figures]
    lines = [["method", *titles]]
    lines += [
        [name, *(_difference(rows[one]) for one in figures)]
        for name, rows in found.items()
        if set(rows) >= set(figures)
    ]
    baselines = {one: row["baseline"] for rows in found.values() for one, row in rows.items()}
    best = "; ".join(
        f"{title}: {baselines[one]}" for one, title in zip(figures, titles, strict=True) if one in baselines
    )
    return f"{COMPARED.format(best=best)}\n\n{table(lines)}"


_TITLES = {"accuracy": "5-NN", "map": "mAP"}


def _difference(row: Row) -> str:
    error = "" if row["standard_error"] is None else f"±{100 * row['standard_error']:.1f}"
    text = f"{100 * row['value']:.1f} ({100 * row['difference']:+.1f}{error})"
    return f"**{text}**" if row["difference"] > 0 else text


def _methods(document: Document, methods: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    for method in methods:
        dims = dict.fromkeys(row["dim"] for row in rows_with(document["rows"], method=method))
        yield from ((method, dim) for dim in dims)


def _rows(
    document: Document, method: str, dim: int | None, query: str, target: str, metric: str, database: str = TRAINED
) -> list[Row]:
    names = {"method": method, "dim": dim, "query_view": query, "database_view": target, "metric": metric}
    return rows_with(of_database(document["rows"], database), **names)


def _percent(row: Row) -> str:
    return f"{100 * row['value']:.1f}±{100 * row['std']:.1f}"
