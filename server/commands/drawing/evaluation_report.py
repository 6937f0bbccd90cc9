"""The report of an evaluation: figures, curves, confused classes, and the best and the worst queries."""

import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.evaluation import (
    RECALL_LEVELS,
    UNSEEN,
    Confusion,
    Evaluation,
    EvaluationRow,
    QueryExample,
    crossing,
)
from crossview.engine.values.markup import Markup, element, markup, name
from crossview.server.commands.drawing.chart import LARGEST_MATRIX, Chart, Series, matrix, on_one_scale
from crossview.server.commands.drawing.marks import Drawing, png
from crossview.server.commands.drawing.page import Fragments, Page, Section
from crossview.server.commands.drawing.search_results import Items, Strip, Tile, file_name, thumbnail_of
from crossview.server.commands.drawing.sheet import sheet_bytes
from crossview.server.edge.pages.figures import SMALLER, figures, key_of, number

if TYPE_CHECKING:
    from crossview.engine.values.info import SpaceInfo

_MOST_CONFUSED = 12
_MAIN = ("map", "accuracy", "recall", "order", "auc", "equal_error_rate")
"""The metrics that a summary names, the first that was measured."""
_WORDS = {
    "map": "mAP",
    "unseen_share": "unseen share",
    "median_rank": "median rank",
    "label_recall": "label recall",
    "r_precision": "R-precision",
    "ndcg": "nDCG",
    "hierarchical_accuracy": "hierarchical accuracy",
    "lca_loss": "LCA loss",
    "equal_error_rate": "equal error rate",
    "auc": "AUC",
}
_OVERVIEW = (("map", None), ("accuracy", 10), ("recall", 1), ("recall", 10), ("median_rank", None))
"""The metrics of the first table, with their k; all metrics if none of them was measured."""
_MOST_NAMED = 3
"""Maximum number of figures in the summary."""
_CURVES = ("accuracy", "precision", "recall", "label_recall", "ndcg", "hierarchical_accuracy")
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
    files: dict[str, str | bytes] = {
        "index.html": page.html(),
        "evaluation.json": figures,
        "made.json": json.dumps(how, indent=2, ensure_ascii=False) + "\n",
    }
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
    several = len({row.space for row in evaluation.rows}) > 1
    more = " The best of a line is bold; below it is the paired difference to the first space." if several else ""
    note = element("p", f"Means ± standard errors.{more}", class_="note")
    sections = [Section("Overview", markup(_figures(evaluation, fragments), note))]
    for kind, drawings in drawn.items():
        table = _confused(evaluation, fragments) if kind == "confusion" else None
        if drawings or table:
            charts = fragments("tables.html", "charts", [drawing.svg() for drawing in drawings]) if drawings else None
            sections.append(Section(titles[kind], markup(element("p", notes[kind], class_="note"), charts, table)))
    if strips:
        sections.append(Section("Best and worst queries", fragments("strips.html", "strips", strips)))
    places = dict.fromkeys(map(_place, evaluation.rows))
    tables = element("div", [_figures(evaluation, fragments, place) for place in places], class_="beside")
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
    shown = "; ".join(
        f"{crossing(row.query_view, row.database_view)} {number(row.value, row.standard_error)}"
        for row in own[:_MOST_NAMED]
    )
    count = len({row.space for row in main})
    sentence = f"{_measure(own[0])} of space {space}{f', the best of {count}' if count > 1 else ''}: {shown}"
    if database := own[0].database:
        sentence += f", among {evaluation.databases.get(database, 0):,} {database} items"
    gains = [
        difference
        for difference in evaluation.differences
        if difference.space == space and key_of(difference) == key_of(own[0])
    ]
    if gains:
        change = number(gains[0].value, gains[0].standard_error, sign="+")
        sentence += f"; {change} to space {gains[0].baseline} for {crossing(*key_of(gains[0])[:2])}"
    return f"{sentence}."


def _main(evaluation: Evaluation) -> list[EvaluationRow]:
    """Return the rows of the main metric and the database that says most about new items: the unseen ones."""
    rows = [row for metric in _MAIN for row in evaluation.rows if row.metric == metric]
    rows = [row for row in rows if (row.metric, row.k) == (rows[0].metric, rows[0].k)]
    return [row for row in rows if row.database == UNSEEN] or [row for row in rows if row.database == rows[0].database]


def _best_space(rows: Sequence[EvaluationRow]) -> str:
    """Return the space with the best mean over the views."""
    means = {space: fmean(row.value for row in rows if row.space == space) for space in {row.space for row in rows}}
    sign = 1 if rows[0].metric in SMALLER else -1
    return min(means, key=lambda space: (sign * means[space], space))


def _place(row: Any) -> Place:
    return row.query_view, row.database_view, row.database


def _title(place: Place) -> str:
    query, target, database = place
    return crossing(query, target) + (f", {database} items" if database else "")


def _figures(evaluation: Evaluation, fragments: Fragments, place: Place | None = None) -> Markup:
    """Return the table of all figures of a place, or of the main figures of all places."""
    rows = sorted(evaluation.rows, key=_order)
    spaces = list(dict.fromkeys(row.space for row in evaluation.rows))
    if place is None:
        rows = [row for row in rows if (row.metric, row.k) in _OVERVIEW] or rows
        lines = figures(evaluation, rows, lambda row: (_measure(row), _title(_place(row))))
        return fragments("figures.html", "figures", lines, spaces)
    lines = figures(evaluation, [row for row in rows if _place(row) == place], lambda row: (_measure(row), ""))
    return fragments("figures.html", "figures", lines, spaces, _title(place), False)


def _measure(row: EvaluationRow) -> str:
    return words(row.metric) + (f" at {row.k}" if row.k else "")


def _order(row: EvaluationRow) -> tuple[Place, int, str, int]:
    rank = _MAIN.index(row.metric) if row.metric in _MAIN else len(_MAIN)
    return _place(row), rank, row.metric, row.k or 0


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
