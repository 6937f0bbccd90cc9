"""Markdown tables, and the means and errors in their cells."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Row = Mapping[str, Any]
Figures = dict[str, dict[str, Any]]


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first line is its head."""
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body])


def figures_table(rows: Iterable[Row]) -> str:
    """Return a line for each row: what names it, its value and, where it has one, its deviation."""
    lines = [["figure", "value"]]
    for row in rows:
        name = ", ".join(str(value) for key, value in row.items() if key not in ("value", "std"))
        lines.append([name, f"{row['value']:,.4g}" + (f" ± {row['std']:.2g}" if row.get("std") else "")])
    return table(lines)


def rows_with(rows: Iterable[Row], /, **names: Any) -> list[Row]:
    """Return the rows that have all these names."""
    return [row for row in rows if names.items() <= row.items()]


def rows_of_trials(document: Mapping[str, Any], *names: str) -> list[Row]:
    """Return a row for each figure of each trial, a list that ends with the value: its names, and the data if any."""
    return [
        {"data": trial.get("data"), **dict(zip(names, figure[:-1], strict=True)), "value": figure[-1]}
        for trial in document["trials"]
        for figure in trial["figures"]
    ]


def values_by(rows: Iterable[Row], names: Sequence[str]) -> list[tuple[dict[str, Any], list[float]]]:
    """Return the values of rows with equal names, with these names; a name that a row lacks is None."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        values.setdefault(tuple(row.get(name) for name in names), []).append(row["value"])
    return [(dict(zip(names, key, strict=True)), group) for key, group in values.items()]


def figures_by(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], Figures]:
    """Return the values by the rows' names, then by method, then by metric."""
    figures: dict[tuple[Any, ...], Figures] = {}
    for row in rows:
        methods = figures.setdefault(tuple(row[name] for name in names), {})
        methods.setdefault(row["method"], {})[row["metric"]] = row["value"]
    return figures


def summary(values: Any) -> dict[str, float]:
    """Return mean and sample standard deviation (0 of a single value) as a row has them."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"value": float(np.mean(values)), "std": spread}


def mean_and_error(values: Any, factor: float = 100, digits: int = 1, sign: str = "") -> str:
    """Return the mean ± its standard error, which a single value has not; "" of no values.

    Args:
        values: (n,) a figure of each trial.
        factor: multiplies both.
        digits: after the point.
        sign: "+" where positive values are to show theirs.
    """
    if not len(values):
        return ""
    statistics = summary(values)
    text = f"{factor * statistics['value']:{sign}.{digits}f}"
    error = factor * statistics["std"] / np.sqrt(len(values))
    return text if len(values) < 2 else f"{text} ± {error:.{digits}f}"


def span(values: Sequence[int]) -> str:
    """Return the least and the greatest of whole numbers, or the number where they are equal."""
    least, most = min(values), max(values)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
