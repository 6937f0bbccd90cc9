"""Conditions on items, as a tree, and the visitors that translate a tree.

A visitor has a method for each kind of condition. The visitor of the catalog returns SQL, the visitor of scores a mask
over columns, and ``InWords`` a sentence; the oracle of the tests decides in plain Python.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from crossview.engine.errors import InvalidInputError
from crossview.engine.item import one_or_several

T = TypeVar("T")
C = TypeVar("C", bound="Condition")


class Condition(ABC):
    """A condition that an item either fulfils or does not fulfil."""

    @abstractmethod
    def accept(self, visitor: "Visitor[T]") -> T:
        """Return the result of the visitor's method for this kind of condition."""

    def leaves(self) -> Iterator["Condition"]:
        """Yield the conditions in this tree that contain no other condition."""
        yield self

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes whose scores the condition compares, each once; empty if the catalog alone decides the condition."""
        found = [one.axis for one in self.leaves() if isinstance(one, ScoreAtLeast | ScoreAtMost)]
        return tuple(dict.fromkeys(found))

    def __str__(self) -> str:
        return self.accept(InWords())


class Visitor(ABC, Generic[T]):
    """A translation of conditions: one method for each kind."""

    @abstractmethod
    def every(self, condition: "All") -> T:
        """Visit a conjunction."""

    @abstractmethod
    def negated(self, condition: "Not") -> T:
        """Visit a negation."""

    @abstractmethod
    def has_label(self, condition: "HasLabel") -> T:
        """Visit a condition on labels."""

    @abstractmethod
    def has_key(self, condition: "HasKey") -> T:
        """Visit a condition on the key."""

    @abstractmethod
    def key_begins(self, condition: "KeyBegins") -> T:
        """Visit a condition on the beginning of the key."""

    @abstractmethod
    def attribute_is(self, condition: "AttributeIs") -> T:
        """Visit a condition on an attribute."""

    @abstractmethod
    def score_at_least(self, condition: "ScoreAtLeast") -> T:
        """Visit a lower bound of a score."""

    @abstractmethod
    def score_at_most(self, condition: "ScoreAtMost") -> T:
        """Visit an upper bound of a score."""


class LeafVisitor(Visitor[T]):
    """A visitor that treats all leaves alike, except for the kinds whose method it overrides."""

    @abstractmethod
    def leaf(self, condition: "Condition") -> T:
        """Visit a leaf whose own method is not overridden."""

    def has_label(self, condition: "HasLabel") -> T:
        """Visit a condition on labels."""
        return self.leaf(condition)

    def has_key(self, condition: "HasKey") -> T:
        """Visit a condition on the key."""
        return self.leaf(condition)

    def key_begins(self, condition: "KeyBegins") -> T:
        """Visit a condition on the beginning of the key."""
        return self.leaf(condition)

    def attribute_is(self, condition: "AttributeIs") -> T:
        """Visit a condition on an attribute."""
        return self.leaf(condition)

    def score_at_least(self, condition: "ScoreAtLeast") -> T:
        """Visit a lower bound of a score."""
        return self.leaf(condition)

    def score_at_most(self, condition: "ScoreAtMost") -> T:
        """Visit an upper bound of a score."""
        return self.leaf(condition)


@dataclass(frozen=True)
class All(Condition):
    """The item fulfils all parts. Without parts, every item passes, and ``bool`` of the condition is False."""

    parts: tuple[Condition, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    def leaves(self) -> Iterator[Condition]:
        """Yield the leaves of all parts."""
        for part in self.parts:
            yield from part.leaves()

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.every``."""
        return visitor.every(self)

    @property
    def stored(self) -> Self:
        """The conjunction of the parts that the catalog decides."""
        return self._of(part for part in self.parts if not part.axes)

    @property
    def scored(self) -> Self:
        """The conjunction of the parts that compare scores."""
        return self._of(part for part in self.parts if part.axes)

    def _of(self, parts: Iterable[Condition]) -> Self:
        chosen = tuple(parts)
        if chosen == self.parts:  # every search asks, most filters are empty, and a copy takes longer than the question
            return self
        made = copy(self)
        vars(made)["parts"] = chosen
        return made


@dataclass(frozen=True)
class Not(Condition):
    """The item does not fulfil another condition."""

    part: Condition

    def leaves(self) -> Iterator[Condition]:
        """Yield the leaves of the other condition."""
        yield from self.part.leaves()

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.negated``."""
        return visitor.negated(self)


@dataclass(frozen=True)
class HasLabel(Condition):
    """The item has at least one of these labels."""

    labels: tuple[str, ...]

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.has_label``."""
        return visitor.has_label(self)


@dataclass(frozen=True)
class HasKey(Condition):
    """The item has one of these keys."""

    keys: tuple[str, ...]

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.has_key``."""
        return visitor.has_key(self)


@dataclass(frozen=True)
class KeyBegins(Condition):
    """The key of the item begins with this prefix."""

    prefix: str

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.key_begins``."""
        return visitor.key_begins(self)


@dataclass(frozen=True)
class AttributeIs(Condition):
    """A top-level attribute of the item equals a JSON scalar of the same type; all numbers have one type."""

    name: str
    value: Any

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.attribute_is``."""
        return visitor.attribute_is(self)


@dataclass(frozen=True)
class ScoreAtLeast(Condition):
    """The score of the item on an axis of the space is at least ``bound``, in standard deviations."""

    axis: str
    bound: float

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.score_at_least``."""
        return visitor.score_at_least(self)


