"""Plots in one style, which people who do not distinguish all colours can read too."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.frame.charts import PUBLISHED, Chart, Series

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#8B6508")
"""The first is ours. Okabe and Ito chose them so that they stay distinct in the common kinds of colour blindness."""
_MARKS = "osD^v<>P"
_LINES = ("-", "--", "-.", ":")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_WIDTH = 5.4  # inches: letters of 10 points stay legible where a screen is 390 pixels wide
_STYLE = {
    "svg.hashsalt": "crossview",
    "svg.fonttype": "path",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@contextmanager
def panels(path: Path, rows: int, columns: int, size: tuple[float, float], **options: Any) -> Iterator[Any]:
    """Give a figure with a grid of panels to draw on, and then writes it to the path.

    The size is width and height in inches; options are those of ``pyplot.subplots``, such as ``sharey``. An ImportError
    has the remedy where matplotlib is not installed.
    """
    pyplot = _pyplot()
    figure, _ = pyplot.subplots(rows, columns, figsize=size, layout="constrained", **options)
    yield figure
    for axis in figure.axes:
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def draw(path: Path, chart: Chart) -> None:
    """Write a chart as an SVG file with the digest of the chart, and nothing that changes from run to run.

    An ImportError has the remedy where matplotlib is not installed.
    """
    pyplot = _pyplot()
    drawing = {"dots": _dots, "lines": _lines, "points": _points}[chart.kind]
    height = _height(chart) if chart.kind == "dots" else 4.2
    with pyplot.rc_context(_STYLE):
        figure, axis = pyplot.subplots(figsize=(_WIDTH, height), layout="constrained")
        drawing(figure, axis, chart)
        metadata = {"Date": None, "Creator": None, "Identifier": f"sha256:{chart.digest()}"}
        figure.savefig(path, format="svg", metadata=metadata)
        pyplot.close(figure)


def digest_in(path: Path) -> str | None:
    """Return the digest of the chart that an SVG file shows; None if there is no such file, or no digest in it."""
    match = _DIGEST.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return match.group(1) if match else None


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the plot needs matplotlib: pip install "crossview[bench]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _height(chart: Chart) -> float:
    """Return the inches of a plot of dots: a line for each name, higher where several series share it."""
    apart = len(_apart(chart))
    return 1.1 + (0.27 if apart < 3 else 0.13 * apart) * len(_names(chart)) + 0.12 * apart


def _names(chart: Chart) -> list[str]:
    return list(dict.fromkeys(name for series in chart.series for name in series.x))


def _apart(chart: Chart) -> list[str]:
    """Return the series that lie side by side on a line; a published figure lies on the line itself."""
    return [series.name for series in chart.series if series.name != PUBLISHED]


def _dots(figure: Any, axis: Any, chart: Chart) -> None:
    """Draw a line for each name; a published figure is an open diamond on the same line."""
    names, apart = _names(chart), _apart(chart)
    for series, color, mark in zip(chart.series, cycle(COLORS), cycle(_MARKS)):
        shift = 0.7 * ((apart.index(series.name) + 0.5) / len(apart) - 0.5) if series.name in apart else 0
        places = [names.index(name) + shift for name in series.x]
        looks = _PUBLISHED_LOOKS if series.name == PUBLISHED else {"color": color, "marker": mark, "markersize": 5}
        axis.errorbar(series.y, places, xerr=_errors(series), linestyle="", capsize=2, label=series.name, **looks)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    if len(apart) > 1:
        axis.set_yticks([place + 0.5 for place in range(len(names) - 1)], minor=True)
        axis.grid(visible=False, axis="y")
        axis.grid(visible=True, axis="y", which="minor", alpha=0.3)
        axis.tick_params(axis="y", which="minor", length=0)
    axis.set_xlabel(chart.x)
    axis.margins(x=0.06)
    if "x" in chart.log:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(_short)
    if len(chart.series) > 1:
        figure.legend(loc="outside lower center", ncols=2, frameon=False)


_PUBLISHED_LOOKS = {
    "color": COLORS[1],
    "marker": "D",
    "markersize": 6,
    "markerfacecolor": "none",
    "markeredgewidth": 1.6,
}


def _lines(figure: Any, axis: Any, chart: Chart) -> None:
    styles = zip(cycle(COLORS), cycle(_MARKS), cycle(_LINES), strict=False)
    for series, (color, mark, line) in zip(chart.series, styles, strict=False):
        looks = {"color": color, "marker": mark, "markersize": 5, "linestyle": line}
        axis.errorbar(series.x, series.y, yerr=_errors(series), capsize=2, label=series.name, **looks)
    _axes(axis, chart)
    columns = 2 if max(len(series.name) for series in chart.series) < 26 else 1
    figure.legend(loc="outside lower center", ncols=columns, frameon=False)


def _points(figure: Any, axis: Any, chart: Chart) -> None:
    """Draw each series as one point with its name beside it, to the left where it lies at the right."""
    del figure
    places = [series.x[0] for series in chart.series]
    middle = (min(places) + max(places)) / 2
    for number, series in enumerate(chart.series):
        color = COLORS[0] if number == 0 else COLORS[6]
        axis.plot(series.x, series.y, "o", color=color, markersize=8 if number == 0 else 5)
        right = series.x[0] > middle
        weight = "bold" if number == 0 else "normal"
        axis.annotate(
            series.name,
            (series.x[0], series.y[0]),
            (-7 if right else 7, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
            color=color,
            weight=weight,
        )
    axis.margins(0.08)
    _axes(axis, chart)


def _axes(axis: Any, chart: Chart) -> None:
    axis.set(xlabel=chart.x, ylabel=chart.y)
    if "x" in chart.log:
        axis.set_xscale("log")
        axis.set_xticks(_spread({place for series in chart.series for place in series.x}))
        axis.xaxis.set_major_formatter(_short)
        axis.xaxis.set_minor_locator(_pyplot().NullLocator())
    if "y" in chart.log:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(_short)


def _spread(places: Iterable[float]) -> list[float]:
    """Return the places that lie apart on a logarithmic axis, so that their labels do not overlap."""
    apart: list[float] = []
    for place in sorted(places):
        if not apart or place >= 1.4 * apart[-1]:
            apart.append(place)
    return apart


def _short(value: float, position: int | None = None) -> str:
    """Return a number as the label of a tick, as matplotlib asks for it: thousands with a comma, millions in words."""
    del position
    return f"{value / 1e6:g} million" if value >= 1e6 else f"{value:,g}"


def _errors(series: Series) -> tuple[float, ...] | None:
    return series.errors if any(series.errors) else None
