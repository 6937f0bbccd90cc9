"""Charts as values: the points that a plot shows, made from the rows of a result, and the digest that identifies them.

A chart knows nothing of matplotlib. The check of the documents makes charts and compares their digests with those that
the committed plots contain, so that it needs no drawing.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Document
from benchmarks.frame.tables import Row, rows_with

VERSION = 1
"""Raise it when the drawing of charts changes: every plot is then out of date."""
OURS, PUBLISHED = "crossview", "published"
"""Names of series that have a colour of their own."""


@dataclass(frozen=True)
class Series:
    """Points of one name: numbers or names on the x axis, numbers on the y axis, standard errors or none."""

    name: str
    x: tuple[Any, ...]
    y: tuple[float, ...]
    errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """The points and the titles of one plot.

    Attributes:
        kind: "dots", figures on a line for each name; "lines" over numbers; or "points", each with its name.
        series: the points; the x of dots are the names, from the top.
        x, y: titles of the axes; dots have their figures on the x axis.
        log: the axes that are logarithmic, "", "x", "y" or "xy".
    """

    kind: str
    series: tuple[Series, ...]
    x: str
    y: str
    log: str = ""

    def digest(self) -> str:
        """Return the SHA-256 of the points, the titles and the version of the drawing, as hexadecimal digits."""
        text = json.dumps([VERSION, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Plot:
    """How the rows of a result become a chart, and the text that replaces it for people who do not see it.

    Attributes:
        name: of the file, without its ending.
        alt: the message of the plot, in a sentence.
        result: the name of the result's file, without its ending.
        where: names that a row must have. Rows that have the same place on the plot are averaged.
        x: the name of a row that is its place on the x axis. Text, and "", which stands for the series, show dots.
        x_metric: the metric on the x axis, beside the one of ``where`` on the y axis: each series is then one point.
        series: the name of a row that divides the rows into series.
        keep: the series to show, in this order, with their names on the plot; None shows all.
        published: figures of a paper by the names on the plot.
        factor: multiplies the values, such as 100 for per cent.
        titles: of the x axis and the y axis; dots have their figures on the x axis.
        log: the axes that are logarithmic, "", "x", "y" or "xy".
        only: chooses among the rows that ``where`` keeps.
        rows: the rows of a document.
        trials: the number of trials that the deviations of the rows are of.
        beside: names of further results whose rows are shown too.
    """

    name: str
    alt: str
    result: str
    where: Mapping[str, Any]
    titles: tuple[str, str]
    x: str = ""
    x_metric: str = ""
    series: str = "method"
    keep: Mapping[Any, str] | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    factor: float = 1
    log: str = ""
    only: Callable[[Row], bool] = lambda row: True
    rows: Callable[[Document], Iterable[Row]] = lambda document: document["rows"]
    trials: Callable[[Document], int] = lambda document: len(document["settings"].get("seeds") or ())
    beside: Sequence[str] = ()

    def chart(self, documents: Mapping[str, Document]) -> Chart:
        """Return the chart of the results, which have the names of their files.

        Raises:
            ValueError: if no row has the wanted names.
        """
        results = [documents[name] for name in (self.result, *self.beside) if name in documents]
        all_rows = [row for document in results for row in self.rows(document)]
        rows = [row for row in rows_with(all_rows, **self.where) if self.only(row)]
        rows = [row for row in rows if not self.x or self.x in row]
        names = self.keep or {row[self.series]: str(row[self.series]) for row in rows if self.series in row}
        groups = {title: rows_with(rows, **{self.series: name}) for name, title in names.items()}
        groups = {title: of for title, of in groups.items() if of}
        if not groups:
            raise ValueError(f"{self.result}.json has no row for the plot {self.name}: see `where` and `keep`")
        if self.x_metric:
            return self._points(groups, [row for row in all_rows if self.only(row)], names)
        trials = self.trials(documents[self.result])
        series = self._lines(groups, trials) if self.x else self._dots(groups, trials)
        categorical = not self.x or isinstance(rows[0][self.x], str)
        return Chart("dots" if categorical else "lines", series, *self.titles, self.log)

    def _dots(self, groups: Mapping[str, Sequence[Row]], trials: int) -> tuple[Series, ...]:
        means = [self._mean(rows, trials) for rows in groups.values()]
        series = [Series(OURS, tuple(groups), tuple(value for value, _ in means), tuple(error for _, error in means))]
        if self.published:
            series.append(Series(PUBLISHED, tuple(self.published), tuple(map(float, self.published.values()))))
        return tuple(series)

    def _lines(self, groups: Mapping[str, Sequence[Row]], trials: int) -> tuple[Series, ...]:
        return tuple(self._line(name, rows, trials) for name, rows in groups.items())

    def _line(self, name: str, rows: Sequence[Row], trials: int) -> Series:
        places = list(dict.fromkeys(row[self.x] for row in rows))
        places = places if isinstance(places[0], str) else sorted(places)
        means = [self._mean(rows_with(rows, **{self.x: place}), trials) for place in places]
        return Series(name, tuple(places), tuple(value for value, _ in means), tuple(error for _, error in means))

    def _points(self, groups: Mapping[str, Sequence[Row]], rows: Sequence[Row], names: Mapping[Any, str]) -> Chart:
        across = {**self.where, "metric": self.x_metric}
        series = []
        for name, title in names.items():
            beside = rows_with(rows, **{**across, self.series: name})
            if title in groups and beside:
                series.append(Series(title, (self._mean(beside, 0)[0],), (self._mean(groups[title], 0)[0],)))
        return Chart("points", tuple(series), *self.titles, self.log)

    def _mean(self, rows: Sequence[Row], trials: int) -> tuple[float, float]:
        """Return the mean of the rows in four digits and, of a single row, its standard error in two."""
        value = self.factor * float(np.mean([row["value"] for row in rows]))
        if len(rows) > 1:
            return float(f"{value:.4g}"), 0.0
        error = (rows[0].get("std") or 0.0) / trials**0.5 if trials > 1 else 0.0
        return float(f"{value:.4g}"), float(f"{self.factor * rows[0].get('error', error):.2g}")
