"""Rows of figures, and their medians over trials; a limit is the least or the most that a figure may be."""

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from benchmarks.frame.tables import Row, table, values_by

OURS, REFERENCE, ECHO, STREAMS = "crossview", "reference", "echo", "crossview, streams"
NAMES = ("part", "task", "clients", "method", "metric")


class Limit(NamedTuple):
    """The range that a figure must be in."""

    least: float = -math.inf
    most: float = math.inf

    def __str__(self) -> str:
        if -math.inf < self.least and self.most < math.inf:
            return f"{self.least:g} to {self.most:g}"
        return f"at least {self.least:g}" if self.least > -math.inf else f"at most {self.most:g}"

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.least <= value <= self.most


def judged(rows: Iterable[Row], limits: Mapping[str, Limit], form: str = ",.4g") -> str:
    """Return a table of figures beside their limits; those that miss theirs are bold."""
    lines = [["figure", "value", "limit"]]
    for row in rows:
        limit, value = limits.get(row["metric"]), format(row["value"], form)
        missed = limit is not None and row["value"] not in limit
        lines.append([row["metric"], f"**{value}**" if missed else value, "" if limit is None else str(limit)])
    return table(lines)


def figure(part: str, task: str, method: str, metric: str, value: float, clients: int = 0) -> dict[str, Any]:
    """Return one row; ``clients`` is the number of simultaneous calls, 0 if it has no meaning."""
    return dict(zip((*NAMES, "value"), (part, task, clients, method, metric, value), strict=True))


def medians(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a row for all of equal names: the median of their values, and their deviation. NaN are left out."""
    result: list[dict[str, Any]] = []
    for names, values in values_by(rows, NAMES):
        if measured := [value for value in values if not math.isnan(value)]:
            spread = statistics.stdev(measured) if len(measured) > 1 else 0.0
            result.append({**names, "value": statistics.median(measured), "std": spread})
    return result
