"""Label files: a person's labels of pairs of versions as important or not."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

from crossview.engine.values.changes import PairLabel
from crossview.engine.values.errors import InvalidInputError

COLUMNS = ("earlier", "later", "important")
_WORDS = {True: ("yes", "1", "true"), False: ("no", "0", "false"), None: ("unclear", "")}
_MEANING = {word: important for important, words in _WORDS.items() for word in words}


def read_labels(path: Path) -> list[PairLabel]:
    """Return the labels of a CSV file with the header earlier,later,important; a missing file has no labels.

    Keys of items or names of their files name the versions; important is yes, no or unclear.

    Raises InvalidInputError for an unreadable file, another header, or a line that is not a label.
    """
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            header = next(lines, list(COLUMNS))
            if [cell.strip().lower() for cell in header] != list(COLUMNS):
                raise InvalidInputError(f"{path}: the first line must be {','.join(COLUMNS)}, not {','.join(header)!r}")
            return [_label(path, lines.line_num, line) for line in lines if any(cell.strip() for cell in line)]
    except OSError as error:
        raise InvalidInputError(f"labels cannot be read from {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"labels cannot be read from {path}: it is not CSV text in UTF-8") from error


def add_labels(path: Path, labels: Sequence[PairLabel]) -> int:
    """Append labels to a new or existing file; return its former size, so that an undo can truncate it.

    Raises InvalidInputError for a file that cannot be written.
    """
    try:
        with path.open("a", newline="", encoding="utf-8") as file:
            before = file.tell()
            writer = csv.writer(file, lineterminator="\n")
            if not before:
                writer.writerow(COLUMNS)
            elif not _ends_with_a_line(path):
                file.write("\n")
            writer.writerows((label.earlier, label.later, _WORDS[label.important][0]) for label in labels)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InvalidInputError(f"labels cannot be written to {path}: {error.strerror or error}") from error
    return before


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _label(path: Path, number: int, line: list[str]) -> PairLabel:
    cells = [cell.strip() for cell in line]
    if len(cells) != len(COLUMNS) or not all(cells[:2]) or cells[2].lower() not in _MEANING:
        raise InvalidInputError(
            f"{path}, line {number}: write a label as earlier,later,yes|no|unclear, not {','.join(line)!r}"
        )
    return PairLabel(cells[0], cells[1], _MEANING[cells[2].lower()])
