"""What the evaluate command prints: one table, with a column for each space, and the same figures as CSV."""

from typing import TYPE_CHECKING

import typer

from server.commands.common import show, table
from server.commands.csv_output import print_csv

if TYPE_CHECKING:
    from engine.info import Evaluation, EvaluationDifference, EvaluationRow

COLUMNS = (
    *("space", "query_view", "database_view", "metric", "k", "value", "standard_error"),
    *("difference", "difference_standard_error"),
)
"""Of the CSV; differences are to the first space."""


def print_evaluation(found: "Evaluation") -> None:
    """Prints the figures of one space or several, and how they were measured."""
    spaces = list(dict.fromkeys(row.space for row in found.rows))
    if len(spaces) > 1 or found.comparisons:
        _print_spaces(found, spaces)
    else:
        rows = table("query", "database", "metric", ">k", ">value")
        for row in found.rows:
            rows.add_row(row.query_view, row.database_view, row.metric, str(row.k or ""), f"{row.value:.3f}")
        show(rows)
    measured = f"{found.queries} queries, {found.database} items to find"
    if found.comparisons:
        measured = f"{found.comparisons} comparisons"
    typer.echo(f"{measured}, {found.seconds:.1f} s")
    typer.echo("; ".join(sentence for sentence in (found.protocol, found.codebook) if sentence))


def _print_spaces(found: "Evaluation", spaces: list[str]) -> None:
    """Prints a column for each space: its figures, and of all but the first the paired differences to the first."""
    cells = {_key(row): _number(row.value, row.standard_error) for row in found.rows}
    for one in found.differences:
        cells[_key(one)] += f" ({_number(one.value, one.standard_error, '+')})"
    rows = table("query", "database", "metric", ">k", *(f">{space}" for space in spaces))
    for query, database, metric, k in dict.fromkeys(key[1:] for key in map(_key, found.rows)):
        values = [cells.get((space, query, database, metric, k), "-") for space in spaces]
        rows.add_row(query, database, metric, str(k or ""), *values)
    show(rows)
    brackets = f"; in brackets the difference to {spaces[0]}, paired" if found.differences else ""
    typer.echo(f"means \u00b1 standard errors{brackets}")


def _key(one: "EvaluationRow | EvaluationDifference") -> tuple[str, str, str, str, int | None]:
    return one.space, one.query_view, one.database_view, one.metric, one.k


def _number(value: float, error: float | None, sign: str = "") -> str:
    return f"{value:{sign}.3f}" + ("" if error is None else f" \u00b1 {error:.3f}")


def print_evaluation_csv(found: "Evaluation") -> None:
    """Prints a line for each figure of each space."""
    differences = {_key(one): (one.value, one.standard_error) for one in found.differences}
    print_csv(
        COLUMNS,
        ((*_key(row), row.value, row.standard_error, *differences.get(_key(row), (None, None))) for row in found.rows),
    )
