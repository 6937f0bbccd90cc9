"""Conditions on items, as a tree of tests of fields, and the text of a tree.

A tree that exists is within the limits. ``where`` reads the text, visitors decide or translate a tree.
"""

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from crossview.engine.values.conditions.dates import DATE, Date
from crossview.engine.values.errors import InvalidInputError

T = TypeVar("T")
Value = str | float | bool | Date | None
MAX_DEPTH = 30
"""Maximum number of levels of a tree: protobuf refuses messages 100 levels deep, and each level takes up to 3."""
MAX_TESTS = 1_000
"""Maximum number of tests of a tree."""

KINDS = ("label", "key", "path", "text", "view", "missing", "match", "score", "attribute")
"""The properties of an item that a condition can test: its labels, key, file's path, text, the views that it has, since
when its file is missing, the calibrated match with the query, the score on an axis of the space, or an attribute."""
TEXTS = ("label", "key", "path", "text", "view")
"""The kinds whose values are texts."""
COMPARISONS = ("<", "<=", ">", ">=")
OF_TEXT = ("prefix", "contains", "like")
OPERATORS = ("in", *COMPARISONS, *OF_TEXT, "exists")
"""``=`` is ``in`` with one value; ``!=`` and ``between`` consist of other tests."""
KEYWORDS = ("and", "or", "not", "between", "in", "exists", *OF_TEXT)
NO_TRUTH = (
    "a condition has no truth value: combine conditions by &, | and ~ instead of and, or and not, ask for one of "
    "several values by .one_of([...]) instead of in, and write a < f < b as (f > a) & (f < b)"
)
NAME = re.compile(r"[^\W\d][\w-]*")
"""A name that needs no quotes."""


class Field(NamedTuple):
    """A field of items: its kind, and the path of an attribute in nested objects, or the name of a score's axis."""

    kind: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = self.path if self.kind == "attribute" and self.path[0] not in KINDS else (self.kind, *self.path)
        return ".".join(name if _is_bare(name) else _quoted(name) for name in names)


class Condition(ABC):
    """A condition that an item either fulfils or does not fulfil."""

    depth: int
    """Number of levels."""
    size: int
    """Number of tests."""

    @abstractmethod
    def accept(self, visitor: "Visitor[T]") -> T:
        """Return the result of the visitor's method for this kind of condition."""

    @abstractmethod
    def tests(self) -> Iterator["FieldTest"]:
        """Yield the tests of the tree, from left to right."""

    def of_kind(self, kind: str) -> tuple[str, ...]:
        """Return the names of the fields of a kind that the condition tests, each once."""
        names = ["".join(test.field.path) for test in self.tests() if test.field.kind == kind]
        return tuple(dict.fromkeys(names))

    def __and__(self, other: "Condition") -> "Condition":
        return all_of((self, other))

    def __or__(self, other: "Condition") -> "Condition":
        return any_of((self, other))

    def __invert__(self) -> "Condition":
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise InvalidInputError(NO_TRUTH)

    def __str__(self) -> str:
        return self.accept(_Text())


class Visitor(ABC, Generic[T]):
    """A translation of conditions: one method for each kind."""

    @abstractmethod
    def every(self, condition: "All") -> T:
        """Visit a conjunction."""

    @abstractmethod
    def either(self, condition: "Either") -> T:
        """Visit a disjunction."""

    @abstractmethod
    def negated(self, condition: "Not") -> T:
        """Visit a negation."""

    @abstractmethod
    def test(self, condition: "FieldTest") -> T:
        """Visit a test of a field."""


class _Several(Condition):
    """A condition of several parts."""

    def __init__(self, parts: Iterable[Condition] = ()) -> None:
        self.parts: tuple[Condition, ...] = tuple(parts)
        self.depth: int = 1 + max((part.depth for part in self.parts), default=0)
        self.size: int = sum(part.size for part in self.parts)
        _check_extent(self)

    def tests(self) -> Iterator["FieldTest"]:
        """Yield the tests of all parts."""
        for part in self.parts:
            yield from part.tests()

    def __eq__(self, other: object) -> bool:
        if self is other:  # most conditions are EVERY
            return True
        return type(self) is type(other) and isinstance(other, _Several) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((type(self), self.parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parts!r})"


class All(_Several):
    """The item fulfils all parts. Without parts, every item passes."""

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.every``."""
        return visitor.every(self)


class Either(_Several):
    """The item fulfils at least one of the parts."""

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.either``."""
        return visitor.either(self)


