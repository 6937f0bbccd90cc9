"""Orderings files: of which attribute which classes have more than which, in lines that people write."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import InvalidInputError

LESS, SAME = "<", "~"
_EXAMPLE = "natural: tallbuilding < insidecity ~ street < highway"
_RELATION = re.compile(f"([{LESS}{SAME}])")


@dataclass(frozen=True)
class Orderings:
    """How much of each attribute each class has, as the settings of the learner ``attributes``.

    Attributes:
        names: of the attributes.
        levels: by class, how much of each attribute it has; only the order of the numbers means something.
    """

    names: tuple[str, ...]
    levels: Mapping[str, tuple[int, ...]]

    def settings(self) -> dict[str, Any]:
        """Return them as the learner's settings, JSON values."""
        return {"orderings": {name: list(levels) for name, levels in self.levels.items()}, "names": list(self.names)}


def read_orderings(path: Path | str) -> Orderings:
    """Return the orderings of a text file in UTF-8: a line for each attribute, from the class with the least of it.

    A line is ``attribute: class < class ~ class``, with ``~`` between classes that have as much; what follows ``#`` is
    a comment. Classes may be named that have no items: they are known by the orderings alone.

    Raises InvalidInputError for a file that cannot be read or has no orderings, and for a line that has another form,
    names an attribute or a class twice, or misses a class that another line has.
    """
    chains: dict[str, list[list[str]]] = {}
    lines: dict[str, int] = {}
    for line, text in _lines(Path(path)):
        name, colon, chain = text.partition(":")
        name = name.strip()
        if not colon or not name:
            raise _error(path, line, f"an ordering is like {_EXAMPLE!r}, not {text!r}")
        if name in chains:
            raise _error(path, line, f"{name!r} is ordered in line {lines[name]} already")
        chains[name], lines[name] = _levels(path, line, chain), line
    if not chains:
        raise InvalidInputError(f"{path} holds no orderings; a line is like {_EXAMPLE!r}")
    classes = list(dict.fromkeys(one for levels in chains.values() for level in levels for one in level))
    for name, levels in chains.items():
        if missing := set(classes) - {one for level in levels for one in level}:
            absent = ", ".join(one for one in classes if one in missing)
            raise _error(path, lines[name], f"{name!r} leaves out {absent}, which another attribute orders")
    places = [{one: place for place, level in enumerate(levels) for one in level} for levels in chains.values()]
    return Orderings(tuple(chains), {one: tuple(of[one] for of in places) for one in classes})


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that says something."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"orderings cannot be read from {path}: it is not UTF-8 text") from error
    except OSError as error:
        raise InvalidInputError(f"orderings cannot be read from {path}: {error.strerror or error}") from error
    for line, whole in enumerate(text.splitlines(), 1):
        if said := whole.partition("#")[0].strip():
            yield line, said


def _levels(path: Path | str, line: int, chain: str) -> list[list[str]]:
    """Return the classes of a chain by level, the least first."""
    parts = [part.strip() for part in _RELATION.split(chain)]
    levels: list[list[str]] = [[]]
    seen: set[str] = set()
    for name, relation in zip(parts[::2], ["", *parts[1::2]], strict=True):
        if not name:
            raise _error(path, line, f"a class is missing beside {relation or parts[1] if len(parts) > 1 else ':'!r}")
        if name in seen:
            raise _error(path, line, f"the class {name!r} is named twice")
        seen.add(name)
        if relation == LESS:
            levels.append([])
        levels[-1].append(name)
    if len(levels) < 2:
        raise _error(path, line, f"no class has less than another: put {LESS!r} between those that differ")
    return levels


def _error(path: Path | str, line: int, reason: str) -> InvalidInputError:
    return InvalidInputError(f"{path}, line {line}: {reason}")
