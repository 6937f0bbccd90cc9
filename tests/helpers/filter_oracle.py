"""The meaning of filters in plain Python: the oracle of the catalog's SQL and of every later evaluation of filters."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from crossview.engine.condition import (
    All,
    AttributeIs,
    Condition,
    HasKey,
    HasLabel,
    KeyBegins,
    Not,
    ScoreAtLeast,
    ScoreAtMost,
    Visitor,
)
from crossview.engine.item import Item


class Oracle(Visitor[bool]):
    """Whether an item, and its scores by axis, fulfil a condition."""

    def __init__(self, item: Item, scores: Mapping[str, float] = MappingProxyType({})) -> None:
        self.item, self.scores = item, scores

    def every(self, condition: All) -> bool:
        return all(part.accept(self) for part in condition.parts)

    def negated(self, condition: Not) -> bool:
        return not condition.part.accept(self)

    def has_label(self, condition: HasLabel) -> bool:
        return any(label in self.item.labels for label in condition.labels)

    def has_key(self, condition: HasKey) -> bool:
        return self.item.key in condition.keys

    def key_begins(self, condition: KeyBegins) -> bool:
        return self.item.key.startswith(condition.prefix)

    def attribute_is(self, condition: AttributeIs) -> bool:
        there = self.item.attributes
        return condition.name in there and equal(there[condition.name], condition.value)

    def score_at_least(self, condition: ScoreAtLeast) -> bool:
        return self.scores[condition.axis] >= condition.bound

    def score_at_most(self, condition: ScoreAtMost) -> bool:
        return self.scores[condition.axis] <= condition.bound


def matching(items: Iterable[Item], chosen: Condition) -> list[str]:
    """Return keys of the items that pass, in their order."""
    return sorted(item.key for item in items if chosen.accept(Oracle(item)))


def equal(stored: Any, asked: Any) -> bool:
    """Return whether a stored JSON value equals a scalar: of the same JSON type, where all numbers are one type."""
    return _type(stored) == _type(asked) and stored == asked


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__
