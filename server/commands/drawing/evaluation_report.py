"""The report of an evaluation: figures, curves, confused classes, and the best and the worst queries."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.evaluation import RECALL_LEVELS, UNSEEN, Confusion, Evaluation, EvaluationRow, QueryExample
from crossview.engine.values.markup import Markup, element, markup, name
from crossview.server.commands.drawing.chart import LARGEST_MATRIX, Chart, Series, matrix, on_one_scale
from crossview.server.commands.drawing.marks import Drawing, png
from crossview.server.commands.drawing.page import Fragments, Page, Section, as_json
from crossview.server.commands.drawing.search_results import Items, Strip, Tile, file_name, thumbnail_of
from crossview.server.commands.drawing.sheet import sheet_bytes
from crossview.server.edge.pages.shapes import Figure, Measured, verdict

if TYPE_CHECKING:
    from crossview.engine.values.info import SpaceInfo

_MOST_CONFUSED = 12
_MAIN = ("map", "accuracy", "recall", "order", "auc", "equal_error_rate")
"""The metrics that a summary names, the first that was measured."""
_SMALLER = frozenset(("median_rank", "hubness", "lca_loss", "equal_error_rate"))
"""Metrics whose smaller values are better."""
_WORDS = {
    "map": "mAP",
    "unseen_share": "unseen share",
    "median_rank": "median rank",
    "hierarchical_accuracy": "hierarchical accuracy",
    "lca_loss": "LCA loss",
    "equal_error_rate": "equal error rate",
    "auc": "AUC",
}
_OVERVIEW = (("map", None), ("accuracy", 10), ("recall", 1), ("recall", 10), ("median_rank", None))
"""The metrics of the first table, with their k; all metrics if none of them was measured."""
_MOST_NAMED = 3
"""Maximum number of figures in the summary."""
_CURVES = ("accuracy", "precision", "recall", "hierarchical_accuracy")
"""Metrics that are drawn against k."""
Place = tuple[str, str, str]
"""Query view, view of the items to find, database."""


def evaluation_files(
    collection: str,
    evaluation: Evaluation,
    spaces: "Sequence[SpaceInfo]",
    items: Items,
    figures: str,
    made: Mapping[str, Any],
) -> dict[str, str | bytes]:
    """Return the files of the report by name.

    ``figures`` is the JSON of the evaluation, ``spaces`` describes the measured spaces, and ``made`` states how the
    evaluation was made.
    """
    drawn = {
        "precision-recall": list(_recall_charts(evaluation)),
        "accuracy": list(_length_charts(evaluation)),
        "size": list(_size_charts(evaluation, spaces)),
        "confusion": list(_matrices(evaluation)),
    }
    strips = list(_examples(evaluation, items))
    how = {**made, **_counts(evaluation), **_described(spaces)}
    page = Page("Evaluation", collection, _summary(evaluation), _sections(evaluation, drawn, strips), how)
    files: dict[str, str | bytes] = {"index.html": page.html(), "evaluation.json": figures, "made.json": as_json(how)}
    files |= {f"{file}.png": png(drawings) for file, drawings in drawn.items() if drawings}
    return files | ({"queries.png": sheet_bytes(strips, f"Queries of {collection}")} if strips else {})


def _sections(evaluation: Evaluation, drawn: Mapping[str, Sequence[Drawing]], strips: Sequence[Strip]) -> list[Section]:
    titles = {
        "precision-recall": "Precision and recall",
        "accuracy": "Against the length of the list",
        "size": "Against the size of the vectors",
        "confusion": "Confused classes",
    }
    notes = {
        "precision-recall": "Interpolated precision, the mean over the queries: 1 everywhere is a perfect ranking.",
        "accuracy": "Bars are standard errors. The vertical axis need not start at 0.",
        "size": "Each point is a space. Bars are standard errors.",
        "confusion": "The classes of queries, and those that the nearest items vote for, in the best space.",
    }
    fragments = Fragments()
    sections = [Section("Overview", _overview(evaluation, fragments))]
    for kind, drawings in drawn.items():
        more = _confused(evaluation, fragments) if kind == "confusion" else None
        if drawings or more:
            note = element("p", notes[kind], class_="note")
            shown = fragments("tables.html", "charts", drawings) if drawings else None
            sections.append(Section(titles[kind], markup(note, shown, more)))
    if strips:
        sections.append(Section("Best and worst queries", fragments("strips.html", "strips", strips)))
    tables = element("div", _tables(evaluation, fragments), class_="beside")
    return [*sections, Section("All figures", tables)]


def words(metric: str) -> str:
    """Return the words for a metric."""
    return _WORDS.get(metric, metric.replace("_", " "))


def _summary(evaluation: Evaluation) -> str:
    """Return a sentence with the best space by the main metric, and what it gains over the first space."""
    main = _main(evaluation)
    if not main:
        return "Nothing could be measured."
    space = _best_space(main)
    own = [row for row in main if row.space == space]
    shown = "; ".join(f"{row.query_view} → {row.database_view} {_number(row)}" for row in own[:_MOST_NAMED])
    at = f" at {own[0].k}" if own[0].k else ""
    count = len({row.space for row in main})
    sentence = f"{words(own[0].metric)}{at} of space {space}{f', the best of {count}' if count > 1 else ''}: {shown}"
    if database := own[0].database:
        sentence += f", among {evaluation.databases.get(database, 0):,} {database} items"
    gains = [
        difference
        for difference in evaluation.differences
        if difference.space == space and _measured(difference) == _measured(own[0])
    ]
    if gains:
        change = _signed(gains[0].value, gains[0].standard_error)
        sentence += f"; {change} to space {gains[0].baseline} for {gains[0].query_view} → {gains[0].database_view}"
    return f"{sentence}."


def _main(evaluation: Evaluation) -> list[EvaluationRow]:
    """Return the rows of the main metric and the database that says most about new items: the unseen ones."""
    rows = [row for metric in _MAIN for row in evaluation.rows if row.metric == metric]
    rows = [row for row in rows if (row.metric, row.k) == (rows[0].metric, rows[0].k)]
    return [row for row in rows if row.database == UNSEEN] or [row for row in rows if row.database == rows[0].database]


def _measured(row: Any) -> tuple[str, str, str, str, int | None]:
    return *_place(row), row.metric, row.k


def _best_space(rows: Sequence[EvaluationRow]) -> str:
    """Return the space with the best mean over the views."""
    means = {space: _mean([row.value for row in rows if row.space == space]) for space in {row.space for row in rows}}
    sign = 1 if rows[0].metric in _SMALLER else -1
    return min(means, key=lambda space: (sign * means[space], space))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _place(row: Any) -> Place:
    return row.query_view, row.database_view, row.database


def _title(place: Place) -> str:
    query, target, database = place
    return f"{query} → {target}" + (f", {database} items" if database else "")


def _number(row: EvaluationRow) -> str:
    return f"{row.value:.3f}" + ("" if row.standard_error is None else f" ± {row.standard_error:.3f}")


def _signed(value: float, error: float | None) -> str:
    return f"{value:+.3f}".replace("-", "−") + ("" if error is None else f" ± {error:.3f}")


def _tables(evaluation: Evaluation, fragments: Fragments) -> Iterator[Markup]:
    """Yield a table for each view to find and database, with a column for each space."""
    differences = _differences(evaluation)
    for place in dict.fromkeys(map(_place, evaluation.rows)):
        rows = [row for row in evaluation.rows if _place(row) == place]
        spaces = list(dict.fromkeys(row.space for row in rows))
        lines = []
        for row, cells in _lines(rows):
            best = _best_of(cells)
            line = [_cell(cells.get(space), differences.get((space, *_measured(row))), best) for space in spaces]
            lines.append([words(row.metric), str(row.k or ""), *line])
        heads = ["metric", ">k", *(f">{space}" for space in spaces)]
        yield fragments("tables.html", "table", heads, lines, _title(place))


def _overview(evaluation: Evaluation, fragments: Fragments) -> Markup:
    """Return the main metrics of the spaces beside each other, for each view to find and database."""
    several = len({row.space for row in evaluation.rows}) > 1
    more = " The best of a line is bold; beside it is the paired difference to the first space." if several else ""
    chosen = [key for key in _OVERVIEW if any((row.metric, row.k) == key for row in evaluation.rows)]
    rows = [row for row in evaluation.rows if (row.metric, row.k) in chosen] or list(evaluation.rows)
    differences = _differences(evaluation)
    figures = [
        Figure(
            words(row.metric) + (f" at {row.k}" if row.k else ""),
            _title(_place(row)),
            [_compared(cell, differences.get((cell.space, *_measured(cell))), cells) for cell in cells.values()],
        )
        for row, cells in _lines(rows)
    ]
    note = element("p", f"Means ± standard errors.{more}", class_="note")
    return markup(fragments("figures.html", "figures", figures), note)


def _compared(row: EvaluationRow, difference: Any, cells: Mapping[str, EvaluationRow]) -> Measured:
    """Return what a space has of a figure; bars of values beyond 1 are shares of the largest."""
    most = max(1.0, *(cell.value for cell in cells.values()))
    measured = Measured(
        row.space, max(row.value, 0.0) / most, _number(row), row.value == _best_of(cells) or len(cells) == 1
    )
    if difference is None:
        return measured
    gain = -difference.value if row.metric in _SMALLER else difference.value
    change = _signed(difference.value, difference.standard_error)
    return measured._replace(difference=change, verdict=verdict(gain, difference.standard_error))


def _lines(rows: Sequence[EvaluationRow]) -> Iterator[tuple[EvaluationRow, dict[str, EvaluationRow]]]:
    """Yield a row of each figure, with the rows of all spaces, in the order of a table."""
    lines: dict[Any, dict[str, EvaluationRow]] = {}
    for row in rows:
        lines.setdefault(_measured(row), {})[row.space] = row
    for cells in sorted(lines.values(), key=lambda cells: _order(next(iter(cells.values())))):
        yield next(iter(cells.values())), cells


def _differences(evaluation: Evaluation) -> dict[Any, Any]:
    """Return the differences to the first space by space and figure."""
    return {(difference.space, *_measured(difference)): difference for difference in evaluation.differences}


def _best_of(cells: Mapping[str, EvaluationRow]) -> float | None:
    """Return the best value of several spaces; None if none is better than others."""
    rows = list(cells.values())
    if len(rows) < 2 or rows[0].metric == "unseen_share":
        return None
    return (min if rows[0].metric in _SMALLER else max)(row.value for row in rows)


def _order(row: EvaluationRow) -> tuple[Place, int, str, int]:
    rank = _MAIN.index(row.metric) if row.metric in _MAIN else len(_MAIN)
    return _place(row), rank, row.metric, row.k or 0


def _cell(row: EvaluationRow | None, difference: Any, best: float | None) -> Markup:
    if row is None:
        return markup("–")
    value = element("strong" if row.value == best else "span", _number(row))
    under = None if difference is None else element("small", _signed(difference.value, difference.standard_error))
    return markup(value, under)


def _recall_charts(evaluation: Evaluation) -> Iterator[Drawing]:
    for place in dict.fromkeys(map(_place, evaluation.curves)):
        curves = [curve for curve in evaluation.curves if _place(curve) == place and curve.precision]
        series = [Series(curve.space, list(zip(RECALL_LEVELS, curve.precision, strict=True))) for curve in curves]
        if series:
            yield Chart(_title(place), "recall", "precision", series, limits=(0, 1)).drawing()


def _length_charts(evaluation: Evaluation) -> Iterator[Drawing]:
    """Yield charts of each metric against k, those of a metric on one scale."""
    for metric in _CURVES:
        rows = [row for row in evaluation.rows if row.metric == metric and row.k is not None]
        places = dict.fromkeys(map(_place, rows))
        charts = [_length_chart([row for row in rows if _place(row) == place]) for place in places]
        yield from (chart.drawing() for chart in on_one_scale([chart for chart in charts if len(chart.ticks) > 1]))


def _length_chart(rows: Sequence[EvaluationRow]) -> Chart:
    series = []
    for space in dict.fromkeys(row.space for row in rows):
        own = sorted((row for row in rows if row.space == space), key=lambda row: row.k or 0)
        points = [(float(row.k or 0), row.value) for row in own]
        series.append(Series(space, points, [row.standard_error for row in own]))
    metric = words(rows[0].metric)
    title = f"{metric.capitalize()}: {_title(_place(rows[0]))}"
    return Chart(title, "length of the list, k", metric, series, sorted({row.k or 0 for row in rows}))


def _size_charts(evaluation: Evaluation, spaces: "Sequence[SpaceInfo]") -> Iterator[Drawing]:
    """Yield charts of mAP against dimension, bits and number of metrics, where the spaces differ."""
    rows = [row for row in evaluation.rows if row.metric == "map"]
    charts = []
    for place in dict.fromkeys(map(_place, rows)):
        row_of = {row.space: row for row in rows if _place(row) == place}
        for unit, sizes in _sizes(spaces, place[1]).items():
            series = [
                Series(f"{space} ({sizes[space]:,})", [(float(sizes[space]), row.value)], [row.standard_error])
                for space, row in row_of.items()
                if space in sizes
            ]
            ticks = sorted({line.points[0][0] for line in series})
            if len(ticks) > 1:
                charts.append(Chart(f"mAP: {_title(place)}", unit, "mAP", series, ticks))
    yield from (chart.drawing() for chart in on_one_scale(charts))


def _sizes(spaces: "Sequence[SpaceInfo]", view: str) -> dict[str, dict[str, int]]:
    """Return the size of each space's vectors of a view by unit."""
    sizes: dict[str, dict[str, int]] = {}
    for space in spaces:
        if view in space.dim:
            sizes.setdefault("bits" if space.binary else "dimensions", {})[space.name] = space.dim[view]
        if isinstance(metrics := space.settings.get("n_metrics"), int):
            sizes.setdefault("metrics, K", {})[space.name] = metrics
    return sizes


