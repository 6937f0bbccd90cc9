"""Cells of labels: several in one cell of a table, separated by semicolons."""

import re
from collections.abc import Iterable

SEPARATOR = ";"
_PART = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:;|\Z)|([^;]*)(?:;|\Z)')


def labels_of(cell: str) -> list[str]:
    """Return the labels of a cell; a label in double quotes can contain semicolons, and spaces at its ends.

    Write a quote inside such a label twice. Quotes that do not enclose a whole label belong to the label.
    """
    parts = (quoted.replace('""', '"') or plain.strip() for quoted, plain in _PART.findall(cell))
    return [part for part in parts if part]


def label_cell(labels: Iterable[str]) -> str:
    """Return a cell from which ``labels_of`` reads the labels."""
    return SEPARATOR.join(map(_written, labels))


def _written(label: str) -> str:
    if SEPARATOR in label or '"' in label or label != label.strip():
        return '"' + label.replace('"', '""') + '"'
    return label
