"""Markdown table and plot of the Wikipedia benchmark, published figures beside ours."""

from pathlib import Path
from typing import Any

from benchmarks.frame import beside
from benchmarks.frame.benchmark import Document
from benchmarks.frame.databases import TEST, TRAINED, UNSEEN, of_database
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import Row, rows_with, table

DIRECTIONS = (("image", "text"), ("text", "image"), ("both", "both"))
PUBLISHED = (("CCA", 0.2549, 0.1846), ("JGRHML", 0.2830, 0.2119), ("JFSSL", 0.3063, 0.2275), ("SCM", 0.3501, 0.2496))
SOURCE = (
    "Published: mAP as compared by Zhu et al., Data Analysis and Knowledge Discovery 4(5), 2020, p. 84-91, "
    "on the same documents; their features and tuning need not be ours."
)
# Distinct in the common kinds of colour blindness; in the order of the methods.
COLORS = ("#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#555555")
STYLES = ("-", "--")  # the second for the methods after those that have used up the colours


def markdown(document: Document) -> str:
    """Return the report: mAP of both directions and their mean, ours and published, and what was chosen."""
    settings = document["settings"]
    protocol = (
        f"{settings['train']} documents to train on; {settings['test']} test documents in {len(settings['classes'])} "
        "classes are queries and database. mAP over the whole ranking, ± its standard error over the queries. "
        f"Settings: {settings['tuning']}."
    )
    databases = {name: f"mean, {name}" for name in (UNSEEN, TRAINED) if of_database(document["rows"], name, TEST)}
    if databases:
        protocol += " Unseen: without the query's own document; trained: the training documents are the database."
    heads = ["method", "image → text", "text → image", "mean", "mean in cross-validation"]
    lines = [[*heads, "P@10 image → text", "P@10 text → image", *databases.values()]]
    for choice in document["chosen"]:
        name = choice["method"]
        cells = [_cell(document, name, pair) for pair in DIRECTIONS]
        precisions = [f"{_rows(document, name, 'precision', pair, k=10)[0]['value']:.4f}" for pair in DIRECTIONS[:2]]
        means = [_cell(document, name, database=database) for database in databases]
        lines.append([name, *cells, f"{choice['score']:.4f}", *precisions, *means])
    for name, image, text in PUBLISHED:
        lines.append(
            [
                f"{name} (published)",
                f"{image:.4f}",
                f"{text:.4f}",
                f"{(image + text) / 2:.4f}",
                "",
                "",
                "",
                *([""] * len(databases)),
            ]
        )
    choices = [["method", "chain", "settings", "seconds"]]
    for choice in document["chosen"]:
        values = ", ".join(f"{name}={value}" for name, value in choice["settings"].items())
        choices.append([choice["method"], choice["spec"], values, f"{choice['seconds']:.0f}"])
    parts = ["# Images and texts of Wikipedia, after Rasiwasia et al. (ACM Multimedia 2010)", protocol, table(lines)]
    parts += [SOURCE, *_beyond_classes(document), f"## Chosen settings\n\n{table(choices)}"]
    return "\n\n".join(parts)


def headline(document: Document) -> tuple[str, str, str]:
    best = max((choice["method"] for choice in document["chosen"]), key=lambda name: _map(document, name)["value"])
    theirs, *published = max(PUBLISHED, key=lambda row: row[1] + row[2])
    task = "Find texts of Wikipedia by images, and images by texts: mAP"
    return task, f"{_cell(document, best)} ({best})", f"{sum(published) / 2:.3f} ({theirs}, best published)"


def _beyond_classes(document: Document) -> list[str]:
    """Return a table of the figures beside mAP; results of earlier versions have none."""
    figures: dict[str, dict[str, float]] = {choice["method"]: {} for choice in document["chosen"]}
    for name, metric in ((name, metric) for name in figures for metric in beside.TITLES):
        directions = [_rows(document, name, metric, pair, UNSEEN) for pair in DIRECTIONS[:2]]
        if all(directions):
            figures[name][metric] = sum(rows[0]["value"] for rows in directions) / len(directions)
    if not any(beside.COVERAGE in of for of in figures.values()):
        return []
    text = f"Means of both directions, without the query's own document for mAP: {beside.EXPLAINED}."
    return ["## Own items, coverage and hubness", text, table(beside.lines(figures))]


def plot(path: Path, document: Document) -> None:
    """Draw interpolated precision at 11 recalls, one panel per direction, one curve per method."""
    methods = [choice["method"] for choice in document["chosen"]]
    with panels(path, 1, 2, (10, 4.5), sharex=True, sharey=True) as figure:
        axes = figure.axes
        for axis, (query, database) in zip(axes, DIRECTIONS, strict=False):
            for number, method in enumerate(methods):
                rows = _rows(document, method, "interpolated precision", (query, database))
                points = [row["recall"] for row in rows], [row["value"] for row in rows]
                look = {"color": COLORS[number % len(COLORS)], "linestyle": STYLES[number // len(COLORS)]}
                axis.plot(*points, **look, marker="o", markersize=3, label=method)
            axis.set_title(f"{query} query, {database} database")
            axis.set_xlabel("recall")
        axes[0].set_ylabel("interpolated precision, mean over queries")
        axes[0].set_ylim(bottom=0)
        columns = min(len(methods), 4)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=columns, frameon=False)


def _cell(document: Document, method: str, pair: tuple[str, str] = DIRECTIONS[-1], database: str = TEST) -> str:
    """Return a mAP and its standard error, over the queries."""
    row = _map(document, method, pair, database)
    queries = document["settings"]["test"] * (2 if pair == DIRECTIONS[-1] else 1)
    return f"{row['value']:.4f} ± {row['std'] / queries**0.5:.4f}"


def _map(document: Document, method: str, pair: tuple[str, str] = DIRECTIONS[-1], database: str = TEST) -> Row:
    return _rows(document, method, "map", pair, database)[0]


def _rows(
    document: Document, method: str, metric: str, pair: tuple[str, str], database: str = TEST, **names: Any
) -> list[Row]:
    query, target = pair
    names |= {"method": method, "metric": metric, "query_view": query, "database_view": target}
    return rows_with(of_database(document["rows"], database, TEST), **names)
