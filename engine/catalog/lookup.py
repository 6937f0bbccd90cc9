"""Items of a catalog, by key and by filter, with the names of their views."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from posixpath import normpath

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.checks import MAX_LABEL, check_attributes, check_characters, normal
from crossview.engine.condition import (
    All,
    AttributeIs,
    C,
    Condition,
    HasKey,
    HasLabel,
    KeyBegins,
    LeafVisitor,
    Not,
    ScoreAtLeast,
    ScoreAtMost,
)
from crossview.engine.errors import InvalidInputError, NotFoundError
from crossview.engine.item import Item

MAX_NAMES = 10_000
"""Maximum number of labels or keys that a filter may name."""
MAX_ATTRIBUTES = 100
"""Maximum number of attributes that a filter may name; SQLite accepts conditions up to 1,000 levels deep."""

_BOUNDS = ScoreAtLeast, ScoreAtMost


def item_id(tx: Transaction, key: str) -> int:
    """Return the id of an item; NotFoundError if the key does not exist."""
    found = tx.items.ids_of([key])
    if not found:
        raise NotFoundError(f"no item {key!r} in collection {tx.name()!r}")
    return found[key]


def named_keys(tx: Transaction, names: Sequence[str], match_paths: bool = True) -> dict[str, list[str]]:
    """Return the keys of the items that each name stands for; unknown names are left out.

    A name is a key or, with ``match_paths``, the path of an item's file, full or below a root; a key takes precedence.
    """
    found = {name: [name] for name in tx.items.ids_of(names)}
    if match_paths and (left := [name for name in names if name not in found]):
        found |= _by_path(tx, left)
    return found


def _by_path(tx: Transaction, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the keys of the items that were read from these paths, each a full path or a path below a root."""
    # The roots of the catalog do not help: the catalog has no roots for items that a client of a server sent.
    plain = {name: normal(normpath(name)) for name in names}  # ./big/6.jpg is big/6.jpg
    named: dict[str, list[str]] = {}
    for name, path in plain.items():
        named.setdefault(path, []).append(name)
    found: dict[str, list[str]] = {}
    for key in tx.items.keys().values():
        _, slash, path = key.partition("/")
        for name in (*named.get(normal(key), ()), *(named.get(normal(path), ()) if slash else ())):
            found.setdefault(name, []).append(key)
    full = {path for path in plain.values() if path.startswith("/")}
    for path, keys in (tx.items.with_sources(full) if full else {}).items():
        for name in named[path]:
            found.setdefault(name, []).extend(keys)
    return found


def with_views(tx: Transaction, items: Mapping[int, Item]) -> list[Item]:
    """Return items, given by id, each with the names of the views for which it has a row."""
    names = {view.id: view.name for view in tx.views.all()}
    views = tx.rows.views_of(items)
    return [replace(item, views=tuple(names[one] for one in views.get(number, ()))) for number, item in items.items()]


def check_filter(chosen: C) -> C:
    """Return a valid condition; InvalidInputError describes the problem of any other condition."""
    leaves = list(chosen.leaves())
    compared = sum(isinstance(one, AttributeIs) for one in leaves)
    if compared > MAX_ATTRIBUTES:
        raise InvalidInputError(f"a filter may compare at most {MAX_ATTRIBUTES} attributes, not {compared:,}")
    for leaf in leaves:
        leaf.accept(_CHECK)
    least, most = ({one.axis: one.bound for one in leaves if isinstance(one, kind)} for kind in _BOUNDS)
    for axis in least.keys() & most.keys():
        if least[axis] > most[axis]:
            raise InvalidInputError(f"no item has {axis} above {least[axis]:g} and below its at_most")
    return chosen


class _Check(LeafVisitor[None]):
    """A visitor that raises InvalidInputError for a condition that neither the catalog nor a space can decide."""

    def every(self, condition: All) -> None:
        for part in condition.parts:
            part.accept(self)

    def negated(self, condition: Not) -> None:
        condition.part.accept(self)

    def leaf(self, condition: Condition) -> None:
        """Accept a condition without values from outside."""

    def has_label(self, condition: HasLabel) -> None:
        _check_names(condition.labels)

    def has_key(self, condition: HasKey) -> None:
        _check_names(condition.keys)

    def key_begins(self, condition: KeyBegins) -> None:
        _check_names((condition.prefix,))

    def attribute_is(self, condition: AttributeIs) -> None:
        (value,) = check_attributes({condition.name: condition.value}).values()
        if isinstance(value, dict | list):
            raise InvalidInputError(
                f"attribute {condition.name!r} can equal text, a number, a boolean or null, not {value!r}"
            )

    def score_at_least(self, condition: ScoreAtLeast) -> None:
        _check_bound("at_least", condition.axis, condition.bound)

    def score_at_most(self, condition: ScoreAtMost) -> None:
        _check_bound("at_most", condition.axis, condition.bound)


_CHECK = _Check()


def _check_names(names: Sequence[str]) -> None:
    if len(names) > MAX_NAMES:
        raise InvalidInputError(f"a filter may name at most {MAX_NAMES:,} labels or keys, not {len(names):,}")
    for name in names:
        check_characters(name, "a label or key of a filter", MAX_LABEL)


def _check_bound(flag: str, axis: str, bound: float) -> None:
    if not math.isfinite(bound):
        raise InvalidInputError(f"{flag} {axis}: give a bound in standard deviations, such as {axis}=.5")
