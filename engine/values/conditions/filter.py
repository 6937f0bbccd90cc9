"""Filters, the conditions of requests; and conditions written in Python."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NoReturn, TypedDict, Unpack, cast

from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.tree import (
    EVERY,
    NO_TRUTH,
    Condition,
    Field,
    FieldTest,
    Not,
    Value,
    all_of,
    conjuncts,
)
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import one_or_several


class FilterParts(TypedDict, total=False):
    """Frequent parts of a filter, as arguments."""

    labels: str | Sequence[str]
    """The item has at least one of these labels."""
    without_labels: str | Sequence[str]
    """The item has none of these labels."""
    keys: str | Sequence[str]
    """The item has one of these keys."""
    key_prefix: str
    """The key of the item begins with this text."""
    attributes: Mapping[str, Any] | None
    """The top-level attributes of the item equal these JSON scalars."""
    at_least: Mapping[str, float] | None
    """Lower bounds of scores, by axis, in standard deviations; only for a search."""
    at_most: Mapping[str, float] | None
    """Upper bounds of scores, as ``at_least``."""


class Filter:
    """The condition that items must fulfil; every item passes an empty filter. Filters are equal if conditions are."""

    def __init__(self, where: "str | Condition | None" = EVERY, **parts: Unpack["FilterParts"]) -> None:
        """Make a filter from a condition, as text or made with ``field``, and further parts; items fulfil all.

        Raises InvalidInputError for a text that is not a condition, with the place, and for values that no field has.
        """
        if unknown := sorted(parts.keys() - FilterParts.__annotations__.keys()):
            raise TypeError(f"a filter has no part {unknown[0]!r}; there are: {', '.join(FilterParts.__annotations__)}")
        conditions = [condition_of(where)]
        if names := one_or_several(parts.get("labels", ())):
            conditions.append(FieldTest(Field("label"), "in", names))
        if names := one_or_several(parts.get("without_labels", ())):
            conditions.append(Not(FieldTest(Field("label"), "in", names)))
        if names := one_or_several(parts.get("keys", ())):
            conditions.append(FieldTest(Field("key"), "in", names))
        if prefix := parts.get("key_prefix"):
            conditions.append(FieldTest(Field("key"), "prefix", (prefix,)))
        for name, value in _sorted(parts.get("attributes")):
            conditions.append(FieldTest(Field("attribute", (name,)), "in", (value,)))
        self.condition: Condition = all_of([*conditions, *_bounds(parts.get("at_least"), parts.get("at_most"))])

    def __bool__(self) -> NoReturn:
        raise InvalidInputError(NO_TRUTH)

    @property
    def is_empty(self) -> bool:
        """Whether every item passes."""
        return self.condition == EVERY

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self.condition == other.condition

    def __hash__(self) -> int:
        return hash(self.condition)

    def __str__(self) -> str:
        return str(self.condition)

    def __repr__(self) -> str:
        return "Filter()" if self.is_empty else f"Filter({str(self.condition)!r})"

    def also(self, *conditions: "str | Condition") -> "Filter":
        """Return the filter with further conditions."""
        further = [condition_of(condition) for condition in conditions]
        return Filter(all_of([self.condition, *further])) if any(condition != EVERY for condition in further) else self

    def within(self, at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None) -> "Filter":
        """Return the filter with further bounds of scores; InvalidInputError for a bound that is given twice."""
        if not at_least and not at_most:
            return self
        bounds = {(part.field, part.operator) for part in conjuncts(self.condition) if isinstance(part, FieldTest)}
        further = _bounds(at_least, at_most)
        for bound in further:
            if (bound.field, bound.operator) in bounds:
                raise InvalidInputError(f"the filter has a bound of {bound.field} already: give the bound once")
        return Filter(all_of([self.condition, *further]))

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes whose scores the filter compares, each once."""
        return () if self.is_empty else self.condition.of_kind("score")

    @property
    def stored(self) -> Condition:
        """The part that the catalog decides."""
        return self._split()[0]

    @property
    def scored(self) -> Condition:
        """The part that compares scores."""
        return self._split()[1]

    def without_match(self) -> tuple["Filter", float]:
        """Return the filter without its bound of the match, and the bound, 0 without one.

        Raises InvalidInputError for a match that is not a bound of the whole filter: a match is an estimate for hits,
        which alternatives and negations would need for all items.
        """
        if self.is_empty or not self.condition.of_kind("match"):
            return self, 0.0
        parts = conjuncts(self.condition)
        bounds = [part for part in parts if isinstance(part, FieldTest) and part.field.kind == "match"]
        rest = all_of(part for part in parts if part not in bounds)
        if rest.of_kind("match") or any(bound.operator != ">=" for bound in bounds):
            raise InvalidInputError("match is a lower bound of the whole condition: write match >= .6 and ...")
        return Filter(rest), max(map(_number, bounds))

    def without_keys(self) -> tuple["Filter", tuple[str, ...]]:
        """Return the filter without the list of keys that it requires, and these keys; () without such a list."""
        parts = conjuncts(self.condition)
        lists = [
            part for part in parts if isinstance(part, FieldTest) and (part.field.kind, part.operator) == ("key", "in")
        ]
        if len(lists) != 1:
            return self, ()
        return Filter(all_of(part for part in parts if part is not lists[0])), tuple(map(str, lists[0].values))

    def _split(self) -> tuple[Condition, Condition]:
        if self.is_empty:  # every search asks, and most filters are empty
            return EVERY, EVERY
        parts = conjuncts(self.condition)
        scored = [bool(part.of_kind("score")) for part in parts]
        return (
            all_of(part for part, has in zip(parts, scored, strict=True) if not has),
            all_of(part for part, has in zip(parts, scored, strict=True) if has),
        )


