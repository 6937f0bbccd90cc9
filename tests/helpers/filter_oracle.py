"""The meaning of conditions in plain Python: the oracle of every evaluation of conditions."""

import operator
import unicodedata
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from crossview.engine.values.conditions.dates import DATE, Date
from crossview.engine.values.conditions.filter import FilterForm, filter_of
from crossview.engine.values.conditions.tree import All, Either, FieldTest, Not, Visitor
from crossview.engine.values.item import Item

COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Oracle(Visitor[bool]):
    """Decides whether an item, and its scores by axis, fulfil a condition."""

    def __init__(self, item: Item, scores: Mapping[str, float] = MappingProxyType({})) -> None:
        self.item, self.scores = item, scores

    def every(self, condition: All) -> bool:
        return all(part.accept(self) for part in condition.parts)

    def either(self, condition: Either) -> bool:
        return any(part.accept(self) for part in condition.parts)

    def negated(self, condition: Not) -> bool:
        return not condition.part.accept(self)

    def test(self, condition: FieldTest) -> bool:
        there, values = self._values(condition)
        if condition.operator == "exists":
            return there
        if condition.operator == "in":
            return any(equal(stored, asked) for stored in values for asked in condition.values)
        return any(compared(stored, condition.operator, condition.values[0]) for stored in values)

    def _values(self, condition: FieldTest) -> tuple[bool, list[Any]]:
        """Return whether the item has the field, and its values."""
        kind, path = condition.field
        if kind == "score":
            return True, [self.scores[path[0]]]
        if kind == "attribute":
            found: Any = self.item.attributes
            for name in path:
                if not isinstance(found, Mapping) or name not in found:
                    return False, []
                found = found[name]
            return True, found if isinstance(found, list) else [found]
        one = {"key": self.item.key, "path": self.item.source, "text": self.item.text}
        values = {"label": self.item.labels, "view": self.item.views}.get(kind) or [one.get(kind)]
        values = [value for value in values if value]
        return bool(values), values


def matching(items: Iterable[Item], chosen: FilterForm) -> list[str]:
    """Return keys of the items that pass, in their order."""
    return sorted(item.key for item in items if filter_of(chosen).condition.accept(Oracle(item)))


def equal(stored: Any, asked: Any) -> bool:
    """Return whether a stored JSON value equals a scalar: of the same JSON type, where all numbers are one type."""
    if isinstance(asked, Date):
        return isinstance(stored, str) and any(first <= at <= last for at, first, last in in_time(stored, asked))
    if isinstance(stored, str) and isinstance(asked, str):
        return nfc(stored) == nfc(asked)
    return type_of(stored) == type_of(asked) and bool(stored == asked)


def compared(stored: Any, how: str, asked: Any) -> bool:
    """Return whether a stored JSON value compares with another of its type."""
    if isinstance(asked, Date):
        return isinstance(stored, str) and any(
            COMPARED[how](at, first if how in ("<", ">=") else last) for at, first, last in in_time(stored, asked)
        )
    if type_of(stored) != type_of(asked) or isinstance(stored, bool):
        return False
    if how in COMPARED:
        return bool(COMPARED[how](*((nfc(stored), nfc(asked)) if isinstance(asked, str) else (stored, asked))))
    stored, asked = nfc(stored), nfc(asked)
    if how == "prefix":
        return bool(stored.startswith(asked))
    stored, asked = stored.casefold(), asked.casefold()
    return asked in stored if how == "contains" else like(stored, asked)


def like(text: str, pattern: str) -> bool:
    """Return whether a text matches a pattern, character by character."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(like(text[at:], pattern[1:]) for at in range(len(text) + 1))
    wanted, rest = (pattern[1], pattern[2:]) if pattern[0] == "\\" and len(pattern) > 1 else (pattern[0], pattern[1:])
    return bool(text) and (pattern[0] == "?" or text[0] == wanted) and like(text[1:], rest)


def in_time(stored: str, asked: Date) -> Iterator[tuple[datetime, datetime, datetime]]:
    """Yield the moment of a stored date, and the first and last moment of a period; nothing for another text."""
    if len(stored) >= len("2021-05-01") and DATE.fullmatch(stored.replace(" ", "T", 1)):
        try:
            yield moment(stored), *period(asked.text)
        except (ValueError, OverflowError):
            return


def period(text: str) -> tuple[datetime, datetime]:
    """Return the first and last moment of a month, a day or a date-time."""
    if len(text) == len("2021-05"):
        year, month = map(int, text.split("-"))
        return moment(f"{text}-01"), period(f"{text}-{monthrange(year, month)[1]:02}")[1]
    if len(text) == len("2021-05-01"):
        return moment(text), moment(text) + timedelta(days=1, microseconds=-1)
    return moment(text), moment(text)


def moment(text: str) -> datetime:
    """Return a moment; without an offset, it is in UTC."""
    found = datetime.fromisoformat(text.upper())
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def nfc(text: str) -> str:
    """Return the Unicode normal form of a text."""
    return unicodedata.normalize("NFC", text)


def type_of(value: Any) -> str:
    """Return the JSON type of a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__
