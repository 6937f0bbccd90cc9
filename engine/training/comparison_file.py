"""Files of comparisons: CSV with a header that says of what kind they are."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from engine.comparisons import ItemComparisons
from engine.errors import InvalidInputError
from engine.learners.comparisons import Comparisons

_SIMILAR, _WEIGHT, _MARGIN = "similar", "weight", "margin"
_KEYS = (("key_a", "key_b"), ("anchor", "near", "far"), ("near_a", "near_b", "far_a", "far_b"))
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "-1": False, "false": False, "no": False}
_FORMS = "key_a,key_b,similar or anchor,near,far or near_a,near_b,far_a,far_b"


def read_comparisons(path: Path | str) -> ItemComparisons:
    """Return the comparisons of a CSV whose first line names its columns, in any order.

    ``key_a,key_b,similar`` (1 or 0, true or false, yes or no) are pairs; ``anchor,near,far`` triplets; and
    ``near_a,near_b,far_a,far_b`` quadruplets. Columns ``weight`` and, but for pairs, ``margin`` may be added.

    Raises InvalidInputError for a file that cannot be read, has another header, holds no comparison, or a line that is
    none.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            return _Reader(path, csv.reader(file)).read()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"constraints cannot be read from {path}: {error}") from error


class _Reader:
    """Reads one file, line by line: of a million comparisons only numbers and the names of items are kept."""

    def __init__(self, path: Path | str, lines: Any) -> None:
        self.path = path
        self.lines = lines

    def read(self) -> ItemComparisons:
        rows = self._rows()
        header = [cell.lower() for cell in next(rows, [])]
        keys, extra = self._columns(header)
        places, extras = [header.index(name) for name in keys], [(name, header.index(name)) for name in extra]
        names: dict[str, int] = {}
        items: list[int] = []
        values: dict[str, list[float]] = {name: [] for name in extra}
        numbers: list[int] = []
        for cells in rows:
            if len(cells) != len(header) or not all(cells):
                self._fail(f"expected {','.join(header)} but found {','.join(cells)!r}")
            items += [names.setdefault(cells[place], len(names)) for place in places]
            for name, place in extras:
                values[name].append(self._value(name, cells[place]))
            numbers.append(self.lines.line_num)
        if not numbers:
            raise InvalidInputError(f"{self.path} holds no constraints but for its header {','.join(header)}")
        arrays = {name: np.array(found) for name, found in values.items()}
        said = Comparisons(
            np.array(items, np.int64).reshape(-1, len(keys)),
            arrays[_SIMILAR].astype(bool) if _SIMILAR in arrays else None,
            arrays.get(_WEIGHT),
            arrays.get(_MARGIN),
        )
        return ItemComparisons(tuple(names), said, np.array(numbers, np.int64))

    def _rows(self) -> Iterator[list[str]]:
        for line in self.lines:
            cells = [cell.strip() for cell in line]
            if any(cells):
                yield cells

    def _columns(self, header: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """Return the columns of keys and the others."""
        for keys in _KEYS:
            needed = {*keys, _SIMILAR} if len(keys) == 2 else {*keys}
            allowed = needed | {_WEIGHT} if len(keys) == 2 else needed | {_WEIGHT, _MARGIN}
            if needed <= set(header) <= allowed and len(set(header)) == len(header):
                return keys, [name for name in header if name not in keys]
        raise InvalidInputError(
            f"{self.path} begins with {','.join(header)!r}, not with the names of its columns: {_FORMS}, "
            "and weight or margin where there are any"
        )

    def _value(self, name: str, text: str) -> float:
        if name == _SIMILAR:
            if (flag := _FLAGS.get(text.lower())) is None:
                self._fail(f"{name} is 1 or 0, not {text!r}")
            return flag
        try:
            return float(text)
        except ValueError:
            self._fail(f"{name} {text!r} is no number")

    def _fail(self, reason: str) -> NoReturn:
        raise InvalidInputError(f"{self.path}, line {self.lines.line_num}: {reason}")
