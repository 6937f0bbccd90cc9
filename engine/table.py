"""Tables of what is said of files: CSV whose first cell names the file."""

import csv
from collections.abc import Iterator
from pathlib import Path

from engine.errors import InvalidInputError
from engine.walk import SourceFile, readable

_HEADERS = ("path", "file", "filename", "image", "key")


def read_table(path: Path, what: str, cell: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (line, file, other cells) of lines ``path,cell[,cell...]``; a first line ``path,...`` is a header.

    Files are named by their path below a root, or absolute. ``what`` is read, and ``cell`` what it has, in the words of
    InvalidInputError, which is raised where the table cannot be read.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            for number, line in enumerate(reader, 1):
                cells = [text.strip() for text in line]
                if not any(cells) or (number == 1 and cells[0].lower() in _HEADERS):
                    continue
                if len(cells) < 2 or not cells[0]:
                    raise InvalidInputError(
                        f"{path}, line {reader.line_num}: expected path,{cell} but found {','.join(line)!r}"
                    )
                yield reader.line_num, cells[0], cells[1:]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        hint = " (or say 'folder')" if what == "labels" else ""
        raise InvalidInputError(f"{what} cannot be read from {path}: {error}{hint}") from error


def names_of(file: SourceFile) -> tuple[str, str]:
    """Return what a table may call a file."""
    return file.relative, readable(file.path)
