"""Orderings files: text files that order classes and items by the amount of each attribute."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.values.comparisons import ItemComparisons, check_notion
from crossview.engine.values.errors import InvalidInputError

LESS, SAME, ITEMS = "<", "~", "items:"
_EXAMPLE = "natural: tallbuilding < insidecity ~ street < highway"
_RELATION = re.compile(f"([{LESS}{SAME}])")

_Levels = list[list[str]]
"""Names by level, the least first."""


@dataclass(frozen=True, eq=False)
class Orderings:
    """The orders of classes and items by attributes, in the form that the learner ``attributes`` accepts.

    Attributes:
        names: the attributes.
        levels: the amount of each attribute by class; only the order of the numbers has a meaning. All classes have the
            same amount of an attribute that does not order classes.
        items: pairs of items, each in the notion of an attribute: similar items have the same amount, otherwise the
            second has more. None without ordered items.
    """

    names: tuple[str, ...]
    levels: Mapping[str, tuple[int, ...]]
    items: ItemComparisons | None = None

    def settings(self) -> dict[str, Any]:
        """Return the orders of classes as settings of the learner, JSON values."""
        levels = {name: list(levels) for name, levels in self.levels.items()}
        return ({"orderings": levels} if levels else {}) | {"names": list(self.names)}


def read_orderings(path: Path | str) -> Orderings:
    """Return the orderings of a text file in UTF-8: a line for each attribute, from the class that has least.

    A line is ``attribute: class < class ~ class``, with ``~`` between classes with the same amount; a comment starts
    with ``#``. A line may name classes without items, which only the orderings describe. Lines
    ``attribute: items: key < key ~ key`` order items, in addition to classes or instead of them. An attribute may have
    several such lines: every two items of a line form a pair.

    Raises InvalidInputError for an unreadable file or one without orderings, and for a line that has another form,
    repeats a class or an item, orders classes of an attribute a second time, lacks a class of another line, or
    contradicts another line about items.
    """
    chains: dict[str, tuple[int, _Levels]] = {}
    of_items: dict[str, list[tuple[int, _Levels]]] = {}
    names: dict[str, None] = {}
    for line, text in _lines(Path(path)):
        name, colon, chain = text.partition(":")
        name, chain = name.strip(), chain.strip()
        if not colon or not name:
            raise _error(path, line, f"write an ordering like {_EXAMPLE!r}, not {text!r}")
        names[name] = None
        if chain.startswith(ITEMS):
            of_items.setdefault(name, []).append((line, _levels(path, line, chain.removeprefix(ITEMS), "item")))
            continue
        if name in chains:
            raise _error(path, line, f"line {chains[name][0]} already orders {name!r}: remove one of the lines")
        chains[name] = line, _levels(path, line, chain, "class")
    if not names:
        raise InvalidInputError(f"{path} contains no orderings: write lines like {_EXAMPLE!r}")
    return Orderings(tuple(names), _class_levels(path, list(names), chains), _item_pairs(path, of_items))


def _class_levels(
    path: Path | str, names: Sequence[str], chains: Mapping[str, tuple[int, _Levels]]
) -> dict[str, tuple[int, ...]]:
    """Return the amount of each attribute of each class."""
    places = {
        name: {label: place for place, level in enumerate(levels) for label in level}
        for name, (_, levels) in chains.items()
    }
    classes = dict.fromkeys(label for of in places.values() for label in of)
    for name, of in places.items():
        if absent := ", ".join(label for label in classes if label not in of):
            raise _error(path, chains[name][0], f"{name!r} leaves out {absent}, which another attribute orders")
    return {label: tuple(places[name][label] if name in places else 0 for name in names) for label in classes}


def _item_pairs(path: Path | str, of_items: Mapping[str, list[tuple[int, _Levels]]]) -> ItemComparisons | None:
    """Return every two items of each line, the item with less first; a repeated pair counts once."""
    pairs: dict[tuple[str, frozenset[str]], tuple[int, tuple[str, str], bool]] = {}
    for name, chains in of_items.items():
        for line, levels in chains:
            try:
                check_notion(name)
            except InvalidInputError as error:
                raise _error(path, line, f"an attribute that orders items is a notion: {error}") from None
            for pair, same in _pairs(levels):
                first, former, equal = pairs.setdefault((name, frozenset(pair)), (line, pair, same))
                if equal != same or (not same and former != pair):
                    raise _error(
                        path, line, f"line {first} orders {pair[0]} and {pair[1]} differently: remove one of the lines"
                    )
    if not pairs:
        return None
    keys = {key: place for place, key in enumerate(dict.fromkeys(key for _, pair, _ in pairs.values() for key in pair))}
    comparisons = Comparisons(
        np.array([[keys[key] for key in pair] for _, pair, _ in pairs.values()], np.int64),
        similar=np.array([same for *_, same in pairs.values()]),
        notions=np.array([name for name, _ in pairs]),
    )
    return ItemComparisons(tuple(keys), comparisons, np.array([line for line, *_ in pairs.values()], np.int64))


def _pairs(levels: _Levels) -> Iterator[tuple[tuple[str, str], bool]]:
    """Yield every two items, the item with less first, and whether both have the same amount."""
    for level in levels:
        yield from ((pair, True) for pair in combinations(level, 2))
    for lower, higher in combinations(levels, 2):
        yield from ((pair, False) for pair in product(lower, higher))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that is not empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"orderings cannot be read from {path}: it is not UTF-8 text") from error
    except OSError as error:
        raise InvalidInputError(f"orderings cannot be read from {path}: {error.strerror or error}") from error
    for line, whole in enumerate(text.splitlines(), 1):
        if content := whole.partition("#")[0].strip():
            yield line, content


def _levels(path: Path | str, line: int, chain: str, what: str) -> _Levels:
    """Return the classes or items of a chain by level, the least first."""
    parts = [part.strip() for part in _RELATION.split(chain)]
    levels: _Levels = [[]]
    names: set[str] = set()
    for name, relation in zip(parts[::2], ["", *parts[1::2]], strict=True):
        if not name:
            beside = relation or parts[1] if len(parts) > 1 else ":"
            raise _error(path, line, f"the {what} beside {beside!r} is missing")
        if name in names:
            raise _error(path, line, f"the line names the {what} {name!r} twice")
        names.add(name)
        if relation == LESS:
            levels.append([])
        levels[-1].append(name)
    if len(names) < 2 or (len(levels) < 2 and what == "class"):
        raise _error(path, line, f"no {what} has less than another: put {LESS!r} between those that differ")
    return levels


def _error(path: Path | str, line: int, reason: str) -> InvalidInputError:
    return InvalidInputError(f"{path}, line {line}: {reason}")