@dataclass(frozen=True)
class Not(Condition):
    """The item does not fulfil another condition."""

    part: Condition

    def __post_init__(self) -> None:
        vars(self).update(depth=1 + self.part.depth, size=self.part.size)
        _check_extent(self)

    def tests(self) -> Iterator["FieldTest"]:
        """Yield the tests of the other condition."""
        yield from self.part.tests()

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.negated``."""
        return visitor.negated(self)


@dataclass(frozen=True)
class FieldTest(Condition):
    """A test of a field. A field with several values, such as labels, passes if any of its values does."""

    field: Field
    operator: str
    values: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        vars(self).update(depth=1, size=1)
        _check_test(self)

    def tests(self) -> Iterator["FieldTest"]:
        """Yield this test."""
        yield self

    def accept(self, visitor: Visitor[T]) -> T:
        """Call ``Visitor.test``."""
        return visitor.test(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldTest) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        """The parts of the test, in which true differs from 1."""
        return self.field, self.operator, tuple((isinstance(value, bool), value) for value in self.values)


def all_of(parts: Iterable[Condition]) -> Condition:
    """Return the conjunction of the parts, without levels that change nothing."""
    return _flat(All, parts)


def any_of(parts: Iterable[Condition]) -> Condition:
    """Return the disjunction of the parts, without levels that change nothing; InvalidInputError without parts."""
    listed = list(parts)
    if not listed:
        raise InvalidInputError("a condition of alternatives needs at least one")
    return EVERY if EVERY in listed else _flat(Either, listed)


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """Return the parts that an item must all fulfil."""
    return condition.parts if isinstance(condition, All) else (condition,)


def _flat(kind: type[_Several], parts: Iterable[Condition]) -> Condition:
    conditions: list[Condition] = []
    for part in parts:
        conditions += part.parts if isinstance(part, kind) else [part]
    return conditions[0] if len(conditions) == 1 else kind(conditions)


def _check_extent(condition: Condition) -> None:
    if condition.depth > MAX_DEPTH:
        raise InvalidInputError(f"a condition may be nested {MAX_DEPTH} levels deep; this one is nested deeper")
    if condition.size > MAX_TESTS:
        raise InvalidInputError(f"a condition may have at most {MAX_TESTS:,} tests; this one has {condition.size:,}")


def _check_test(test: FieldTest) -> None:
    (kind, path), values = test.field, test.values
    if kind not in KINDS or test.operator not in OPERATORS:
        raise InvalidInputError(f"a test is of one of {', '.join(KINDS)}, by one of {', '.join(OPERATORS)}")
    if bool(path) != (kind in ("score", "attribute")):
        raise InvalidInputError(f"{kind} needs a name, such as {kind}.x" if not path else f"{kind} has no parts")
    if kind == "score" and len(path) > 1:
        raise InvalidInputError(f'score has one name: write the name in quotes, as in score."{".".join(path)}"')
    if kind in ("score", "match") and test.operator not in COMPARISONS:
        raise InvalidInputError(f"{test.field} is a number: compare it, as in {test.field} >= .5")
    if test.operator != "in" and len(values) != (test.operator != "exists"):
        raise InvalidInputError(f"{test.field} {test.operator} needs one value")
    for value in values:
        _check_value(test, value)


def _check_value(test: FieldTest, value: Value) -> None:
    kind, operator = test.field.kind, test.operator
    if not isinstance(value, str | bool | int | float | Date | None):
        raise InvalidInputError(
            f"{test.field} is compared with text, a number, a boolean, null or a date, not {value!r}"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{test.field} is compared with a finite number, not {value}")
    if kind in ("score", "match") and not _is_number(value):
        raise InvalidInputError(f"{test.field} is a number: compare it, as in {test.field} >= .5")
    if (kind in TEXTS or operator in OF_TEXT) and not isinstance(value, str):
        raise InvalidInputError(f"{test.field} {operator} takes text, not {value!r}")
    if operator in COMPARISONS and (value is None or isinstance(value, bool)):
        raise InvalidInputError(f"{operator} takes a number, a date or text, not {_written(value)}")


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _Text(Visitor[str]):
    """The text of a condition, which ``where.parse`` reads as an equal condition."""

    def every(self, condition: All) -> str:
        return " and ".join(_inside(part, All, Either) for part in condition.parts) or "every item"

    def either(self, condition: Either) -> str:
        return " or ".join(_inside(part, Either) for part in condition.parts)

    def negated(self, condition: Not) -> str:
        return f"not {_inside(condition.part, All, Either)}"

    def test(self, condition: FieldTest) -> str:
        values = [_written(value) for value in condition.values]
        if condition.operator == "in":
            return (
                f"{condition.field} = {values[0]}"
                if len(values) == 1
                else f"{condition.field} in [{', '.join(values)}]"
            )
        return " ".join((str(condition.field), condition.operator, *values))


def _inside(part: Condition, *kinds: type[Condition]) -> str:
    return f"({part})" if isinstance(part, kinds) else str(part)


def _written(value: Value) -> str:
    if isinstance(value, Date):
        return value.text
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _is_bare(name: str) -> bool:
    return bool(NAME.fullmatch(name)) and name.casefold() not in KEYWORDS and not DATE.fullmatch(name)


EVERY = All()
"""Every item fulfils this condition."""
