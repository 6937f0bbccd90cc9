"""Charts: series of points on axes, and a matrix of confused classes, as drawings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crossview.engine.values.markup import elided
from crossview.server.commands.drawing.marks import SERIES, Box, Dot, Drawing, Line, Mark, Point, Words, width_of

WIDTH, HEIGHT = 560, 340
"""Size of a chart without its legend."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 20, 44, 52
_SMALL = 12
_LEGEND_LINE = 22
_MOST_TICKS = 6
_TICK_GAP = 26
"""Minimum distance of ticks of the x axis."""
CELL, LARGEST_MATRIX = 30, 24
"""Side of a cell of a matrix, and the maximum number of its classes."""
_LABEL = 110
"""Maximum width of the names of classes beside a matrix."""


@dataclass(frozen=True)
class Series:
    """Points in the order of x, and the standard errors of their y; None without errors."""

    name: str
    points: Sequence[Point]
    errors: Sequence[float | None] = ()


@dataclass(frozen=True)
class Chart:
    """Series with the words of their axes."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    ticks: Sequence[float] = ()
    """Ticks of the x axis; () chooses them."""
    limits: tuple[float, float] | None = None
    """Least and greatest y; None shows all points and errors, within 0 to 1 if the points are."""

    def drawing(self) -> Drawing:
        """Return the chart with its legend."""
        legend = _legend(self.series)
        drawing = Drawing(WIDTH, HEIGHT + _LEGEND_LINE * len(legend), self._described())
        drawing.marks.append(Words((_LEFT, 20), elided(self.title, 70), size=15))
        across, up = self._across(), self._up()
        self._axes(drawing, across, up)
        for number, series in enumerate(self.series):
            drawing.marks += _curve(number, [(across(x), up(y)) for x, y in series.points], self._whiskers(series, up))
        for row, entries in enumerate(legend):
            drawing.marks += [mark for entry in entries for mark in _entry(*entry, HEIGHT + 8 + _LEGEND_LINE * row)]
        return drawing

    def _described(self) -> str:
        ends = [f"{series.name} from {series.points[0][1]:.3f} to {series.points[-1][1]:.3f}" for series in self.series]
        return f"{self.title}. {self.y} against {self.x}: {'; '.join(ends)}."

    def _xs(self) -> list[float]:
        return [x for series in self.series for x, _ in series.points]

    def _across(self) -> "_Axis":
        xs = self._xs()
        logarithmic = min(xs) > 0 and max(xs) / min(xs) >= 8
        ends = min(xs), max(xs)
        if all(len(series.points) == 1 for series in self.series):  # separate points stand off the ends of the axis
            ends = (ends[0] / 1.3, ends[1] * 1.3) if logarithmic else _padded(*ends, 0.1)
        return _Axis(*ends, _LEFT, WIDTH - _RIGHT, logarithmic)

    def _up(self) -> "_Axis":
        return _Axis(*(self.limits or self.range()), HEIGHT - _BOTTOM, _TOP)

    def range(self) -> tuple[float, float]:
        """Return the least and the greatest y of an axis with all points and errors."""
        ends = []
        for series in self.series:
            for place, (_, y) in enumerate(series.points):
                error = (series.errors[place] or 0.0) if series.errors else 0.0
                ends += [y - error, y + error]
        ys = [y for series in self.series for _, y in series.points]
        low, high = _padded(min(ends), max(ends), 0.08)
        if min(ys) >= 0:
            low = max(low, 0.0)
        if max(ys) <= 1:
            high = min(high, 1.0)
        return _rounded(low, high)

    def _axes(self, drawing: Drawing, across: "_Axis", up: "_Axis") -> None:
        for y in ticks(up.low, up.high):
            role = "faint" if y == up.low else "grid"
            drawing.marks.append(Line([(_LEFT, up(y)), (WIDTH - _RIGHT, up(y))], role))
            drawing.marks.append(Words((_LEFT - 8, up(y) + 4), f"{y:.10g}", "faint", _SMALL, "end"))
        last = -math.inf
        for x in self.ticks or ticks(across.low, across.high):
            if across.low <= x <= across.high and across(x) - last >= _TICK_GAP:
                last = across(x)
                drawing.marks.append(Line([(last, HEIGHT - _BOTTOM), (last, HEIGHT - _BOTTOM + 4)], "faint"))
                drawing.marks.append(Words((last, HEIGHT - _BOTTOM + 18), f"{x:.10g}", "faint", _SMALL, "middle"))
        middle = (_LEFT + WIDTH - _RIGHT) / 2
        drawing.marks.append(Words((middle, HEIGHT - 14), self.x, "faint", 13, "middle"))
        drawing.marks.append(Words((16, (_TOP + HEIGHT - _BOTTOM) / 2), self.y, "faint", 13, "middle", upright=True))

    @staticmethod
    def _whiskers(series: Series, up: "_Axis") -> list[tuple[float, float] | None]:
        """Return the ends of the error of each point."""
        errors = series.errors or [None] * len(series.points)
        return [
            (up(max(up.low, y - error)), up(min(up.high, y + error))) if error else None
            for (_, y), error in zip(series.points, errors, strict=True)
        ]


def on_one_scale(charts: Sequence[Chart]) -> list[Chart]:
    """Return charts with the same limits of y, so that eyes can compare them."""
    ranges = [chart.range() for chart in charts]
    limits = min((low for low, _ in ranges), default=0.0), max((high for _, high in ranges), default=1.0)
    return [replace(chart, limits=_rounded(*limits)) for chart in charts]


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Return the limits of an axis that begins and ends with a tick."""
    for _ in range(3):  # a longer axis can have a longer step
        steps = ticks(low, high)
        step = steps[1] - steps[0] if len(steps) > 1 else high - low
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return low, high


