"""CSV on standard output, with a header: what --csv prints."""

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from crossview.engine.ingest.cells import label_cell

CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")]


def check_format(as_json: bool, as_csv: bool) -> None:
    """Raise BadParameter if both options are given."""
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other: give one of them")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as they arrive; lists become cells of labels, mappings JSON, and None an empty cell."""
    writer = csv.writer(_Lines())
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in row])


class _Lines:
    """Standard output, on which rows end in a line feed.

    A writer with that line terminator does not quote a carriage return, at which readers end a row.
    """

    def write(self, row: str) -> None:
        """Write a row, which ends in a carriage return and a line feed."""
        sys.stdout.write(row.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value else ""
    return label_cell(value) if isinstance(value, tuple | list) else value
