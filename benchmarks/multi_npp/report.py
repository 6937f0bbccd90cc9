"""Markdown tables and a plot of the Multi-NPP benchmark, the paper's figures beside ours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TRAINED, UNSEEN, of_database
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import Row, rows_with, table
from benchmarks.multi_npp.methods import AS_PRINTED, VIEWS, Views, linear, of_kernels, three_views
from benchmarks.multi_npp.paper import PaperRow, paper_row

BEYOND = (
    "start: where Multi-NPP starts, before any alternation. {hybrids}: both hybrids, by the frozen "
    "view. kernel ...: after a kernel map of each view. semantic: each view regressed on the classes."
)
COMPARED = (
    "At 50 dimensions, or a method's own. In brackets the difference to the best baseline of the column, trial by "
    "trial, ± its standard error. Best baselines: {best}."
)
PRINTED = (
    "As printed: the settings of the paper's section 4 and Algorithm 2, chosen by nobody: frequencies, not centred or "
    "scaled; as many dissimilar pairs drawn as there are similar ones, all of weight 1; eta = gamma = 1e-6; random "
    "starts, alternations until one lowers the objective by less than a millionth, one optimisation of the hybrid."
)
LIKE_THE_PAPERS = "corel1k"
"""The data beside which the paper's figures stand: a thousand photographs in ten classes, as its own."""
OLDER = {"data": LIKE_THE_PAPERS, "views": VIEWS}
"""The data of earlier runs, whose records do not name it."""
NAMES = {"color": "color", "sift": "SIFT", "gist": "GIST"}
LONG_NAMES = {"color": "colour", "sift": "SIFT words", "gist": "GIST"}
# One hue per method in every panel, distinct in the common kinds of colour blindness; hybrids by line style.
STYLES = {
    "original": ("#555555", ":"),
    "pca": ("#999999", "-"),
    "cca": ("#E69F00", "-"),
    "multi-npp": ("#0072B2", "-"),
    "multi-npp as printed": ("#0072B2", ":"),
    "kernel semantic ridge": ("#CC79A7", "-"),
    "kernel multi-npp": ("#0072B2", "--"),
}
HYBRIDS = (("#009E73", "-"), ("#009E73", "--"))

Pairs = Sequence[tuple[str, str]]


class Table(NamedTuple):
    """One of the paper's tables."""

    number: int
    title: str
    pairs: Pairs
    methods: Sequence[str]


@dataclass(frozen=True)
class Layout:
    """Which views, methods and published figures a report shows.

    Args:
        views: of the run, the pair of the paper's methods first.
        papers: whether the paper's figures stand beside ours.
    """

    views: Views
    papers: bool

    @classmethod
    def of(cls, document: Document) -> "Layout":
        """Return the layout of a run's report."""
        settings = OLDER | document["settings"]
        return cls(tuple(settings["views"]), settings["data"] == LIKE_THE_PAPERS)

    @property
    def styles(self) -> Mapping[str, tuple[str, str]]:
        """Colour and line by method, in the order of the legend."""
        return STYLES | {f"hybrid-{view}": style for view, style in zip(self.views[:2], HYBRIDS, strict=True)}

    @property
    def panels(self) -> Pairs:
        """The query and database views of the pair: within the first, across twice, within the second."""
        return list(product(self.views[:2], self.views[:2]))

    @property
    def all_panels(self) -> Pairs:
        """The same of all views."""
        return list(product(self.views, self.views))

    @property
    def tables(self) -> Sequence[Table]:
        """The paper's tables, of this pair of views."""
        within, across = self.panels[::3], self.panels[1:3]
        hybrids = with_printed("hybrid")
        shared = ("pca", "cca", *with_printed("multi-npp"))
        return [
            Table(1, "Hybrid, across the views", across, hybrids),
            *(Table(2 + i, _title(*pair), [pair], ("original", *shared)) for i, pair in enumerate(within)),
            *(Table(4 + i, _title(*pair), [pair], shared) for i, pair in enumerate(across)),
        ]

    @property
    def others(self) -> Sequence[str]:
        """The names of the methods that the paper's tables do not have."""
        pair = self.views[:2]
        hybrids = (name for view in pair for name in with_printed(f"hybrid-{view}"))
        return ("start", *hybrids, *(method.name for method in (*linear(pair), *of_kernels(pair))))

    @property
    def later(self) -> Sequence[str]:
        """The names of the methods that learn from three views."""
        return [method.name for method in three_views(self.views)]

    def paper_row(self, method: str, dim: int | None, pair: tuple[str, str]) -> PaperRow | None:
        """Return the paper's line for a method, also for one as printed; None if it has none or none is shown."""
        return paper_row(method.removesuffix(AS_PRINTED), dim, *pair) if self.papers else None


