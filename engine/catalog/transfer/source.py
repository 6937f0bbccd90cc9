"""Sources: files of other programs as rows of named values, read one after another."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from crossview.engine.catalog.ingest.cells import json_or_text
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure
from crossview.features.formats import SUFFIXES
from crossview.features.vectors import MAX_DIM

UNNAMED = "Unnamed: "
"""The beginning of the name of a column without a name, as pandas names it: such a column is the index of a table."""
SAMPLE = 1_000
"""Number of rows by which the columns are described; a column that first appears later is left out."""
_EXAMPLES = 200
"""Maximum number of values of a column that are examined."""
_NEARLY_ALL = 0.9
"""Share of the examined values that describes a column: single rows can be wrong."""
_SHORT_VECTOR = 8
"""Minimum length of lists of numbers that are probably vectors; shorter ones, such as boxes, need a telling name."""
_VECTOR_NAMES = ("vector", "embed", "feature", "emb")
MOST_COLUMNS = 10_000
"""Maximum number of columns of a file."""
_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF", b"II*\x00", b"MM\x00*", b"BM", b"GIF8")
_HEIF = b"ftyp"


class Row(NamedTuple):
    """One row of a source."""

    place: str
    """The place of the row in its file, for messages."""
    key: str
    """The key of the item if no column has keys."""
    values: Mapping[str, Any]
    """By column: None, a boolean, a number, a text, bytes, a list, a mapping or a vector, (d,) numbers."""


class Source(Protocol):
    """A file or folder of another program."""

    @property
    def form(self) -> str:
        """The format, for people."""

    @property
    def folder(self) -> Path:
        """The folder that relative paths of pictures begin at."""

    @property
    def count(self) -> int:
        """The number of rows."""

    @property
    def written(self) -> bool:
        """Whether the values are cells of a table, which are texts: JSON, or lists separated by semicolons."""

    @property
    def hints(self) -> Mapping[str, str]:
        """Meanings of columns that the format itself states, as ``--map`` writes them."""

    def __iter__(self) -> Iterator[Row | Failure]:
        """Yield the rows; a row that cannot be read is a failure."""


@dataclass(frozen=True)
class Column:
    """A column of a source, described by its first values."""

    name: str
    kind: str
    """One of ``empty``, ``boolean``, ``number``, ``text``, ``texts``, ``vector``, ``picture``, ``path``, ``lost``,
    ``bytes``, ``list`` and ``object``; a path is the name of a picture file, and a lost one is not there."""
    width: int = 0
    """The length of vectors, or of other lists of numbers if nearly all have it; 0 for another kind."""
    example: Any = None
    distinct: bool = False
    """Whether nearly all examined values differ from each other, as keys do."""

    @property
    def content(self) -> str:
        """The content in words."""
        return {
            "vector": f"vector of {self.width}",
            "list": f"list of {self.width} numbers" if self.width else "list",
            "path": "path of a picture",
            "lost": "path of a picture that is not there",
        }.get(self.kind, self.kind)


@dataclass
class _Examples:
    values: list[Any] = field(default_factory=list)


def check_columns(path: Path, count: int) -> None:
    """Raise InvalidInputError for a file with more columns than it may have."""
    if count > MOST_COLUMNS:
        raise InvalidInputError(
            f"{path} has {count:,} columns, and may have at most {MOST_COLUMNS:,}: keep those that items need, and put "
            "the numbers of a vector into one column, or into a .npy file"
        )


def described(source: Source, images: Path | None) -> tuple[Column, ...]:
    """Return the columns of a source, from its first rows; raise InvalidInputError for too many."""
    by_column: dict[str, _Examples] = {}
    for row in islice(source, SAMPLE):
        if isinstance(row, Failure):
            continue
        for name, value in row.values.items():
            examples = by_column.setdefault(name, _Examples()).values
            if not is_missing(value) and len(examples) < _EXAMPLES:
                examples.append(cell_value(value) if source.written else value)
        check_columns(source.folder, len(by_column))
    folder = images or source.folder
    telling = {name for name, role in source.hints.items() if role == "vector"}
    return tuple(_column(name, examples.values, folder, name in telling) for name, examples in by_column.items())


def is_missing(value: Any) -> bool:
    """Return whether a value is None, an empty cell, or NaN, by which pandas writes a missing value."""
    return value is None or (type(value) is float and value != value) or (type(value) is str and not value)


def cell_value(cell: str) -> Any:
    """Return the value of a cell of a table: JSON, numbers in brackets as NumPy prints them, or the text."""
    value = json_or_text(cell)
    if value in (float("inf"), float("-inf")) or is_missing(value):
        return cell
    if value is cell and cell.startswith("[") and cell.endswith("]"):
        with suppress(ValueError):
            return [float(number) for number in cell[1:-1].split()]
    return value


def _column(name: str, values: list[Any], folder: Path, telling: bool) -> Column:
    if not values:
        return Column(name, "empty")
    if all(isinstance(value, list | np.ndarray) for value in values):
        kind, width = _kind_of_lists(name, values, telling)
    else:
        kind, width = _kind(values, folder), 0
    plain = [value for value in values if isinstance(value, str | int | float)]
    distinct = len(plain) == len(values) and len(set(plain)) >= _NEARLY_ALL * len(values)
    return Column(name, kind, width, values[0], distinct)


def _kind(values: list[Any], folder: Path) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int | float) for value in values):
        return "number"
    if all(isinstance(value, bytes) for value in values):
        return "picture" if all(map(_is_picture, values)) else "bytes"
    if all(isinstance(value, Mapping) for value in values):
        return "picture" if all(value.keys() <= {"bytes", "path"} for value in values) else "object"
    texts = [str(value) for value in values]
    files = [text for text in texts if posixpath.splitext(text)[1].lower() in SUFFIXES]
    if len(files) < _NEARLY_ALL * len(texts):
        return "text"
    return "path" if any((folder / text).is_file() for text in files) else "lost"


def _kind_of_lists(name: str, values: list[Any], telling: bool) -> tuple[str, int]:
    lengths = Counter(len(value) for value in values if _is_numeric(value))
    width, count = lengths.most_common(1)[0] if lengths else (0, 0)
    if count >= _NEARLY_ALL * len(values) and 0 < width <= MAX_DIM:
        telling = telling or any(word in name.lower() for word in _VECTOR_NAMES)
        return ("vector" if telling or width >= _SHORT_VECTOR else "list"), width
    if all(isinstance(value, list) and all(isinstance(element, str) for element in value) for value in values):
        return "texts", 0
    return "list", 0


def _is_numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "fiu"
    return all(type(element) in (int, float) for element in value)


def _is_picture(data: bytes) -> bool:
    return data.startswith(_SIGNATURES) or data[4:8] == _HEIF


def numbered(rows: Iterable[Mapping[str, Any]], name: str, prefix: str, start: int = 1) -> Iterator[Row]:
    """Yield rows with their places in a file, and keys that count them."""
    for number, values in enumerate(rows, start):
        yield Row(f"row {number} of {name}", f"{prefix}/{number:06}", values)
