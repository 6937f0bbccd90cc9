"""Tables: CSV files that people write, read line by line, with errors that name the file and the line."""

import csv
import io
import re
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from crossview.engine.values.errors import InputWarning, InvalidInputError
from crossview.engine.values.recipe import Grouping

_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs"}
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")
"""A character that texts of spreadsheets never contain, but most other files do."""
_NAMED_DELIMITER = re.compile(r"sep=([,;\t])(?:\r\n|\r|\n)", re.IGNORECASE)
"""A first line by which a spreadsheet states the separator."""

csv.field_size_limit(1 << 24)
"""Limit of a cell for the whole process [Python's default: 131,072]; the checks of texts have lower limits."""


@dataclass(frozen=True)
class _Content:
    """The bytes of a file, and how to read them."""

    data: bytes
    encoding: str
    delimiter: str = ","
    named: bool = False
    """Whether the first line states the separator, and contains no cells."""

    def lines(self) -> Iterator[str]:
        """Return the lines of the text, without the line of the separator; only one line is in memory as text."""
        lines = io.TextIOWrapper(io.BytesIO(self.data), self.encoding, newline="")
        if self.named:
            next(lines)
        return lines

    def width(self, delimiter: str) -> int:
        """Return the number of cells of the first line that is not blank."""
        lines = csv.reader(self.lines(), delimiter=delimiter)
        return next((len(cells) for cells in lines if any(map(str.strip, cells))), 0)


class Table:
    """A CSV file in UTF-8, with or without a byte order mark, or in the formats of spreadsheets in many countries.

    Spreadsheets separate cells by semicolons or tabs, and may state this in a first line such as ``sep=;``; they write
    Windows-1252 or UTF-16. An InputWarning states each assumption. For messages, ``content`` is the expected content in
    the plural, and ``hint`` is an alternative for the user.
    """

    path: Path
    content: str
    hint: str

    def __init__(self, path: Path | str, content: str, hint: str = "") -> None:
        self.path, self.content, self.hint = Path(path), content, hint

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of every line that is not blank, without spaces around the cells.

        Raises InvalidInputError for a file that cannot be read.
        """
        for line, cells in self.exactly():
            yield line, [cell.strip() for cell in cells]

    def exactly(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of every line that is not blank, with the spaces around the cells.

        The file is read once, so that each iteration yields the same lines.
        """
        try:
            reader = csv.reader(self._content.lines(), delimiter=self._content.delimiter)
            for cells in reader:
                if any(map(str.strip, cells)):
                    yield reader.line_num + self._content.named, cells
        except UnicodeDecodeError as error:
            raise self._unreadable("it is not UTF-8 text; save it as CSV in UTF-8") from error
        except (OSError, csv.Error) as error:
            raise self._unreadable(getattr(error, "strerror", None) or str(error)) from error

    @cached_property
    def _content(self) -> "_Content":
        data = self.path.read_bytes()
        encoding = self._encoding(data)
        content = _Content(data, encoding)
        first = next(content.lines(), "")
        if header := _NAMED_DELIMITER.match(first):
            return replace(content, delimiter=header[1], named=True)
        return replace(content, delimiter=self._delimiter(content))

    def _encoding(self, data: bytes) -> str:
        """Return the encoding of a text; UnicodeDecodeError for bytes that are not text."""
        if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            data.decode("utf-16")
            return "utf-16"
        try:
            data.decode("utf-8-sig")
            return "utf-8-sig"
        except UnicodeDecodeError:
            if _CONTROLS.search(data.decode("cp1252")):
                raise
            self._note("is not UTF-8 text, so it is read as Windows-1252")
            return "cp1252"

    def _delimiter(self, content: "_Content") -> str:
        """Return the separator of the first line that is not blank; a comma if the line is ambiguous."""
        for delimiter, name in _OTHER_DELIMITERS.items():
            if content.width(",") == 1 < content.width(delimiter):
                self._note(f"is read with {name} between cells")
                return delimiter
        return ","

    def _note(self, what: str) -> None:
        warnings.warn(f"{self.path} {what}", InputWarning, stacklevel=2)

    def _unreadable(self, reason: str) -> InvalidInputError:
        return InvalidInputError(f"{self.content} cannot be read from {self.path}: {reason}{self.hint}")

    def error(self, line: int, reason: str) -> InvalidInputError:
        """Return the error of a line."""
        return InvalidInputError(f"{self.path}, line {line}: {reason}")

    def unexpected(self, line: int, columns: str, cells: list[str]) -> InvalidInputError:
        """Return the error of a line whose cells do not fit the columns."""
        return self.error(line, f"expected {columns} but found {','.join(cells)!r}")


def read_lines(path: Path) -> tuple[str, ...]:
    """Return the lines of a text in UTF-8, empty ones too; raise InvalidInputError for other text, and OSError."""
    try:
        return tuple(path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8 text: {error}") from error


def read_names(path: Path) -> tuple[str, ...]:
    """Return the keys or paths on the lines of a file, each once; raise InvalidInputError without any, and OSError."""
    names = tuple(dict.fromkeys(line for line in read_lines(path) if line.strip()))
    if not names:
        raise InvalidInputError(f"{path} is empty: write one key or path on each line")
    return names


_NAMES = ("key", "path")
_GROUP = "group"


def read_groups(path: Path | str) -> Grouping:
    """Return the groups of a CSV with the columns ``key`` or ``path``, and ``group``, in any order.

    An item with an empty group is a group of its own. Raises InvalidInputError for an unreadable file, another
    header, a file without groups, an invalid line, or a second group for an item.
    """
    table = Table(path, "groups")
    lines = iter(table)
    header = [cell.lower() for cell in next(lines, (0, [""]))[1]]
    if len(header) != 2 or _GROUP not in header or not set(header) & set(_NAMES):
        columns = ",".join(header)
        raise InvalidInputError(f"{path} begins with {columns!r}, but the first line must be key,group or path,group")
    groups: dict[str, str] = {}
    column = header.index(_GROUP)
    for line, cells in lines:
        if len(cells) != 2 or not cells[1 - column]:
            raise table.unexpected(line, ",".join(header), cells)
        name, group = cells[1 - column], cells[column]
        if groups.setdefault(name, group) != group:
            raise table.error(line, f"{name} has group {group} here, and group {groups[name]} above: remove one line")
    groups = {name: group for name, group in groups.items() if group}
    if not groups:
        raise InvalidInputError(f"{path} contains only the header {','.join(header)}: add lines of items and groups")
    return Grouping(str(path), groups)
