"""Figures of spaces beside each other, as the page of a training and the report of an evaluation show them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from crossview.engine.values.evaluation import Evaluation, EvaluationDifference, EvaluationRow

SMALLER = frozenset(("median_rank", "hubness", "lca_loss", "equal_error_rate", "seconds"))
"""Metrics whose smaller values are better."""


class Measured(NamedTuple):
    """The value of a figure in one space."""

    share: float
    """The length of its bar, from 0 to 1."""
    value: str
    leads: bool
    """Whether no other space is better."""
    difference: str
    """The difference to the first space; "" for the first."""
    verdict: str
    """Whether the difference is better or worse by two standard errors or more; otherwise faint."""


class Figure(NamedTuple):
    """A figure with its value in each space."""

    name: str
    views: str
    spaces: Mapping[str, Measured]


def key_of(row: Any) -> tuple[Any, ...]:
    """Return what is measured: the views, the database, the metric and k."""
    return row.query_view, row.database_view, row.database, row.metric, row.k


def figures(
    evaluation: Evaluation,
    rows: Iterable[EvaluationRow],
    named: Callable[[EvaluationRow], tuple[str, str]],
    percent: bool = False,
) -> list[Figure]:
    """Return the figures of rows of an evaluation, each named by the words for its metric and for its views."""
    differences = {(gain.space, key_of(gain)): gain for gain in evaluation.differences}
    lines: dict[tuple[Any, ...], dict[str, EvaluationRow]] = {}
    for row in rows:
        lines.setdefault(key_of(row), {})[row.space] = row
    return [
        Figure(
            *named(next(iter(cells.values()))),
            {space: _measured(row, cells, differences.get((space, key)), percent) for space, row in cells.items()},
        )
        for key, cells in lines.items()
    ]


def _measured(
    row: EvaluationRow, cells: Mapping[str, EvaluationRow], difference: EvaluationDifference | None, percent: bool
) -> Measured:
    values, sign = [cell.value for cell in cells.values()], -1 if row.metric in SMALLER else 1
    share = max(row.value, 0.0) / max(1.0, *values)
    leads = len(values) == 1 or (
        row.value == sign * max(sign * other for other in values) and row.metric != "unseen_share"
    )
    value = number(row.value, row.standard_error, percent)
    if difference is None:
        return Measured(share, value, leads, "", "")
    gain, error = sign * difference.value, difference.standard_error
    verdict = "faint" if not error or abs(gain) < 2 * error else "better" if gain > 0 else "worse"
    return Measured(share, value, leads, number(difference.value, error, percent, "+"), verdict)


def number(value: float, error: float | None, percent: bool = False, sign: str = "") -> str:
    """Return a figure with its standard error, or with a ``sign`` of "+" a difference."""
    scale, digits = (100, 1) if percent else (1, 3)
    text = f"{scale * value:{sign}.{digits}f}".replace("-", "−")
    return text + ("" if error is None else f" ± {scale * error:.{digits}f}") + (" %" if percent else "")