@dataclass(frozen=True)
class ScoreAtMost(Condition):
    """The score of the item on an axis of the space is at most ``bound``, in standard deviations."""

    axis: str
    bound: float

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.score_at_most``."""
        return visitor.score_at_most(self)


class InWords(Visitor[str]):
    """A condition in words; different conditions give different texts."""

    def every(self, condition: All) -> str:
        """Join the parts, each in parentheses, so that different trees give different texts."""
        return " and ".join(f"({part})" for part in condition.parts) or "every item"

    def negated(self, condition: Not) -> str:
        """Negate the other condition."""
        return f"not ({condition.part})"

    def has_label(self, condition: HasLabel) -> str:
        """List the labels."""
        return f"label in {_json(condition.labels)}"

    def has_key(self, condition: HasKey) -> str:
        """List the keys."""
        return f"key in {_json(condition.keys)}"

    def key_begins(self, condition: KeyBegins) -> str:
        """Quote the prefix."""
        return f"key begins {_json(condition.prefix)}"

    def attribute_is(self, condition: AttributeIs) -> str:
        """Compare the attribute with its value as JSON, which distinguishes 1 from true."""
        return f"attribute {_json(condition.name)} is {_json(condition.value)}"

    def score_at_least(self, condition: ScoreAtLeast) -> str:
        """Compare the score."""
        return f"score {_json(condition.axis)} >= {condition.bound!r}"

    def score_at_most(self, condition: ScoreAtMost) -> str:
        """Compare the score."""
        return f"score {_json(condition.axis)} <= {condition.bound!r}"


def no_scores(axis: str) -> InvalidInputError:
    """Return the error for a bound of scores in a request without a space."""
    return InvalidInputError(
        f"items have scores only in a space: use the bound of {axis!r} in a search, not in a list of items"
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True, init=False)
class Filter(All):
    """The conditions that a hit must fulfil; every item passes an empty filter."""

    def __init__(
        self,
        *,
        labels: str | Sequence[str] = (),
        without_labels: str | Sequence[str] = (),
        keys: str | Sequence[str] = (),
        key_prefix: str = "",
        attributes: Mapping[str, Any] | None = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
    ) -> None:
        """Make a filter from the given conditions.

        Args:
            labels: The item has at least one of these labels.
            without_labels: The item has none of these labels.
            keys: The item has one of these keys.
            key_prefix: The key of the item begins with this prefix.
            attributes: The top-level attributes of the item equal these JSON scalars.
            at_least: Lower bounds of scores, by axis, in standard deviations; only for a search.
            at_most: Upper bounds of scores, as ``at_least``.
        """
        parts: list[Condition] = []
        if names := one_or_several(labels):
            parts.append(HasLabel(names))
        if names := one_or_several(without_labels):
            parts.append(Not(HasLabel(names)))
        if names := one_or_several(keys):
            parts.append(HasKey(names))
        if key_prefix:
            parts.append(KeyBegins(key_prefix))
        parts += [AttributeIs(name, value) for name, value in _sorted(attributes)]
        parts += _bounds(at_least, at_most)
        super().__init__(tuple(parts))

    def within(self, at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None) -> "Filter":
        """Return the filter with further bounds of scores; InvalidInputError for a bound that is given twice."""
        if not at_least and not at_most:
            return self
        for own, further in ((self.at_least, at_least), (self.at_most, at_most)):
            if twice := sorted(own.keys() & (further or {}).keys()):
                raise InvalidInputError(f"the filter has a bound of {twice[0]!r} already: give the bound once")
        return self._of([*self.parts, *_bounds(at_least, at_most)])

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of which a hit has at least one; empty without such a condition."""
        return next((one.labels for one in self._parts(HasLabel)), ())

    @property
    def without_labels(self) -> tuple[str, ...]:
        """The labels that a hit does not have."""
        return next((one.part.labels for one in self._parts(Not) if isinstance(one.part, HasLabel)), ())

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of which a hit has one; empty without such a condition."""
        return next((one.keys for one in self._parts(HasKey)), ())

    @property
    def key_prefix(self) -> str:
        """The prefix of the keys of hits; "" without such a condition."""
        return next((one.prefix for one in self._parts(KeyBegins)), "")

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of hits, by name."""
        return {one.name: one.value for one in self._parts(AttributeIs)}

    @property
    def at_least(self) -> dict[str, float]:
        """The lower bounds of scores, by axis."""
        return {one.axis: one.bound for one in self._parts(ScoreAtLeast)}

    @property
    def at_most(self) -> dict[str, float]:
        """The upper bounds of scores, by axis."""
        return {one.axis: one.bound for one in self._parts(ScoreAtMost)}

    def _parts(self, kind: type[C]) -> Iterator[C]:
        return (part for part in self.parts if isinstance(part, kind))


def _bounds(at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None) -> list[Condition]:
    lower: list[Condition] = [ScoreAtLeast(axis, bound) for axis, bound in _sorted(at_least)]
    return lower + [ScoreAtMost(axis, bound) for axis, bound in _sorted(at_most)]


def _sorted(values: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """Return entries sorted by name, so that equal filters are equal trees."""
    return sorted((values or {}).items(), key=lambda entry: str(entry[0]))


EVERY_ITEM = Filter()
