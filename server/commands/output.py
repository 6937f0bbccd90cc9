"""The output of commands: text, tables and CSV in which control characters are visible.

Keys, labels and texts come from anyone, and a terminal obeys escape sequences wherever they are.
"""

import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TextIO

import typer

from crossview.engine.catalog.ingest.cells import label_cell

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except tab and newline, and characters that change the direction of text or end a line."""
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""The unsafe characters that the JSON encoder does not escape."""


def say(text: str = "", err: bool = False) -> None:
    """Print a text on stdout or stderr."""
    typer.echo(escaped(text), err=err)


def escaped(text: str) -> str:
    """Return a text with unsafe characters written as escapes, such as ``\\x1b``."""
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text)


def escaped_json(text: str) -> str:
    """Return JSON with unsafe characters written as JSON escapes, such as ``\\u009b``."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_BREAKS = re.compile(r"[\t\r\n\v\f]+")


@dataclass
class Table:
    """Rows of cells below a header; a > before the name of a column aligns it to the right, for numbers."""

    columns: tuple[str, ...]
    title: str | None = None
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append(cells)

    def lines(self) -> list[str]:
        """Return the title, the header and the rows as lines, with tabs between cells and no tab or break inside."""
        header = tuple(column.lstrip(">") for column in self.columns)
        table = ["\t".join(_BREAKS.sub(" ", cell) for cell in row) for row in (header, *self.rows)]
        return [self.title, *table] if self.title else table

    def drawn(self) -> Any:
        """Return the table as rich draws it, with escaped cells."""
        from rich import box
        from rich.table import Table as Drawn

        grid = Drawn(title=self.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
        for column in self.columns:
            grid.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
        for row in self.rows:
            grid.add_row(*map(escaped, row))
        return grid


def table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table with these columns; see ``Table``."""
    return Table(columns, title)


def show(*parts: Table | str) -> None:
    """Print tables and texts: drawn on a terminal, otherwise as plain lines without wrapping."""
    if not sys.stdout.isatty():
        for part in parts:
            say(part if isinstance(part, str) else "\n".join(part.lines()))
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for part in parts:
        console.print(escaped(part) if isinstance(part, str) else part.drawn())


CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")]


def check_format(as_json: bool, as_csv: bool) -> None:
    """Raise BadParameter if both options are given."""
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other: give one of them")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as they arrive; lists become cells of labels, mappings JSON, and None an empty cell."""
    write_csv(sys.stdout, columns, rows)


def write_csv(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows to a text file that does not translate line ends, in the form of ``print_csv``."""
    writer = csv.writer(_Lines(file))
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in row])


@dataclass(frozen=True)
class _Lines:
    """A file with rows that end in a line feed.

    The csv writer cannot do this: with the line terminator "\\n" it leaves carriage returns unquoted, and readers would
    end a row there.
    """

    file: TextIO

    def write(self, row: str) -> None:
        """Write a row, which ends in a carriage return and a line feed."""
        self.file.write(row.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value else ""
    return label_cell(value) if isinstance(value, tuple | list) else value
