"""CSV on standard output, with a header: what --csv prints."""

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")]

SEPARATOR = ";"
"""Separates the values of a cell that holds several, such as labels."""


def check_format(as_json: bool, as_csv: bool) -> None:
    """Raises BadParameter where both are given."""
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other: give one of them")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Prints rows as they arrive; lists are joined by semicolons, mappings are JSON, and None is an empty cell."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in row])


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value else ""
    return SEPARATOR.join(value) if isinstance(value, tuple | list) else value
