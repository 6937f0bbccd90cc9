"""The report: what each index takes, its speed at equal recall, under conditions and writes, and after changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.frame.benchmark import Document
from benchmarks.frame.tables import Row, rows_with, table
from benchmarks.scale.calls import PART as CALLS
from benchmarks.scale.calls import ROUNDS
from benchmarks.scale.contender import BUILD, CHANGES, CONDITIONS, CURVE, WRITES
from benchmarks.scale.data import VIEWS
from benchmarks.scale.ratio import FAISS, INDEX, PAIRS

RECALLS = (0.9, 0.95, 0.99)
WANTED = 0.95  # recall of the effort that is shown of several
MOST_RATIO = 1.25
LEAST_SHARE = 0.7
OURS = "crossview"
Figures = Mapping[str, Any]

_ABOUT = (
    "Vectors of {dim} numbers, 10 nearest neighbours, one caller; up to {queries:,} queries of each view. *Within*: a "
    "query near an item. *Across*: a query of another view, far from the items. Inverted files have up to 2,048 lists, "
    "graphs {links} links and a construction that visits {construction} nodes, in every engine. Memory is the peak of "
    "all processes, mapped files included."
)
_COSTS = "Opening is up to the first answer, the first time with imports."
_EQUAL = "The quickest effort of that recall, with its 99th percentile in ms in brackets."
_CONDITIONS = (
    "Median ms of a query under a condition, by the share of the items that it keeps, and its recall in brackets, at "
    f"the quickest effort with a recall of {WANTED:g}, if any. The last condition keeps 100 of the 1,000 clusters."
)
_WRITES = (
    "A thread replaces 1 % of the items a minute, twice a second, beside the caller. Libraries that do not let threads "
    "write and search at once have a lock, for which the caller waits. *Alone* is before the thread begins; *written "
    "of due* is the share of that rate that the thread achieved, and recall is that of the changed items."
)
_CHANGES = (
    "A fifth of the items is replaced, and another fifth deleted. Recall, and the median ms of a query in brackets, "
    "are before and after the maintenance that the library recommends, at the largest effort of this part."
)
_RATIO = (
    "Indexes of ours without a collection, and raw FAISS with the same parameters, take turns query by query in one "
    f"process. Wanted: at most {MOST_RATIO:g} times the time of FAISS."
)
_CALLS = (
    "Queries within a view over gRPC, with attributes in the hits. The minimal server parses the request, searches the "
    "same lists of FAISS with one thread, and answers keys and distances. Clients share the cores with the servers, "
    f"which take turns; medians of {ROUNDS} rounds. Wanted with 32 callers: at least {LEAST_SHARE:.0%} of its calls."
)
_OURS = {f"{FAISS} {theirs}": f"{INDEX} {ours}" for ours, theirs in PAIRS.items()}
"""The indexes of ours that are compared with those of FAISS, by the method of the latter."""


def headline(document: Document) -> tuple[str, str, str]:
    """Return the rate of the quickest index of ours at the wanted recall, beside FAISS and LanceDB."""
    rows = rows_with(document["rows"], items=max(row["items"] for row in document["rows"]))
    best = {maker: _best(rows, maker) for maker in (OURS, FAISS, "lancedb")}
    cells = [f"{short(figures['queries/s'])} ({method})" for method, figures in filter(None, best.values())]
    task = f"Find the 10 nearest of {rows[0]['items']:,} vectors, recall {WANTED:g}, one caller: queries a second"
    return task, "".join(cells[:1]), ", ".join(cells[1:])


def _best(rows: Sequence[Row], maker: str) -> tuple[str, Figures] | None:
    """Return the quickest index of a maker at the wanted recall within a view, and its figures; None without one."""
    methods = (method for method in _methods(rows_with(rows, part=CURVE)) if method.startswith(maker))
    quickest = [
        (method, figures) for method in methods if (figures := _quickest(points(rows, method, VIEWS[0]), WANTED))
    ]
    return max(quickest, key=lambda pair: float(pair[1]["queries/s"]), default=None)


def curve(document: Document) -> list[Row]:
    """Return the rows of a plot of speed over recall: the most queries a second of each recall that was measured."""
    rates: dict[tuple[str, str, float], float] = {}
    for method in _methods(rows_with(document["rows"], part=CURVE)):
        for view in VIEWS:
            for point in points(document["rows"], method, view):
                place = method, view, point["recall"]
                rates[place] = max(point.get("queries/s", 0.0), rates.get(place, 0.0))
    names = ("method", "queries", "recall")
    return [{**dict(zip(names, place, strict=True)), "value": rate} for place, rate in rates.items() if rate]


def markdown(document: Document) -> str:
    """Return the report."""
    rows = document["rows"]
    parts = ["# Recall against speed among many items", _ABOUT.format(**document["settings"])]
    for items in sorted({row["items"] for row in rows}):
        of_size = rows_with(rows, items=items)
        parts.append(f"## {items:,} items")
        for title, about, lines in _tables(of_size, items):
            if len(lines) > 1:
                parts += [f"### {title}", *([about] if about else []), table(lines)]
    return "\n\n".join(parts)


def _tables(rows: Sequence[Row], items: int) -> Iterator[tuple[str, str, list[list[str]]]]:
    yield "Time, memory and disk", _COSTS, list(_costs(rows, items))
    yield "Queries a second at equal recall", _EQUAL, list(_equal_recall(rows))
    for view in VIEWS:
        yield f"Under conditions, {view}", _CONDITIONS if view == VIEWS[0] else "", list(_conditions(rows, view))
    yield "Beside writes", _WRITES, list(_writes(rows))
    yield "After changes", _CHANGES, list(_changes(rows))
    yield "Beside raw FAISS", _RATIO, list(_ratios(rows))
    yield "Calls over gRPC", _CALLS, list(_calls(rows))
    failed = [[_name(row["method"]), row["part"], row["value"]] for row in rows_with(rows, metric="failed")]
    yield "Not measured", "", [["index", "part", "reason"], *failed]


def _costs(rows: Sequence[Row], items: int) -> Iterator[list[str]]:
    yield [
        "index",
        "build, s",
        "MiB, build",
        "MiB, searches",
        "bytes an item on disk",
        "first opening, s",
        "opening again, s",
    ]
    for method in _methods(rows_with(rows, part=BUILD)):
        built = _figures(rows_with(rows, part=BUILD, method=method))
        curve = _figures(rows_with(rows, part=CURVE, method=method, queries=""))
        if "seconds" in built:
            cells = [built["seconds"], built["peak memory"] / 2**20, curve.get("peak memory", 0) / 2**20 or None]
            cells += [built["disk"] / items, curve.get("first opening, s"), curve.get("opening again, s")]
            yield [_name(method), *map(short, cells)]


def _equal_recall(rows: Sequence[Row]) -> Iterator[list[str]]:
    heads = [f"{view} {recall:g}" for view in VIEWS for recall in RECALLS]
    yield ["index", *heads, *(f"batches, {view} {WANTED:g}" for view in VIEWS)]
    for method in _methods(rows_with(rows, part=CURVE)):
        by_view = {view: points(rows, method, view) for view in VIEWS}
        quickest = [_quickest(by_view[view], recall) for view in VIEWS for recall in RECALLS]
        cells = [
            f"{short(figures['queries/s'])} ({short(figures['p99, ms'])})" if figures else "" for figures in quickest
        ]
        batches = [_quickest(by_view[view], WANTED, "queries/s in batches") for view in VIEWS]
        if any(by_view.values()):
            yield [
                _name(method),
                *cells,
                *(short(figures["queries/s in batches"]) if figures else "" for figures in batches),
            ]


def points(rows: Iterable[Row], method: str, view: str, part: str = CURVE, condition: str = "") -> list[Figures]:
    """Return the figures of each effort of a method in a part, the least effort first."""
    own = rows_with(rows, part=part, method=method, queries=view, condition=condition)
    efforts = sorted({row["effort"] for row in own})
    measured = [{"effort": effort, **_figures(rows_with(own, effort=effort))} for effort in efforts]
    return [figures for figures in measured if "recall" in figures]


def shown(efforts: Sequence[Figures]) -> Figures | None:
    """Return the quickest of the wanted recall, otherwise the one of the largest recall; None if there are none."""
    return _quickest(efforts, WANTED) or max(efforts, key=lambda figures: figures["recall"], default=None)


def _conditions(rows: Sequence[Row], view: str) -> Iterator[list[str]]:
    of_part = rows_with(rows, part=CONDITIONS, queries=view)
    names = list(dict.fromkeys(row["condition"] for row in of_part))
    yield ["index", *names]
    for method in _methods(of_part):
        best = [shown(points(of_part, method, view, CONDITIONS, name)) for name in names]
        yield [
            _name(method),
            *(f"{short(figures['p50, ms'])} ({figures['recall']:.2f})" if figures else "" for figures in best),
        ]


def _writes(rows: Sequence[Row]) -> Iterator[list[str]]:
    times = ("queries/s alone", "queries/s", "p50, ms", "p95, ms", "p99, ms", "write, ms", "written of due")
    yield ["index", "queries", "effort", *times, "recall"]
    for method in _methods(rows_with(rows, part=WRITES)):
        for view in VIEWS:
            for point in points(rows, method, view, WRITES):
                cells = [short(point.get(name)) for name in times]
                yield [_name(method), view, str(point["effort"] or ""), *cells, f"{point['recall']:.3f}"]


def _changes(rows: Sequence[Row]) -> Iterator[list[str]]:
    heads = [f"{view}, {when}" for when in ("before", "after") for view in VIEWS]
    yield ["index", "replaced/s", "deleted/s", *heads, "maintenance, s", "MiB"]
    for method in _methods(rows_with(rows, part=CHANGES)):
        own = _figures(rows_with(rows, part=CHANGES, method=method, queries=""))
        by_state = [points(rows, method, view, CHANGES, name) for name in ("", "maintained") for view in VIEWS]
        recalls = [
            f"{efforts[-1]['recall']:.3f} ({short(efforts[-1]['p50, ms'])} ms)" if efforts else ""
            for efforts in by_state
        ]
        rates = [own.get("replacing, items/s"), own.get("deleting, items/s")]
        if "failed" not in own or any(recalls):
            memory = own["peak memory"] / 2**20 if "peak memory" in own else None
            yield [_name(method), *map(short, rates), *recalls, short(own.get("maintenance, s")), short(memory)]


def _ratios(rows: Sequence[Row]) -> Iterator[list[str]]:
    of_part = rows_with(rows, part="ratio")
    yield ["FAISS's index", "queries", "task", "effort", "ours, ms", "FAISS, ms", "ratio"]
    for row in rows_with(of_part, metric="ratio"):
        names = {name: row[name] for name in ("queries", "task", "effort")}
        times = {timing["method"]: timing["value"] for timing in rows_with(of_part, metric="ms", **names)}
        theirs, ours = times[row["method"]], times[_OURS[row["method"]]]
        ratio = f"{row['value']:.2f}"
        cells = [short(ours), short(theirs), f"**{ratio}**" if row["value"] > MOST_RATIO else ratio]
        yield [row["method"], row["queries"], row["task"], str(row["effort"] or ""), *cells]


def _calls(rows: Sequence[Row]) -> Iterator[list[str]]:
    of_part = rows_with(rows, part=CALLS)
    yield ["server", "callers", "lists probed", "calls/s", "p50, ms", "p99, ms", "share of the minimal server's calls"]
    for callers in sorted({row["callers"] for row in of_part}):
        for method in _methods(of_part):
            own = rows_with(of_part, callers=callers, method=method)
            figures = _figures(own)
            share = figures.get("share")
            cells = [short(figures[name]) for name in ("calls/s", "p50, ms", "p99, ms")]
            probed = str(own[0]["effort"] or "all")
            yield [_name(method), str(callers), probed, *cells, "" if share is None else f"{share:.2f}"]


def _quickest(efforts: Iterable[Figures], recall: float, rate: str = "queries/s") -> Figures | None:
    return max(
        (figures for figures in efforts if figures["recall"] >= recall and rate in figures),
        key=lambda figures: figures[rate],
        default=None,
    )


def _figures(rows: Iterable[Row]) -> dict[str, Any]:
    return {row["metric"]: row["value"] for row in rows}


def _methods(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def _name(method: str) -> str:
    return f"**{method}**" if method.startswith(OURS) else method


def short(value: float | None) -> str:
    """Return three significant digits, and whole numbers in full; "" for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
