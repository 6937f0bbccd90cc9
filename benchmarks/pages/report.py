"""Reports in Markdown as their parts: excerpts of their tables for pages, and CSV files of all of them."""

import csv
import io
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.frame.tables import table

_WIDTH = 50  # of names of files, and of their titles


@dataclass(frozen=True)
class Table:
    """A table of a report: the headings above it below the title, the text before it, the columns and the rows."""

    headings: tuple[str, ...]
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """All headings."""
        return ": ".join(self.headings)


@dataclass(frozen=True)
class Report:
    """A report: the title, the paragraphs below it, the tables, and the last paragraph, which is about the run."""

    title: str
    about: str
    tables: tuple[Table, ...]
    run: str

    @classmethod
    def of(cls, markdown: str) -> "Report":
        """Return the parts of a report; a paragraph above a table that ends with a colon is its last heading.

        Raises:
            ValueError: if two tables have the same headings and columns.
        """
        body, _, run = markdown.strip().rpartition("\n\n")
        headings: list[str] = []
        texts: list[str] = []
        tables: list[Table] = []
        for section in re.split(r"\n+(?=#+ )", body):
            heading, *blocks = re.split(r"\n{2,}", section)
            mark, _, name = heading.partition(" ")
            headings = [*headings[: len(mark) - 1], name]
            texts.append("")
            for block in blocks:
                if block.startswith("|"):
                    *above, last = texts[-1].split("\n\n")
                    caption = [last[:-1].replace("`", "")] if last.endswith(":") else []
                    texts[-1] = "\n\n".join(above) if caption else texts[-1]
                    text = texts[-1] if len(texts) > 1 else ""
                    columns, _, *rows = (tuple(line[2:-2].split(" | ")) for line in block.splitlines())
                    tables.append(Table((*headings[1:], *caption), text, _distinct(columns), tuple(rows)))
                    texts.append("")
                else:
                    texts[-1] = f"{texts[-1]}\n\n{block}".strip()
        for name, count in Counter((*part.headings, part.columns) for part in tables).items():
            if count > 1:
                raise ValueError(f"{headings[0]}: two tables have the headings and columns {name}")
        return cls(headings[0], texts[0], tuple(tables), run)


def _distinct(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, a repeated one behind that of the column before it."""
    return tuple(
        f"{columns[place - 1]}, {name}" if columns.count(name) > 1 and place and name != columns[place - 1] else name
        for place, name in enumerate(columns)
    )


@dataclass(frozen=True)
class Excerpt:
    """Rows and columns of a report's tables that a page shows as one table.

    Attributes:
        result: name of the file of the result.
        headings: pattern of all headings above the table, with ``: `` between them; "" for tables below the title. If
            several tables match, its group, or else the match, is the first cell of their rows.
        rows: pattern that is found in the cells of a row, with `` | `` between them.
        columns: heads of the columns, in their order; all if none are named. Tables without one of them do not count.
    """

    result: str
    headings: str = ".*"
    rows: str = ""
    columns: Sequence[str] = ()

    def of(self, report: Report) -> list[str]:
        """Return the heading, the text and the rows of the tables; [] if there are none."""
        columns, lines, shown = self.columns, [], []
        for part in report.tables:
            match = re.fullmatch(self.headings, part.name)
            if match and set(columns) <= set(part.columns):
                columns = columns or part.columns
                places = [part.columns.index(column) for column in columns]
                rows = [row for row in part.rows if re.search(self.rows, " | ".join(row))]
                section = match[match.lastindex or 0]
                lines += [[section, *(row[place] for place in places)] for row in rows]
                shown += [part] if rows else []
        if not shown:
            return []
        if len(shown) > 1:
            return [table([["section", *columns], *lines])]
        heading = f"### {shown[0].name}" if shown[0].name else ""
        return [heading, shown[0].text, table([columns, *(line[1:] for line in lines)])]


@dataclass(frozen=True)
class Sheet:
    """A CSV file: its name without the ending, what it contains, its columns and its rows."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def text(self) -> str:
        """Return the content of the file."""
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([self.columns, *self.rows])
        return file.getvalue()


def sheets(reports: Mapping[str, Report]) -> list[Sheet]:
    """Return the CSV files of all tables of reports, whose keys are the names of their results.

    Tables with the same columns are one file. Its first columns are the run and the section of each row, if they
    differ.
    """
    groups: dict[tuple[str, ...], list[tuple[str, Table]]] = {}
    for name, report in reports.items():
        for part in report.tables:
            groups.setdefault(part.columns, []).append((name, part))
    files: dict[str, Sheet] = {}
    for columns, group in groups.items():
        places = [(name, part.name) for name, part in group]
        kept = [place for place in (0, 1) if len({names[place] for names in places}) > 1]
        rows = [
            tuple(re.sub(r"\*\*|`", "", cell) for cell in (*(names[place] for place in kept), *row))
            for names, (_, part) in zip(places, group, strict=True)
            for row in part.rows
        ]
        result, first = group[0]
        heading = first.headings[-1] if first.headings else ""
        stem = re.sub(r"\W+", "-", textwrap.shorten(heading or result, _WIDTH, placeholder="").lower()).strip("-")
        name = next(name for name in (stem, *(f"{stem}-{number}" for number in range(2, 99))) if name not in files)
        title = textwrap.shorten(heading or reports[result].title, _WIDTH, placeholder=" …")
        title += f", and {len(group) - 1} more" if len(group) > 1 else ""
        files[name] = Sheet(name, title, (*(("run", "section")[place] for place in kept), *columns), rows)
    return list(files.values())
