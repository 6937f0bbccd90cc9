"""What filters mean, in plain Python: the oracle of the catalog's SQL and of whatever answers filters later."""

from collections.abc import Iterable
from typing import Any

from engine.item import Item
from engine.query import Filter


def passes(item: Item, chosen: Filter) -> bool:
    """Whether an item fulfils every condition that a filter has."""
    return (
        (not chosen.labels or any(label in item.labels for label in chosen.labels))
        and not any(label in item.labels for label in chosen.without_labels)
        and (not chosen.keys or item.key in chosen.keys)
        and item.key.startswith(chosen.key_prefix)
        and all(name in item.attributes and equal(item.attributes[name], v) for name, v in chosen.attributes.items())
    )


def matching(items: Iterable[Item], chosen: Filter) -> list[str]:
    """Keys of the items that pass, in their order."""
    return sorted(item.key for item in items if passes(item, chosen))


def equal(stored: Any, asked: Any) -> bool:
    """Whether a stored JSON value equals a scalar: of the same JSON type, where all numbers are one type."""
    return _type(stored) == _type(asked) and stored == asked


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__
