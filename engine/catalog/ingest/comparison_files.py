"""Comparison files: CSV files of pairs of similar items, and of pairs, triplets or quadruplets with a header."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crossview.engine.catalog.ingest.table import Table
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.values.comparisons import ItemComparisons, check_notion
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.recipe import Pair

_PAIR = ("key_a", "key_b")
_TRIPLET = ("anchor", "near", "far")
_KEYS = (_PAIR, _TRIPLET, ("near_a", "near_b", "far_a", "far_b"))
_SIMILAR, _WEIGHT, _MARGIN, _NOTION = "similar", "weight", "margin", "notion"
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "-1": False, "false": False, "no": False}


def read_pairs(path: Path | str) -> tuple[Pair, ...]:
    """Return the pairs of a CSV with two keys of similar items on each line; a first line ``key_a,key_b`` is a header.

    Raises InvalidInputError for an unreadable file, a file without pairs, or a line that is not a pair.
    """
    pairs: list[Pair] = []
    table = Table(path, "pairs")
    for line, cells in table:
        if not pairs and [cell.lower() for cell in cells] == [*_PAIR]:
            continue
        if len(cells) != 2 or not all(cells):
            raise table.unexpected(line, ",".join(_PAIR), cells)
        pairs.append(Pair(cells[0], cells[1], line))
    if not pairs:
        raise InvalidInputError(f"{path} contains no pairs: each line must name two similar items, key_a,key_b")
    return tuple(pairs)


def read_comparisons(path: Path | str) -> ItemComparisons:
    """Return the comparisons of a CSV whose first line names its columns, in any order.

    ``key_a,key_b,similar`` (1 or 0, true or false, yes or no) are pairs; ``anchor,near,far`` triplets; and
    ``near_a,near_b,far_a,far_b`` quadruplets. The columns ``weight``, ``notion`` (the sense of similarity) and, except
    for pairs, ``margin`` are optional.

    Raises InvalidInputError for an unreadable file, another header, a file without comparisons, or a line that is not
    a comparison.
    """
    table = Table(path, "constraints")
    lines = iter(table)
    header = [cell.lower() for cell in next(lines, (0, [""]))[1]]
    keys = _key_columns(path, header)
    positions: dict[str, int] = {}
    # Numbers and one copy of each name, so that a million comparisons fit in memory.
    items: list[int] = []
    values: dict[str, list[float | str]] = {name: [] for name in header if name not in keys}
    numbers: list[int] = []
    for line, cells in lines:
        if len(cells) != len(header) or not all(cells):
            raise table.unexpected(line, ",".join(header), cells)
        cell_of = dict(zip(header, cells, strict=True))
        items += [positions.setdefault(cell_of[column], len(positions)) for column in keys]
        for column, column_values in values.items():
            column_values.append(_value(table, line, column, cell_of[column]))
        numbers.append(line)
    if not numbers:
        raise InvalidInputError(f"{path} contains only the header {','.join(header)}: add lines of constraints")
    arrays = {column: np.array(column_values) for column, column_values in values.items()}
    comparisons = Comparisons(
        np.array(items, np.int64).reshape(-1, len(keys)),
        arrays[_SIMILAR].astype(bool) if _SIMILAR in arrays else None,
        arrays.get(_WEIGHT),
        arrays.get(_MARGIN),
        arrays.get(_NOTION),
    )
    return ItemComparisons(tuple(positions), comparisons, np.array(numbers, np.int64))


def write_comparisons(path: Path | str, triplets: ItemComparisons) -> None:
    """Write triplets with their notions in the format of ``read_comparisons``; OSError if the file cannot be made."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_TRIPLET, _NOTION])
        notions = triplets.comparisons.notions
        for row, notion in zip(triplets.comparisons.items.tolist(), [] if notions is None else notions, strict=True):
            writer.writerow([*(triplets.keys[item] for item in row), notion])


def _key_columns(path: Path | str, header: Sequence[str]) -> Sequence[str]:
    """Return the columns that name items."""
    for keys in _KEYS:
        needed, optional = ({*keys, _SIMILAR}, {_WEIGHT}) if keys == _PAIR else ({*keys}, {_WEIGHT, _MARGIN})
        if needed <= set(header) <= needed | optional | {_NOTION} and len(set(header)) == len(header):
            return keys
    raise InvalidInputError(
        f"{path} begins with {','.join(header)!r}, but the first line must name the columns: key_a,key_b,similar or "
        "anchor,near,far or near_a,near_b,far_a,far_b, and optionally weight, margin or notion"
    )


def _value(table: Table, line: int, column: str, text: str) -> float | str:
    if column == _NOTION:
        try:
            return check_notion(text)
        except InvalidInputError as error:
            raise table.error(line, str(error)) from None
    if column == _SIMILAR:
        if (flag := _FLAGS.get(text.lower())) is None:
            raise table.error(line, f"{column} must be 1 or 0, not {text!r}")
        return flag
    try:
        return float(text)
    except ValueError:
        raise table.error(line, f"{column} must be a number, not {text!r}") from None
