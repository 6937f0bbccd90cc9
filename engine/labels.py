"""Labels of files: from the names of their folders, or from a CSV."""

import csv
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from engine.errors import InvalidInputError
from engine.walk import SourceFile, readable

Labeller = Callable[[SourceFile], tuple[str, ...] | None]
"""Returns a file's labels, or None to leave those that its item has."""


def labeller(source: str | Path | None) -> Labeller:
    """Return the labeller for ``folder`` (the folder that a file lies in), a CSV file, or None (labels stay).

    Raises InvalidInputError if the CSV cannot be used.
    """
    if source is None:
        return lambda file: None
    if str(source) == "folder":
        return _folder
    return _from_csv(Path(source))


def _folder(file: SourceFile) -> tuple[str, ...]:
    parent = file.path.parent
    return () if parent == file.root else (readable(Path(parent.name)),)


def _from_csv(path: Path) -> Labeller:
    """Read lines of ``path,label[,label...]``: paths below a root or absolute; a first line ``path,...`` is a header.

    A file on several lines has all their labels; a file on none has none.
    """
    found: dict[str, set[str]] = defaultdict(set)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for number, line in enumerate(csv.reader(file), 1):
                cells = [cell.strip() for cell in line]
                if not any(cells) or (number == 1 and cells[0].lower() in ("path", "file", "key")):
                    continue
                if len(cells) < 2 or not cells[0]:
                    raise InvalidInputError(f"{path}, line {number}: expected path,label but found {','.join(line)!r}")
                found[cells[0]].update(cell for cell in cells[1:] if cell)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"labels cannot be read from {path}: {error} (or say 'folder')") from error

    def labels(file: SourceFile) -> tuple[str, ...]:
        return tuple(sorted(found.get(file.relative, set()) | found.get(readable(file.path), set())))

    return labels
