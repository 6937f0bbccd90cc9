"""Cells of tables and values of options: labels and JSON."""

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from crossview.engine.catalog.checks import MAX_DEPTH
from crossview.engine.values.errors import InvalidInputError

SEPARATOR = ";"
_PART = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:;|\Z)|([^;]*)(?:;|\Z)')
_QUOTED = 40
_SPACES, _BEGINNINGS = " \t\n\r", frozenset('{["-0123456789tfnNI')
"""Characters that JSON has between its values, and those that the values begin with, also NaN and Infinity."""


def json_or_text(text: str, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the JSON value of a text, or the text itself if it is not JSON; InvalidInputError for too deep nesting.

    ``parse_constant`` returns the value of NaN and infinities, which Python reads, or raises ValueError.
    """
    written = text.strip(_SPACES)
    if written[:1] not in _BEGINNINGS:  # an error for each text would take most of the time
        return text
    try:
        value, end = _decoder(parse_constant).raw_decode(written)
        return value if end == len(written) else text
    except RecursionError:
        raise InvalidInputError(
            f"{text[:_QUOTED]}... nests lists and objects more than {MAX_DEPTH} levels deep"
        ) from None
    except ValueError:
        return text


@lru_cache(4)
def _decoder(parse_constant: Callable[[str], Any] | None) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=parse_constant)


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
