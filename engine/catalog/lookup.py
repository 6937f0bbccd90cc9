"""Items of a catalog, by key and by filter, with the names of their views."""

from collections.abc import Mapping
from dataclasses import replace

from engine.catalog.catalog import Transaction
from engine.catalog.checks import MAX_LABEL, check_attributes, check_characters
from engine.errors import InvalidInputError, NotFoundError
from engine.item import Item
from engine.query import Filter

MAX_NAMES = 10_000
"""Labels, or keys, that a filter may name."""


def item_id(tx: Transaction, key: str) -> int:
    """Return the number of an item; NotFoundError if there is none of that key."""
    found = tx.items.ids_of([key])
    if not found:
        raise NotFoundError(f"no item {key!r} in collection {tx.name()!r}")
    return found[key]


def with_views(tx: Transaction, items: Mapping[int, Item]) -> list[Item]:
    """Return items, given by number, each with the views that it has rows of."""
    names = {view.id: view.name for view in tx.views.all()}
    views = tx.rows.views_of(items)
    return [replace(item, views=tuple(names[one] for one in views.get(number, ()))) for number, item in items.items()]


def check_filter(chosen: Filter) -> Filter:
    """Return a filter that is valid; InvalidInputError states what is wrong with any other."""
    for name, value in check_attributes(chosen.attributes).items():
        if isinstance(value, dict | list):
            raise InvalidInputError(
                f"attribute {name!r} compares with text, a number, a boolean or null, not {value!r}"
            )
    for text in (*chosen.labels, *chosen.without_labels, *chosen.keys, chosen.key_prefix):
        check_characters(text, "a label or key of a filter", MAX_LABEL)
    if max(len(chosen.labels), len(chosen.without_labels), len(chosen.keys)) > MAX_NAMES:
        raise InvalidInputError(f"a filter names at most {MAX_NAMES:,} labels or keys")
    return chosen
