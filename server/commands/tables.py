"""Tables: drawn for a terminal, and plain lines with tabs for other programs."""

import re
import sys
from dataclasses import dataclass, field
from typing import Any

from crossview.server.commands.saying import say, written_out

_BREAKS = re.compile(r"[\t\r\n\v\f]+")


@dataclass
class Table:
    """Rows of cells below a header; columns whose names begin with > hold numbers."""

    columns: tuple[str, ...]
    title: str | None = None
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append(cells)

    def lines(self) -> list[str]:
        """Return the title, the header and the rows, with a tab between cells and no tab or line break in them."""
        header = tuple(column.lstrip(">") for column in self.columns)
        table = ["\t".join(_BREAKS.sub(" ", cell) for cell in row) for row in (header, *self.rows)]
        return [self.title, *table] if self.title else table

    def drawn(self) -> Any:
        """Return the table as rich draws it, with nothing left in its cells that a terminal would obey."""
        from rich import box
        from rich.table import Table as Drawn

        made = Drawn(title=self.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
        for column in self.columns:
            made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
        for row in self.rows:
            made.add_row(*map(written_out, row))
        return made


def table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table; columns that begin with > hold numbers."""
    return Table(columns, title)


def show(*parts: Table | str) -> None:
    """Print tables and texts: drawn on a terminal, and otherwise as lines that nothing wraps."""
    if not sys.stdout.isatty():
        for part in parts:
            say(part if isinstance(part, str) else "\n".join(part.lines()))
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for part in parts:
        console.print(written_out(part) if isinstance(part, str) else part.drawn())
