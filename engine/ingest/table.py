"""Tables: CSV files that people write, read line by line, with errors that name the file and the line."""

import csv
from collections.abc import Iterator
from pathlib import Path

from engine.errors import InvalidInputError

csv.field_size_limit(1 << 24)
"""Of the whole process, and more than any text may have, which is checked where it is used; the default is 131,072."""


class Table:
    """A CSV file in UTF-8, with or without a byte order mark.

    For messages, ``content`` is what it should hold, in the plural, and ``hint`` what else the user may have meant.
    """

    def __init__(self, path: Path | str, content: str, hint: str = "") -> None:
        self.path, self.content, self.hint = Path(path), content, hint

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of every line that is not blank, without spaces around the cells.

        Raises InvalidInputError for a file that cannot be read.
        """
        try:
            with self.path.open(newline="", encoding="utf-8-sig") as file:
                reader = csv.reader(file)
                for line in reader:
                    cells = [cell.strip() for cell in line]
                    if any(cells):
                        yield reader.line_num, cells
        except UnicodeDecodeError as error:
            raise self._unreadable("it is not UTF-8 text; save it as CSV in UTF-8") from error
        except (OSError, csv.Error) as error:
            raise self._unreadable(getattr(error, "strerror", None) or str(error)) from error

    def _unreadable(self, reason: str) -> InvalidInputError:
        return InvalidInputError(f"{self.content} cannot be read from {self.path}: {reason}{self.hint}")

    def error(self, line: int, reason: str) -> InvalidInputError:
        """Return the error of a line."""
        return InvalidInputError(f"{self.path}, line {line}: {reason}")

    def unexpected(self, line: int, columns: str, cells: list[str]) -> InvalidInputError:
        """Return the error of a line whose cells do not fit the columns."""
        return self.error(line, f"expected {columns} but found {','.join(cells)!r}")
