"""Compares the stated outputs of a document with those that its blocks print."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

RELATIVE, ABSOLUTE = 0.05, 0.05
"""Limits of the difference from a number of the document: processors differ."""
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?|-?\.\d+")
_DRAWN = re.compile(r"-\d\d\.jpg")
_TIMED = re.compile(r"[\d.]+ s \([\d.]+ \w+/s\)|[\d.]+ \w+/s|[\d.]+ m?s\b")
_RULE = str.maketrans("", "", "\u2500\u2501")


def not_printed(wanted: str, printed: Iterator[str]) -> str:
    """Return the first line of a document's ``text`` that the next lines of an output do not contain, or "".

    The lines follow each other in this order, with others between them. ``...`` at the end leaves out columns on the
    right. Times are not compared, nor which of the drawn pictures of a class comes first; numbers agree within
    ``RELATIVE`` and ``ABSOLUTE``. All three depend on the processor.
    """
    for line in filter(str.strip, wanted.splitlines()):
        words, numbers = _comparable(line.rstrip().removesuffix("..."))
        if not any(_matches(words, numbers, other) for other in printed):
            return line
    return ""


def _matches(words: str, numbers: list[float], line: str) -> bool:
    others, figures = _comparable(line)
    return (
        others.startswith(words)
        and len(figures) >= len(numbers)
        and np.allclose(numbers, figures[: len(numbers)], rtol=RELATIVE, atol=ABSOLUTE)
    )


def _comparable(line: str) -> tuple[str, list[float]]:
    """Return the words of a line, with its numbers replaced, and the numbers."""
    line = " ".join(_TIMED.sub("TIME", _DRAWN.sub("-NN.jpg", line)).translate(_RULE).split())
    return _NUMBER.sub("N", line), [float(one.replace(",", "")) for one in _NUMBER.findall(line)]


def has_json(wanted: str, printed: str) -> bool:
    """Return whether a line of an output is JSON with the keys of the document, and its texts except ``...``."""
    value = json.loads(wanted)
    return any(_agrees(value, _parsed(line)) for line in printed.splitlines() if line.lstrip().startswith(("{", "[")))


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _agrees(wanted: Any, found: Any) -> bool:
    """Return whether the structures agree; numbers and texts with ``...`` stand for all of their type."""
    if isinstance(wanted, dict):
        same = isinstance(found, dict) and wanted.keys() == found.keys()
        return same and all(_agrees(value, found[key]) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) >= len(wanted) and all(map(_agrees, wanted, found))
    if isinstance(wanted, str) and "..." in wanted:
        return isinstance(found, str) and found.startswith(wanted.partition("...")[0])
    return isinstance(found, type(wanted)) and (wanted == found or not isinstance(wanted, str))