def with_printed(name: str) -> tuple[str, str]:
    """Return the name of a method, and of the same as printed."""
    return name, f"{name}{AS_PRINTED}"


def markdown(document: Document) -> str:
    """Return the report: the comparison, the paper's five tables, further methods, mAP and precision, in per cent."""
    settings, layout = document["settings"], Layout.of(document)
    theirs = "; in brackets the paper's, on its own images" if layout.papers else ""
    protocol = (
        f"{sum(settings['images'].values())} images in {len(settings['images'])} classes, {len(settings['seeds'])} "
        f"splits with {settings['test_size']:.0%} queries. k-NN accuracy in per cent, mean ± standard deviation over "
        f"the splits{theirs}. Settings: {settings['tuning'].partition(',')[0]}."
    )
    if any(row["method"].endswith(AS_PRINTED) for row in document["rows"]):
        protocol = f"{protocol}\n\n{PRINTED}"
    about = f" on {settings['data']}" if "data" in settings else ""
    parts = [f"# Multi-NPP{about}, by the protocol of Quadrianto and Lampert (ICML 2011)", protocol]
    for database, title in _databases(document):
        across, within = (_compared(document, pairs, database) for pairs in (layout.panels[1:3], layout.panels[::3]))
        parts.append(f"## Across the views, against the best baseline{title}\n\n{across}")
        parts.append(f"## Within a view, against the original space{title}\n\n{within}")
    beyond = BEYOND.format(hybrids=", ".join(f"hybrid-{view}" for view in layout.views[:2]))
    for number, title, pairs, methods in layout.tables:
        parts.append(f"## Table {number}. {title}\n\n{_accuracies(document, pairs, methods)}")
    parts.append(f"## Beyond the paper\n\n{beyond}\n\n{_accuracies(document, layout.panels, layout.others)}")
    if layout.later:
        accuracies = _accuracies(document, layout.all_panels, (*layout.later, "original"))
        parts.append(f"## Three views\n\n{accuracies}")
    for database, title in _databases(document):
        if database != TRAINED:
            parts.append(f"## 5-NN accuracy{title}\n\n{_by_pair(document, 'accuracy', 5, database)}")
        parts.append(f"## mAP{title}\n\n{_by_pair(document, 'map', None, database)}")
        parts.append(f"## Precision at 10{title}\n\n{_by_pair(document, 'precision', 10, database)}")
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    dim, layout = max(document["settings"]["dims"]), Layout.of(document)
    target, query = layout.views[:2]
    by_database = (
        (name, _rows(document, "multi-npp", dim, query, target, "accuracy", name)) for name in (TRAINED, UNSEEN)
    )
    ours = {name: row for name, rows in by_database for row in rows if row["k"] == 5}
    paper = layout.paper_row("multi-npp", dim, (query, target))
    published = f"{paper.values[0]} in the paper, on other photographs" if paper else ""
    splits = len(document["settings"]["seeds"])
    cells = {name: f"{100 * row['value']:.1f} ± {100 * row['std'] / np.sqrt(splits):.1f}" for name, row in ours.items()}
    result = cells[TRAINED] + (f"; among unseen items {cells[UNSEEN]}" if UNSEEN in cells else "")
    about = f" ({document['settings']['data']})" if "data" in document["settings"] else ""
    direction = f"{LONG_NAMES[query]} query {LONG_NAMES[target]}"
    task = f"Find photographs of the query's class{about} across views, {direction}, Multi-NPP: 5-NN accuracy, %"
    return task, result, published


