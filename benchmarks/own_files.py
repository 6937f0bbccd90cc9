"""Your own data: learners side by side on feature files and labels, without a collection.

    python -m benchmarks own --views a.npy b.npy --labels y.txt --learners default,cca,multi-npp,posteriors --splits 5

Row i of every file is item i; a row of NaN is a view that the item lacks. Line i of the labels is the label of item i,
or several with commas between them; an empty line is an item without labels. Without --labels, each query has to find
its own item in another view. The held-out items of each random split search each other, from every view to every other
one. The command fills a temporary collection and measures it as ``crossview compare`` does.
"""

import argparse
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import Benchmark, Document, MissingDataError, numbers, positive
from benchmarks.frame.plots import COLORS, panels
from benchmarks.frame.tables import table
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import CrossviewError
from crossview.engine.values.evaluation import MEAN, EvaluationRequest
from crossview.engine.values.item import NewItem
from crossview.engine.values.recipe import Grouping

Rows = NDArray[np.float32]
AT_ONCE = 10_000
"""Number of items that are stored together."""
GROUP = "group"
PLOTTED = (("map", "mAP"), ("recall", "own item in the first 10"), ("coverage", "coverage of the first 10"))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, figures, and differences to the first learner, of the files that the options name."""
    views = {name: read_rows(path) for name, path in named(options.views).items()}
    counts = {len(rows) for rows in views.values()}
    if len(counts) > 1:
        raise MissingDataError(f"the files have different numbers of rows: {', '.join(map(str, sorted(counts)))}")
    (count,) = counts
    labels, groups = (read_lines(path, count) if path else None for path in (options.labels, options.groups))
    specs = [f"{name}=vectors:dim={rows.shape[1]}" for name, rows in views.items()]
    learners = options.learners.split(";" if ";" in options.learners else ",")
    request = EvaluationRequest(
        learners=tuple(filter(None, map(str.strip, learners))),
        views=tuple(views),
        splits=options.splits,
        test_size=options.test_size,
        seed=options.first_seed,
        k=options.k or (),
        databases=tuple(filter(None, (options.database,))),
        group_by=Grouping(GROUP) if groups else None,
    )
    try:
        with TemporaryDirectory() as folder, Home(folder).create("own", specs) as collection:
            fill(collection, views, labels, groups)
            evaluation = collection.evaluate(request)
    except CrossviewError as error:
        raise MissingDataError(str(error)) from None
    settings = {"items": count, "views": {name: rows.shape[1] for name, rows in views.items()}}
    differences = [asdict(row) for row in evaluation.differences]
    document = {
        "settings": settings
        | {"learners": request.learners, "splits": options.splits, "protocol": evaluation.protocol},
        "rows": [figure(asdict(row)) for row in evaluation.rows],
        "differences": [figure(row) for row in differences],
        "queries": evaluation.queries,
    }
    if options.csv:
        write_csv(options.csv, document)
    return document


def named(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the files by the names of their views, those of the files without the ending."""
    names = [re.sub(r"\W", "-", path.stem) for path in paths]
    return {
        name if names.count(name) == 1 else f"{name}-{number}": path
        for number, (name, path) in enumerate(zip(names, paths, strict=True), 1)
    }


def read_rows(path: Path) -> Rows:
    """Return the rows of an .npy file, (n, d); MissingDataError for another file."""
    try:
        rows = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise MissingDataError(f"{path} is not a file of numpy.save: {error}") from None
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        raise MissingDataError(f"{path} must contain one array of shape (items, columns)")
    return np.asarray(rows, np.float32)


def read_lines(path: Path, count: int) -> list[str]:
    """Return the lines of a text file, or the values of an .npy file; MissingDataError unless there are ``count``."""
    if not path.is_file():
        raise MissingDataError(f"there is no file {path}")
    if path.suffix == ".npy":
        lines = [str(value) for value in np.load(path, allow_pickle=False)]
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) != count:
        raise MissingDataError(f"{path} has {len(lines):,} lines, and the views have {count:,} rows")
    return lines


def fill(
    collection: Collection, views: dict[str, Rows], labels: Sequence[str] | None, groups: Sequence[str] | None
) -> None:
    """Store the items; MissingDataError for rows that no view can have."""
    present: dict[str, Any] = {name: ~np.isnan(rows).all(axis=1) for name, rows in views.items()}

    def item(number: int) -> NewItem:
        return NewItem(
            f"{number:08}",
            rows={name: rows[number] for name, rows in views.items() if present[name][number]},
            labels=tuple(filter(None, (label.strip() for label in labels[number].split(",")))) if labels else (),
            attributes={GROUP: groups[number]} if groups and groups[number] else {},
        )

    count = len(next(iter(views.values())))
    for start in range(0, count, AT_ONCE):
        report = collection.items.put([item(number) for number in range(start, min(start + AT_ONCE, count))])
        if report.failures:
            failure = report.failures[0]
            raise MissingDataError(f"row {int(failure.key)} cannot be used: {failure.reason}")