def _padded(low: float, high: float, share: float) -> tuple[float, float]:
    pad = (high - low) * share or 0.05
    return low - pad, high + pad


@dataclass(frozen=True)
class _Axis:
    """A scale from values to places."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log(number) if self.logarithmic else number for number in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + (self.end - self.start) * share


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers from ``low`` to ``high``, at most six steps."""
    if high <= low:
        return [low]
    rough = (high - low) / _MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _look(number: int) -> tuple[str, int, bool]:
    """Return role, shape and whether the line is dashed of a series; no two of 24 look the same without colours."""
    return f"s{number % SERIES}", number % 4, number >= SERIES


def _curve(number: int, points: Sequence[Point], whiskers: Sequence[tuple[float, float] | None]) -> list[Mark]:
    role, shape, dashed = _look(number)
    marks: list[Mark] = [
        Line([(x, low), (x, high)], role, 1)
        for (x, _), ends in zip(points, whiskers, strict=True)
        if ends
        for low, high in [ends]
    ]
    if len(points) > 1:
        marks.append(Line(points, role, 2, dashed))
    return [*marks, *(Dot(point, role, shape) for point in points)]


def _legend(series: Sequence[Series]) -> list[list[tuple[int, str, float]]]:
    """Return lines of the legend: number, name and left end of its entries; nothing for one series without a name."""
    lines: list[list[tuple[int, str, float]]] = [[]]
    left = float(_LEFT)
    for number, entry in enumerate(series):
        if not entry.name:
            continue
        name = elided(entry.name, 48)
        width = width_of(name, 13) * 1.08 + 52
        if lines[-1] and left + width > WIDTH - _RIGHT:
            lines.append([])
            left = float(_LEFT)
        lines[-1].append((number, name, left))
        left += width
    return [line for line in lines if line]


def _entry(number: int, name: str, left: float, top: float) -> list[Mark]:
    role, shape, dashed = _look(number)
    line = Line([(left, top), (left + 24, top)], role, 2, dashed)
    return [line, Dot((left + 12, top), role, shape), Words((left + 32, top + 4), name)]


def matrix(title: str, classes: Sequence[str], counts: Mapping[tuple[str, str], int]) -> Drawing:
    """Return a matrix with a row for each class and a column for each class that the nearest items vote for.

    The colour of a cell is its share of the row, and its number the share in percent.
    """
    names = [elided(name, 22) for name in classes]
    label = min(_LABEL, max(width_of(name, _SMALL) for name in names)) + 12
    side = CELL * len(classes)
    left, top = label + 24, 60.0
    drawing = Drawing(max(left + side + 16, 320), top + side + label + 12, f"{title}. Rows are classes of queries.")
    drawing.marks.append(Words((0, 20), elided(title, 70), size=15))
    drawing.marks.append(Words((left, top - 12), "class voted for, % of the row", "faint", _SMALL))
    drawing.marks.append(Words((12, top + side / 2), "class of the queries", "faint", _SMALL, "middle", upright=True))
    for row, label_of_row in enumerate(classes):
        total = sum(counts.get((label_of_row, other), 0) for other in classes)
        y = top + row * CELL
        drawing.marks.append(Words((left - 8, y + CELL / 2 + 4), names[row], size=_SMALL, anchor="end"))
        drawing.marks.append(
            Words((left + (row + 0.5) * CELL + 4, top + side + 8), names[row], size=_SMALL, anchor="end", upright=True)
        )
        for column, other in enumerate(classes):
            drawing.marks += _cell(
                (left + column * CELL, y), label_of_row, other, counts.get((label_of_row, other), 0), total
            )
    return drawing


def _cell(corner: Point, label: str, vote: str, count: int, total: int) -> list[Mark]:
    share = count / total if total else 0.0
    title = f"{label}, voted {vote}: {count} of {total}"
    box = Box((corner[0] + 1, corner[1] + 1), (CELL - 2, CELL - 2), "grid", 0.45, title)
    if not count:
        return [box]
    place = corner[0] + CELL / 2, corner[1] + CELL / 2 + 4
    filled = Box(box.corner, box.size, "accent", 0.12 + 0.88 * share, title)
    percent = f"{100 * share:.0f}" if share >= 0.005 else "<1"
    return [box, filled, Words(place, percent, "paper" if share > 0.5 else "ink", 11, "middle")]
