"""The plot: queries a second over recall, and milliseconds over the share of items that a condition keeps."""

from pathlib import Path
from typing import Any

from benchmarks.frame.benchmark import Document
from benchmarks.frame.plots import panels
from benchmarks.frame.tables import Row, rows_with
from benchmarks.scale.contender import CONDITIONS
from benchmarks.scale.data import ACROSS, VIEWS
from benchmarks.scale.engines import ENGINES
from benchmarks.scale.report import WANTED, points, shown

CAPTION = "queries a second over recall, and time under conditions"
# A hue for each engine, distinct in the common kinds of colour blindness; its kinds differ by line and mark.
_COLORS = ("#D55E00", "#E69F00", "#555555", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#F0E442")
_STYLES = ("o-", "s--", "^-.", "D:", "v-")
_PERFECT = 3e-4  # the share of missed neighbours that stands for none, on a logarithmic axis
_TICKS = {1: "0", 0.5: ".5", 0.1: ".9", 0.01: ".99", 0.001: ".999", _PERFECT: "1"}


def plot(path: Path, document: Document) -> None:
    """Draw a row of panels for each number of items: within, across, and under conditions across views."""
    sizes = sorted({row["items"] for row in document["rows"]})
    with panels(path, len(sizes), 3, (15, 5 * len(sizes)), squeeze=False) as figure:
        axes = iter(figure.axes)
        for items in sizes:
            rows = rows_with(document["rows"], items=items)
            for view in VIEWS:
                _curves(next(axes), rows, view, items)
            _conditions(next(axes), rows, items)
        legends = [axis.get_legend_handles_labels() for axis in figure.axes]
        handles = {label: handle for legend in legends for handle, label in zip(*legend, strict=True)}
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=5, frameon=False)


def _curves(axis: Any, rows: list[Row], view: str, items: int) -> None:
    axis.set(title=f"{items:,} items, {view} views" if view == ACROSS else f"{items:,} items, {view} a view")
    axis.set(xlabel="recall of the 10 nearest", ylabel="queries/s, one caller")
    for name, kind, style in _styles():
        if efforts := points(rows, f"{name} {kind}", view):
            missed = [max(_PERFECT, 1 - point["recall"]) for point in efforts]
            axis.loglog(missed, [point["queries/s"] for point in efforts], label=f"{name} {kind}", **style)
    axis.set_xlim(1, _PERFECT / 1.3)
    axis.set_xticks(list(_TICKS), _TICKS.values())
    axis.minorticks_off()


def _conditions(axis: Any, rows: list[Row], items: int) -> None:
    axis.set(title=f"{items:,} items, across views, under conditions", ylabel="median ms of a query")
    axis.set(xlabel=f"items that the condition keeps, % (white: recall below {WANTED:g})")
    of_part = rows_with(rows, part=CONDITIONS, queries=ACROSS)
    shares = {row["condition"]: float(row["condition"].split()[0]) for row in of_part if "," not in row["condition"]}
    for name, kind, style in _styles():
        by_share = {
            share: points(of_part, f"{name} {kind}", ACROSS, CONDITIONS, condition)
            for condition, share in shares.items()
        }
        times = {share: best for share, efforts in by_share.items() if (best := shown(efforts))}
        if times:
            axis.loglog(list(times), [best["p50, ms"] for best in times.values()], **{**style, "marker": ""})
        for share, best in times.items():
            inside = style["color"] if best["recall"] >= WANTED else "white"
            axis.plot(share, best["p50, ms"], **style, markerfacecolor=inside)


def _styles() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (name, kind, {"color": color, "linestyle": style[1:], "marker": style[0], "markersize": 4})
        for (name, engine), color in zip(ENGINES.items(), _COLORS, strict=True)
        for kind, style in zip(engine.kinds, _STYLES, strict=False)
    ]