def figure(row: dict[str, Any]) -> dict[str, Any]:
    """Return a figure as benchmarks write it: the learner is the method."""
    return {
        "method": row["space"],
        "query": row["query_view"] or MEAN,
        "target": row["database_view"] or MEAN,
        "database": row["database"],
        "metric": row["metric"],
        "k": row["k"],
        "value": row["value"],
        "standard_error": row["standard_error"],
    }


def write_csv(path: Path, document: Document) -> None:
    """Write a line for each figure, with its difference to the first learner."""
    gains = {key(row): row for row in document["differences"]}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*document["rows"][0], "difference", "difference_standard_error"])
        for row in document["rows"]:
            gain = gains.get(key(row), {})
            writer.writerow([*row.values(), gain.get("value"), gain.get("standard_error")])


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a figure measures, and of which learner."""
    return tuple(row[name] for name in ("method", "query", "target", "database", "metric", "k"))


def markdown(document: Document) -> str:
    """Return a table of each direction and of their mean, with paired differences to the first learner."""
    settings = document["settings"]
    sizes = ", ".join(f"{name} ({columns} columns)" for name, columns in settings["views"].items())
    parts = ["# Learners on your own data", f"{settings['items']:,} items; {sizes}. {settings['protocol']}."]
    parts += [f"Means ± standard errors; in brackets the paired difference to {settings['learners'][0]}."]
    directions = list(dict.fromkeys((row["query"], row["target"]) for row in document["rows"]))
    for query, target in sorted(directions, key=lambda direction: direction[0] != MEAN):
        title = MEAN if query == MEAN else f"{query} → {target}"
        parts += [f"## {title.capitalize() if query == MEAN else title}", table(list(_lines(document, query, target)))]
    return "\n\n".join(parts)


def _lines(document: Document, query: str, target: str) -> Iterator[list[str]]:
    rows = [row for row in document["rows"] if (row["query"], row["target"]) == (query, target)]
    gains = {key(row): row for row in document["differences"]}
    methods = list(dict.fromkeys(row["method"] for row in rows))
    yield ["database", "metric", "k", *methods]
    cells = {key(row): _cell(row, gains.get(key(row))) for row in rows}
    for database, metric, k in dict.fromkeys((row["database"], row["metric"], row["k"]) for row in rows):
        values = [cells.get((method, query, target, database, metric, k), "") for method in methods]
        yield [database, metric, str(k or ""), *values]


def _cell(row: dict[str, Any], gain: dict[str, Any] | None) -> str:
    return _number(row) + (f" ({_number(gain, '+')})" if gain else "")


def _number(row: dict[str, Any], sign: str = "") -> str:
    error = row["standard_error"]
    return f"{row['value']:{sign}.3f}" + ("" if error is None else f" ± {error:.3f}")


def plot(path: Path, document: Document) -> None:
    """Draw mAP, recall of the own item and coverage of each learner, the means over the directions."""
    rows = [row for row in document["rows"] if row["k"] in (None, 10)]
    mean = [row for row in rows if row["query"] == MEAN] or rows
    measures = [(metric, name) for metric, name in PLOTTED if any(row["metric"] == metric for row in mean)]
    with panels(path, 1, len(measures), (4.2 * len(measures), 3), squeeze=False) as drawing:
        for axis, (metric, name) in zip(drawing.axes, measures, strict=True):
            for place, row in enumerate(reversed([row for row in mean if row["metric"] == metric])):
                axis.errorbar(row["value"], place, xerr=row["standard_error"] or 0, fmt="o", color=COLORS[0])
            methods = [row["method"] for row in mean if row["metric"] == metric]
            axis.set_yticks(range(len(methods)), methods[::-1])
            axis.set_title(name)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--views", type=Path, nargs="+", required=True, help="a file of numpy.save for each view")
    parser.add_argument("--labels", type=Path, help="a text file with the labels of an item in each line, or an .npy")
    parser.add_argument("--groups", type=Path, help="the same with a group, which stays on one side of a split")
    parser.add_argument(
        "--learners", default="default,cca,multi-npp,posteriors", help="semicolons separate pipelines: 'cca; sqrt,cca'"
    )
    parser.add_argument("--splits", type=positive, default=5, help="number of random splits")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first split; the others follow")
    parser.add_argument("--test-size", type=float, default=0.2, help="share of the items to hold out")
    parser.add_argument("--database", help="trained, unseen or mixed: the items to find [default: unseen]")
    parser.add_argument("-k", type=numbers, help="lengths of the hit lists [default: 10]")
    parser.add_argument("--csv", type=Path, help="where to write the figures as CSV, too")


BENCHMARK = Benchmark("own", __doc__, _arguments, measure, markdown, plot, "figures of each learner, with errors")