def plot(path: Path, document: Document) -> None:
    """Draw k-NN accuracy against k at the largest dimension, one panel per query and database view."""
    dim = max(document["settings"]["dims"])
    with panels(path, 2, 2, (10, 7.5), sharex=True, sharey=True) as figure:
        axes = figure.axes
        for axis, pair in zip(axes, Layout.of(document).panels, strict=True):
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
    for method, (color, line) in Layout.of(document).styles.items():
        own = next((None for pair in _methods(document, (method,)) if pair[1] is None), dim)
        rows = _rows(document, method, own, query, database, "accuracy")
        if rows:
            ks = [row["k"] for row in rows]
            values, spread = (100 * np.array([row[name] for row in rows]) for name in ("value", "std"))
            axis.plot(ks, values, line, color=color, marker="o", markersize=3, label=method)
            axis.fill_between(ks, values - spread, values + spread, color=color, alpha=0.12, linewidth=0)
    axis.set_title(f"{query} query, {database} database")


def _accuracies(document: Document, pairs: Sequence[tuple[str, str]], methods: Sequence[str]) -> str:
    ks, layout = document["settings"]["neighbors"], Layout.of(document)
    lines = [["query", "database", "method", "dim", *(f"{k}-NN" for k in ks)]]
    for query, database in pairs:
        for method, dim in _methods(document, methods):
            rows = _rows(document, method, dim, query, database, "accuracy")
            paper = layout.paper_row(method, dim, (query, database))
            theirs = [f" ({value})" for value in paper.values] if paper else [""] * len(ks)
            if rows:
                cells = [f"{_percent(row)}{other}" for row, other in zip(rows, theirs, strict=True)]
                lines.append([query, database, method, "" if dim is None else str(dim), *cells])
    return table(lines)


def _title(query: str, database: str) -> str:
    name = NAMES[query]
    return f"{name[0].upper()}{name[1:]} query, {NAMES[database]} database"


def _databases(document: Document) -> list[tuple[str, str]]:
    """Return the databases that the document has figures of, with what they add to a heading."""
    titles = {TRAINED: "", UNSEEN: ", among unseen items"}
    return [(name, title) for name, title in titles.items() if of_database(document["rows"], name)]


def _by_pair(document: Document, metric: str, k: int | None, database: str) -> str:
    layout = Layout.of(document)
    lines = [["method", "dim", *(f"{query} → {target}" for query, target in layout.all_panels)]]
    for method, dim in _methods(document, (*layout.tables[1].methods, *layout.others, *layout.later)):
        groups = [_rows(document, method, dim, *pair, metric, database) for pair in layout.all_panels]
        cells = [next((_percent(row) for row in rows if row["k"] == k), "") for rows in groups]
        lines.append([method, "" if dim is None else str(dim), *cells])
    return table(lines)


def _compared(document: Document, pairs: Sequence[tuple[str, str]], database: str) -> str:
    """Return one line per method that has all the figures, those above the best baseline's set in bold."""
    by_method: dict[str, dict[tuple[str, str, str], Row]] = {}
    for row in of_database(document["compared"], database):
        if (row["query_view"], row["database_view"]) in pairs:
            figure = (row["query_view"], row["database_view"], row["metric"])
            by_method.setdefault(row["method"], {})[figure] = row
    figures = [(*pair, metric) for pair in pairs for metric in ("accuracy", "map")]
    titles = [f"{query} → {database}, {_TITLES[metric]}" for query, database, metric in figures]
    lines = [["method", *titles]]
    lines += [
        [name, *(_difference(rows[figure]) for figure in figures)]
        for name, rows in by_method.items()
        if set(rows) >= set(figures)
    ]
    baselines = {figure: row["baseline"] for rows in by_method.values() for figure, row in rows.items()}
    best = "; ".join(
        f"{title}: {baselines[figure]}" for figure, title in zip(figures, titles, strict=True) if figure in baselines
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
