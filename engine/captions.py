"""Captions of files, from a CSV."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from engine.errors import InvalidInputError
from engine.item import Failure
from engine.table import names_of, read_table
from engine.texts import check_text
from engine.walk import SourceFile


class Captions:
    """Lines of ``path,caption``: several of one file are joined; an empty caption removes the text that an item has.

    Further cells belong to the caption, whose commas need no quotes then. None has no captions at all.

    Raises InvalidInputError if the file cannot be used.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = path
        self._lines: dict[str, int] = {}
        parts: dict[str, list[str]] = defaultdict(list)
        for line, name, cells in read_table(Path(path), "captions", "caption") if path is not None else ():
            self._lines.setdefault(name, line)
            parts[name] += [caption] if (caption := ", ".join(cells)) else []
        self._texts = {name: check_text("\n".join(lines)) for name, lines in parts.items()}

    def __bool__(self) -> bool:
        return bool(self._texts)

    def of(self, file: SourceFile) -> str | None:
        """Return a file's caption; None, which keeps its item's text, where nothing is said of it."""
        found = [self._texts[name] for name in names_of(file) if name in self._texts]
        return "\n".join(filter(None, found)) if found else None

    def unused(self, files: Sequence[SourceFile]) -> list[Failure]:
        """Return the captions of none of the files; InvalidInputError where that is all of them."""
        names = {name for file in files for name in names_of(file)}
        left = [name for name in self._texts if name not in names]
        if left and files and len(left) == len(self._texts):
            raise InvalidInputError(f"{self._path} names none of {len(files)} files found; paths are below the root")
        reason = "no such picture below the paths given, so its caption was not used"
        return [Failure(name, f"{self._path}, line {self._lines[name]}: {reason}") for name in left]
