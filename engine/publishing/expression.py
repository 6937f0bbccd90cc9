"""Conditions as boolean expressions of Milvus, and decided for items without a catalog.

An expression is code for the engine, and the texts of conditions come from strangers: ``quoted`` writes each of them.
The engine compares characters as they are stored, but crossview compares texts in the Unicode normal form C. So an
expression names all spellings of a text, or bounds the text by characters that no normal form changes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from heapq import heapify, heappop, heapreplace
from typing import Any, NamedTuple

import numpy as np

from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.column import Part
from crossview.engine.catalog.words import Mask
from crossview.engine.publishing.spellings import spellings
from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.tree import All, Condition, Either, Field, FieldTest, Not, Value, Visitor
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import FILE, Item

_MOST_CHARACTERS, _MOST_DEPTH = 1_000_000, 40
"""Limits of an expression: the engine refuses 50 levels, because its messages may be nested 100 levels deep."""
_MOST_NAMED = 200
"""Maximum number of characters of a part that a warning names."""
_TEXTS = {"key": "key", "path": "source", "text": "text"}
_LISTS = {"label": "labels", "view": "views"}
"""The fields of the engine, and of an item, by the kind of a condition's field."""
_OPPOSITE = {"==": "!=", "!=": "==", "in": "not in", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_UNWRITABLE = re.compile("[\0\n\r\ud800-\udfff]")
"""Milvus Lite has no escape sequence for a line break."""
_CONTROL, _DIGITS = re.compile(r"[\0-\x1f]"), re.compile(r"\d+")
_STABLE = re.compile("[ -:]*")
"""Characters that are the same in every normal form, before all that are not, and that no mark changes."""
_PLAIN = re.compile("[ -:<-JL-_a-~]*")
"""Characters that have one spelling; "K" can be the sign of Kelvin."""
_CHANGED_BY_MARKS = re.compile("[A-Za-z<=>]")
"""ASCII characters that a mark after them can make another character."""


class Expression(NamedTuple):
    """A condition for the engine."""

    text: str
    """An expression of Milvus that every item that fulfils the condition fulfils; "" keeps every item."""
    exact: bool
    """Whether only these items fulfil it. Otherwise test the items that the engine finds with ``passing``."""
    inexact: tuple[str, ...]
    """The parts of the condition that the engine cannot decide even roughly, so that it keeps every item for them."""


def expression_of(condition: Condition, negates: bool = True) -> Expression:
    """Return a condition for an engine; Milvus Lite does not negate.

    Raises InvalidInputError for a test of a score or of a match.
    """
    side = condition.accept(_Translation(negates)).passing
    return Expression(side.text, side.exact, tuple(dict.fromkeys(side.lost)))


def passing(condition: Condition, items: Sequence[Item]) -> Mask:
    """Return which of the items fulfil a condition, (n,), as a catalog decides it; raises as ``expression_of``."""
    return condition.accept(_Masks(items))


def quoted(text: str) -> str:
    """Return a text as an expression has it; InvalidInputError for one that no expression can have."""
    if _UNWRITABLE.search(text):
        raise InvalidInputError(f"an engine cannot be asked for {text!r}: it has a line break or is not Unicode")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Masks(Visitor[Mask]):
    """A visitor that returns which of the items fulfil a condition, as a mask, (n,)."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._parts: dict[Field, Part] = {}

    def every(self, condition: All) -> Mask:
        mask = np.ones(len(self._items), bool)
        for part in condition.parts:
            mask &= part.accept(self)
        return mask

    def either(self, condition: Either) -> Mask:
        mask = np.zeros(len(self._items), bool)
        for part in condition.parts:
            mask |= part.accept(self)
        return mask

    def negated(self, condition: Not) -> Mask:
        return ~condition.part.accept(self)

    def test(self, condition: FieldTest) -> Mask:
        _check_decidable(condition.field)
        if (part := self._parts.get(condition.field)) is None:
            part = self._parts[condition.field] = Part.of(_values(condition.field, self._items))
        mask = np.zeros(len(self._items), bool)
        part.mark(mask, condition)
        return mask


def _check_decidable(field: Field) -> None:
    if field.kind in ("score", "match"):
        raise InvalidInputError(f"a published collection cannot decide {field}: leave it out, or search the original")


def _values(field: Field, items: Iterable[Item]) -> Iterator[tuple[int, Any]]:
    """Yield the place and the value of each item that has a field."""
    for place, item in enumerate(items):
        if field.kind == "attribute":
            yield from ((place, value) for value in _at(field.path, item))
        elif value := getattr(item, (_TEXTS | _LISTS).get(field.kind, field.kind)):
            yield place, list(value) if isinstance(value, tuple) else value


def _at(path: Sequence[str], item: Item) -> Iterator[Any]:
    """Yield the value of an item at a path of attributes, if it has one; see ``Item.file``."""
    value: Any = {FILE: item.file, **item.attributes} if item.file else item.attributes
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return
        value = value[name]
    yield value


class _Kept(NamedTuple):
    """An expression of an engine: it keeps the wanted items and, unless it is exact, others."""

    text: str
    exact: bool = True
    depth: int = 1
    lost: tuple[str, ...] = ()
    """The parts of the condition for which it keeps every item."""


class _Sides(NamedTuple):
    """Two expressions: of the items that pass a test, and of those that do not."""

    passing: _Kept
    failing: _Kept


_EVERYTHING, _UNKNOWN = _Kept(""), _Kept("", exact=False)
_NOTHING = _Kept('key == ""')
"""No key is empty."""
_UNDECIDED = _Sides(_UNKNOWN, _UNKNOWN)


def _every(parts: Sequence[_Sides]) -> _Sides:
    return _Sides(_all_kept([sides.passing for sides in parts]), _any_kept([sides.failing for sides in parts]))


def _either(parts: Sequence[_Sides]) -> _Sides:
    return _Sides(_any_kept([sides.passing for sides in parts]), _all_kept([sides.failing for sides in parts]))


def _all_kept(parts: Sequence[_Kept]) -> _Kept:
    return _joined("and", parts, [part for part in parts if part.text]) if parts else _EVERYTHING


def _any_kept(parts: Sequence[_Kept]) -> _Kept:
    if _EVERYTHING in parts:
        return _EVERYTHING
    return _joined("or", parts, parts if all(part.text for part in parts) else ()) if parts else _NOTHING


def _joined(word: str, parts: Sequence[_Kept], written: Sequence[_Kept]) -> _Kept:
    """Return the conjunction or disjunction of those parts that are written, in as few levels as possible."""
    heap = [(part.depth, place, part.text) for place, part in enumerate(written)]
    heapify(heap)
    while len(heap) > 1:
        _, place, text = heappop(heap)
        depth, _, other = heap[0]
        heapreplace(heap, (depth + 1, place, f"({text} {word} {other})"))
    depth, _, text = heap[0] if heap else (1, 0, "")
    return _Kept(text, all(part.exact for part in parts), depth, tuple(lost for part in parts for lost in part.lost))


def _roughly(sides: _Sides) -> _Sides:
    """Return the sides of a test that only some of the items pass that pass another one."""
    return _Sides(sides.passing._replace(exact=False), _UNKNOWN)


class _Translation(Visitor[_Sides]):
    """A visitor that returns the expressions of a condition."""

    def __init__(self, negates: bool) -> None:
        self._negates = negates

    def every(self, condition: All) -> _Sides:
        return _bounded(_every([part.accept(self) for part in condition.parts]), condition)

    def either(self, condition: Either) -> _Sides:
        return _bounded(_either([part.accept(self) for part in condition.parts]), condition)

    def negated(self, condition: Not) -> _Sides:
        sides = condition.part.accept(self)
        return _Sides(sides.failing, sides.passing)

    def test(self, condition: FieldTest) -> _Sides:
        _check_decidable(condition.field)
        (kind, path), sides = condition.field, _UNDECIDED
        if kind in _TEXTS:
            sides = _of_text(_Column(_TEXTS[kind], True, self._negates), condition)
        elif kind in _LISTS:
            sides = _of_list(_Column(_LISTS[kind], False, self._negates), condition)
        elif kind == "attribute" and _can_be_named(path):
            name = "attributes" + "".join(f"[{quoted(part)}]" for part in path)
            sides = _of_attribute(_Column(name, False, self._negates), condition)
        return _bounded(sides, condition)


def _bounded(sides: _Sides, condition: Condition) -> _Sides:
    """Return expressions within the limits, which name a part that is beyond them or undecided."""
    return _Sides(*(_within(side, condition, not place) for place, side in enumerate(sides)))


def _within(side: _Kept, condition: Condition, is_passing: bool) -> _Kept:
    is_lost = not side.text and not side.exact and not side.lost
    if not is_lost and len(side.text) <= _MOST_CHARACTERS and side.depth <= _MOST_DEPTH:
        return side
    text = str(condition) if is_passing else f"not {condition}" if condition.depth == 1 else f"not ({condition})"
    return _UNKNOWN._replace(lost=(text if len(text) <= _MOST_NAMED else f"{text[:_MOST_NAMED]}...",))


def _can_be_named(path: Sequence[str]) -> bool:
    """Return whether an expression can name an attribute."""
    # The catalog alone knows the metadata of a file, and a number below the first level is a place in a list.
    return path[0] != FILE and not any(
        not name or _CONTROL.search(name) or _UNWRITABLE.search(name) or (place and _DIGITS.fullmatch(name))
        for place, name in enumerate(path)
    )


class _Column(NamedTuple):
    """A field of the engine, or a path in its attributes."""

    name: str
    is_text: bool
    """Whether each row has a text there."""
    negates: bool

    def compared(self, operator: str, value: str) -> _Sides:
        """Return the sides of a comparison with a written value."""
        text = f"{self.name} {operator} {value}"
        if self.is_text or operator == "in":
            return _Sides(_Kept(text), _Kept(f"{self.name} {_OPPOSITE[operator]} {value}"))
        return self.asked(text)

    def asked(self, text: str) -> _Sides:
        """Return the sides of an expression that only ``not`` negates."""
        return _Sides(_Kept(text), _Kept(f"not ({text})", depth=2) if self.negates else _UNKNOWN)

    def there(self) -> _Sides:
        """Return the sides of the test whether the attributes have the path; ``exists`` takes all that follows it."""
        return self.asked(f"(exists {self.name})") if self.negates else _UNDECIDED

    def has_any(self, listed: str) -> _Sides:
        """Return the sides of the test whether a list of the column has one of several values."""
        kind = "json" if "[" in self.name else "array"
        return self.asked(f"{kind}_contains_any({self.name}, {listed})")

    def of_text(self, operator: str, value: str) -> _Sides:
        """Return the sides of a test of a text, except whether it is one of several."""
        if operator == "prefix":
            return self.beginning(normal(value))
        return self.ordered(operator, normal(value)) if operator in _OPPOSITE else _UNDECIDED

    def ordered(self, operator: str, value: str) -> _Sides:
        """Return the sides of a comparison with a text, by the part that every normal form keeps."""
        stable = _STABLE.match(value)[0]  # type: ignore[index]  # it matches any text
        if stable == value:
            return self.compared(operator, quoted(value))
        if not stable:
            return _UNDECIDED
        rough, bounds = (">=", (stable, _next(stable))) if operator[0] == ">" else ("<", (_next(stable), stable))
        most, least = (self.compared(rough, quoted(bound)) for bound in bounds)
        return _Sides(most.passing._replace(exact=False), least.failing._replace(exact=False))

    def beginning(self, value: str) -> _Sides:
        """Return the sides of the test whether a text begins with another one."""
        if not value:
            return self.compared(">=", quoted(""))
        # The end must not be composed with what follows: "e" and an accent do not begin with "e".
        prefix = value[: max((place for place, character in enumerate(value, 1) if character.isascii()), default=0)]
        if (forms := spellings(prefix)) is None or any(_UNWRITABLE.search(f + _next(f)) for f in forms if f):
            prefix = _PLAIN.match(value)[0]  # type: ignore[index]  # it matches any text
            forms = {prefix}
        if not prefix:
            return _UNDECIDED
        sides = _either([self._from(form) for form in sorted(forms)])
        return sides if prefix == value and not _CHANGED_BY_MARKS.fullmatch(value[-1]) else _roughly(sides)

    def _from(self, prefix: str) -> _Sides:
        """Return the sides of the test whether the stored characters begin with others; ``like`` has wildcards."""
        return _every([self.compared(">=", quoted(prefix)), self.compared("<", quoted(_next(prefix)))])

    def in_time(self, operator: str, when: Date) -> _Sides:
        """Return the sides of a comparison with a date, by days: a text in another offset can have a day nearby."""
        first, last = when.period
        earliest = "" if operator in ("<", "<=") else _day(last if operator == ">" else first, -1)
        latest = "" if operator in (">", ">=") else _day(first if operator == "<" else last, 2)
        bounds = ((">=", earliest), ("<", latest))
        return _roughly(_every([self.compared(bound, quoted(day)) for bound, day in bounds if day]))


def _next(prefix: str) -> str:
    """Return the least text after all those that begin with a prefix, by its last character, which has a next one."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _day(moment: int, further: int) -> str:
    """Return the day that is so many after that of a moment, or "" beyond the calendar."""
    try:
        return (date(1970, 1, 1) + timedelta(days=further, microseconds=moment)).isoformat()
    except OverflowError:
        return ""


def _of_text(column: _Column, test: FieldTest) -> _Sides:
    """Return the sides of a test of a field that has a text in each row, which is empty for items without the field."""
    there = column.compared("!=", quoted(""))
    if test.operator == "exists":
        return there
    if test.operator == "in":
        return _either(list(_among(filter(None, test.values), partial(column.compared, "in"))))
    sides = column.of_text(test.operator, value := str(test.values[0]))
    passes_empty = sides is not _UNDECIDED and (test.operator[0] == "<" or not value)
    return _every([there, sides]) if passes_empty else sides


def _of_list(column: _Column, test: FieldTest) -> _Sides:
    """Return the sides of a test of a field that has several texts."""
    if test.operator == "exists":
        return column._replace(name=f"array_length({column.name})", is_text=True).compared("!=", "0")
    return _either(list(_among(filter(None, test.values), column.has_any))) if test.operator == "in" else _UNDECIDED


def _of_attribute(column: _Column, test: FieldTest) -> _Sides:
    """Return the sides of a test of an attribute, whose value, or values in a list, can be of any type."""
    if test.operator in ("in", "exists"):
        return column.there() if test.operator == "exists" else _either(list(_equal(column, test.values)))
    (value,) = test.values
    if isinstance(value, Date):
        sides = column.in_time(test.operator, value)
    elif isinstance(value, int | float):
        sides = column.compared(test.operator, repr(float(value)))
    else:
        sides = column.of_text(test.operator, str(value))
    return _either([sides, _in_a_list(column)])


def _in_a_list(column: _Column) -> _Sides:
    """Return the sides of a test that values of a list may pass: the engine orders no values of lists."""
    return _roughly(_Sides(_Kept(f"array_length({column.name}) != 0"), _UNKNOWN))


def _equal(column: _Column, values: Sequence[Value]) -> Iterator[_Sides]:
    """Yield the sides of the tests whether an attribute has a value of each type: a list may not mix types."""
    yield from _among(
        (value for value in values if isinstance(value, str)), partial(column.compared, "in"), column.has_any
    )
    numbers = [repr(float(value)) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if listed := ", ".join(dict.fromkeys(numbers)):
        yield from (column.compared("in", f"[{listed}]"), column.has_any(f"[{listed}]"))
    for boolean in dict.fromkeys(str(value).lower() for value in values if isinstance(value, bool)):
        yield from (column.compared("in", f"[{boolean}]"), column.asked(f"json_contains({column.name}, {boolean})"))
    if dates := [value for value in values if isinstance(value, Date)]:
        yield from (column.in_time("in", value) for value in dates)
        yield _in_a_list(column)
    if None in values:
        yield _roughly(column.there())


def _among(values: Iterable[Value], *tests: Callable[[str], _Sides]) -> Iterator[_Sides]:
    """Yield the sides of tests with a list of all spellings of some texts."""
    literals, complete, characters = dict[str, None](), True, 0
    for text in dict.fromkeys(normal(str(value)) for value in values):
        forms = spellings(text)
        written = [quoted(form) for form in sorted(forms or {text}) if not _UNWRITABLE.search(form)]
        complete = complete and forms is not None and bool(written)
        literals |= dict.fromkeys(written)
        characters += sum(map(len, written))
        if characters > _MOST_CHARACTERS:  # the expression will be too long
            break
    if literals:
        yield from (test(f"[{', '.join(literals)}]") for test in tests)
    if not complete:
        yield _UNDECIDED