def _classes(confusion: Confusion) -> list[str]:
    return sorted({entry.label for entry in confusion.entries} | {entry.vote for entry in confusion.entries})


def _confusion_title(confusion: Confusion) -> str:
    return f"{confusion.space}: {_title(_place(confusion))}, vote of {confusion.k}"


def _confusions(evaluation: Evaluation) -> list[Confusion]:
    """Return the confusions of the best space in the database of the summary; the JSON has all of them."""
    main = _main(evaluation)
    space, databases = (_best_space(main), {row.database for row in main}) if main else ("", set())
    return [
        confusion for confusion in evaluation.confusions if confusion.space == space and confusion.database in databases
    ]


def _matrices(evaluation: Evaluation) -> Iterator[Drawing]:
    for confusion in _confusions(evaluation):
        if 2 <= len(classes := _classes(confusion)) <= LARGEST_MATRIX:
            counts = {(entry.label, entry.vote): entry.count for entry in confusion.entries}
            yield matrix(_confusion_title(confusion), classes, counts)


def _confused(evaluation: Evaluation, fragments: Fragments) -> Markup | None:
    """Return a table of the classes that are most often confused; None if none are."""
    mistakes = [
        (entry.count, confusion, entry)
        for confusion in _confusions(evaluation)
        for entry in confusion.entries
        if entry.label != entry.vote
    ]
    mistakes.sort(key=lambda each: -each[0])
    if not mistakes:
        return None
    rows = []
    for count, confusion, entry in mistakes[:_MOST_CONFUSED]:
        total = sum(other.count for other in confusion.entries if other.label == entry.label)
        names = name(entry.label), name(entry.vote), confusion.space, _title(_place(confusion))
        rows.append([*names, f"{count:,} of {total:,}", f"{count / total:.0%}"])
    heads = ["class", "voted", "space", "views", ">queries", ">share"]
    return fragments("tables.html", "table", heads, rows, "The most frequent confusions")