def condition_of(form: str | Condition | None) -> Condition:
    """Return a condition, given as a tree or as text; every item fulfils "" and None.

    Raises InvalidInputError for anything else, also if it is empty: a lost condition would let all items pass.
    """
    if isinstance(form, Condition):
        return form
    if form is None or (isinstance(form, str) and not form):
        return EVERY
    if not isinstance(form, str):
        raise InvalidInputError(
            f"a condition is text, such as 'year > 2020', or made with field, or a Filter, not {form!r:.80}"
        )
    from crossview.engine.values.conditions.where import parse  # importing the parser takes .1 s

    return parse(form)


FilterForm = Filter | Condition | str | None
"""The forms in which a program can give a filter; every item passes None."""


def filter_of(form: FilterForm) -> Filter:
    """Return a filter in any form as a filter."""
    return form if isinstance(form, Filter) else Filter(form)


class AnyFilter:
    """A field of a dataclass with a filter; the field takes every form of one [default: every item]."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> Filter:
        return EVERY_ITEM if instance is None else vars(instance)[self._name]  # dataclasses read the class's

    def __set__(self, instance: object, form: FilterForm) -> None:
        vars(instance)[self._name] = filter_of(form)


def field_of(name: str) -> Field:
    """Return the field of a name as a condition has it; InvalidInputError for a name that needs quotes."""
    text = f"{name} >= 0" if name.startswith(("score", "match")) else f"{name} exists"
    (test,) = condition_of(text).tests()
    return test.field


class NamedField:
    """A field of items, in conditions written in Python: see ``field``."""

    def __init__(self, named: Field) -> None:
        self._field = named

    # As in SQLAlchemy, a comparison makes a condition; Python then takes away the hash by itself.
    def __eq__(self, value: object) -> Condition:  # type: ignore[override]  # object.__eq__ returns bool
        return self.one_of([value])

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]  # object.__ne__ returns bool
        return Not(self.one_of([value]))

    def __lt__(self, value: Any) -> Condition:
        return self._test("<", value)

    def __le__(self, value: Any) -> Condition:
        return self._test("<=", value)

    def __gt__(self, value: Any) -> Condition:
        return self._test(">", value)

    def __ge__(self, value: Any) -> Condition:
        return self._test(">=", value)

    def __bool__(self) -> NoReturn:
        raise InvalidInputError("a field alone is not a condition: compare it, or use .exists()")

    def one_of(self, values: Iterable[Any]) -> Condition:
        """Return the condition that the field has one of the values."""
        return FieldTest(self._field, "in", tuple(map(_value, values)))

    def between(self, least: Any, most: Any) -> Condition:
        """Return the condition that the field is at least one value and at most another."""
        return self._test(">=", least) & self._test("<=", most)

    def prefix(self, text: str) -> Condition:
        """Return the condition that the field begins with a text."""
        return self._test("prefix", text)

    def contains(self, text: str) -> Condition:
        """Return the condition that the field contains a text, in upper or lower case."""
        return self._test("contains", text)

    def like(self, pattern: str) -> Condition:
        """Return the condition that the field matches a pattern: * is any text, ? one character; case is ignored."""
        return self._test("like", pattern)

    def exists(self) -> Condition:
        """Return the condition that the item has the field."""
        return FieldTest(self._field, "exists")

    def _test(self, operator: str, value: Any) -> FieldTest:
        return FieldTest(self._field, operator, (_value(value),))


def field(name: str) -> NamedField:
    """Return a field for conditions in Python: ``(field("year") >= 2021) & (field("label") == "dog")``.

    The name is that of the text: ``label``, ``key``, ``path``, ``text``, ``view``, ``match``, ``score.NAME``, or an
    attribute such as ``camera.model`` or ``"date taken"``. Values are those of JSON, ``datetime.date`` and
    ``datetime.datetime``. Conditions combine by ``&``, ``|`` and ``~``.

    Raises InvalidInputError for a name that needs quotes, or a field that does not exist.
    """
    return NamedField(field_of(name))


def _value(value: Any) -> Value:
    return Date.of(value) if isinstance(value, date) else value


def _number(test: FieldTest) -> float:
    (value,) = test.values
    return cast(float, value)  # the test checked it when it was made


def _bounds(at_least: Mapping[str, float] | None, at_most: Mapping[str, float] | None) -> list[FieldTest]:
    return [
        FieldTest(Field("score", (axis,)), operator, (bound,))
        for operator, bounds in ((">=", at_least), ("<=", at_most))
        for axis, bound in _sorted(bounds)
    ]


def _sorted(values: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """Return entries sorted by name, so that equal filters are equal trees."""
    return sorted((values or {}).items(), key=lambda entry: str(entry[0]))


EVERY_ITEM = Filter()
