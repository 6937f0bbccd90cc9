"""Figures of methods over trials, and their differences paired by trial.

A trial is {"methods": {name: {metric: value}}} and whatever else its benchmark adds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.frame.tables import mean_and_error, summary, table

Trials = Sequence[Mapping[str, Any]]


def values(trials: Trials, method: str, metric: str) -> list[Any]:
    """Return a figure of every trial."""
    return [trial["methods"][method][metric] for trial in trials]


def gains(trials: Trials, first: str, second: str, metric: str = "accuracy") -> Any:
    """Return the first method's figure less the second's, trial by trial."""
    return np.subtract(values(trials, first, metric), values(trials, second, metric))


def rows_of(
    trials: Trials, methods: Sequence[str], metrics: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return mean and deviation of the methods' figures, and of the differences in accuracy of pairs of methods."""
    rows: list[dict[str, Any]] = [
        {"method": method, "metric": metric, **summary(values(trials, method, metric))}
        for method in methods
        for metric in metrics
    ]
    for first, second in pairs:
        row = {"method": first, "against": second, "metric": "accuracy gained"}
        rows.append({**row, **summary(gains(trials, first, second))})
    return rows


def gains_table(trials: Trials, pairs: Sequence[tuple[str, str]]) -> str:
    """Return the differences in accuracy of pairs of methods, mean ± standard error."""
    lines = [["difference in accuracy", "points, ± standard error"]]
    lines += [
        [f"{first} − {second}", mean_and_error(gains(trials, first, second), 100, 2, "+")] for first, second in pairs
    ]
    return table(lines)