def _examples(evaluation: Evaluation, items: Items) -> Iterator[Strip]:
    """Yield the best and the worst queries of the best space, in one database of each view."""
    main = _main(evaluation)
    if not evaluation.examples or not main:
        return
    tiles, space = _Tiles(items), _best_space(main)
    places = dict.fromkeys(_place(example) for example in evaluation.examples if example.space == space)
    shown = {place[1]: place for place in sorted(places, key=lambda place: place[2] == UNSEEN)}
    for example in evaluation.examples:
        if example.space == space and shown.get(example.database_view) == _place(example):
            yield _example(example, tiles)


def _example(example: QueryExample, tiles: "_Tiles") -> Strip:
    hits = [tiles.tile(*hit) for hit in zip(example.hits, example.relevant, strict=True)]
    figure = (
        f"average precision {example.value:.3f}"
        if example.metric == "average_precision"
        else f"rank {example.value:.0f}"
    )
    title = f"{'Best' if example.best else 'Worst'}: {figure}, {_title(_place(example))}"
    return Strip(title, tiles.tile(example.key, None), hits)


class _Tiles:
    """The tiles of items, which are read once."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self._read: dict[str, tuple[bytes | None, str, str]] = {}

    def tile(self, key: str, correct: bool | None) -> Tile:
        """Return the tile of an item; without its picture if the item was deleted."""
        if key not in self._read:
            try:
                item = self._items.get(key)
                self._read[key] = thumbnail_of(self._items, key), ", ".join(item.labels), item.text
            except NotFoundError:
                self._read[key] = None, "", ""
        picture, label, text = self._read[key]
        return Tile(picture, label, name=file_name(key), key=key, correct=correct, text=text)


def _counts(evaluation: Evaluation) -> dict[str, Any]:
    counted = {f"{database} items to find": f"{count:,}" for database, count in evaluation.databases.items()}
    measured = {"queries": f"{evaluation.queries:,}" if evaluation.queries else ""}
    measured["comparisons"] = f"{evaluation.comparisons:,}" if evaluation.comparisons else ""
    protocol = {"protocol": evaluation.protocol, "visual words": evaluation.codebook}
    return {**measured, **counted, "seconds": f"{evaluation.seconds:.1f}", **protocol}


def _described(spaces: "Sequence[SpaceInfo]") -> dict[str, str]:
    """Return the spaces with their learner, and the size of their vectors."""
    facts = {}
    for space in spaces:
        sizes = ", ".join(f"{target} {space.size(target)}" for target in space.targets)
        unit = "" if space.binary else " dimensions"
        learner = (
            f"{space.spec}, {space.trained_items:,} training items, seed {space.seed}" if space.spec else "the views"
        )
        facts[f"space {space.name}"] = f"{learner}; {sizes}{unit}"
    return facts
