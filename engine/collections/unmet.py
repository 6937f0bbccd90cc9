"""Warnings of conditions that name what no item has: probably mistyped, and silently without an answer."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.ingest.near_names import near_names
from crossview.engine.catalog.item_columns import ItemColumns
from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.tree import COMPARISONS, Condition, Field, FieldTest, Value
from crossview.engine.values.errors import warn_of
from crossview.engine.values.item import FACTS, FILE

_MOST_LABELS, _MOST_TESTS = 20, 20
"""Number of labels of a condition, and of its other tests, that are looked for, each among all items."""
_LEAST: Mapping[str, tuple[Any, Value]] = {
    "number": (int | float, -sys.float_info.max),
    "date": (Date, Date("0001-01-01")),
}
"""The type of the values of each kind in conditions, and a value that none of them is less than."""
_MOST_REMEMBERED = 10_000


class Unmet:
    """The warnings of an open collection. Several threads may call the methods at once."""

    def __init__(self, columns: ItemColumns) -> None:
        self._columns = columns
        self._met: set[Condition] = set()
        """Conditions without a warning so far, which need no further look."""

    def is_met(self, condition: Condition) -> bool:
        """Return whether items had all that a condition names when it was last looked at."""
        return condition in self._met

    def warn(self, tx: Transaction, condition: Condition, nothing: bool) -> None:
        """Warn of each label, view or attribute that a condition names and no item has, with similar names.

        A condition without a warning so far is only looked at again if it chose ``nothing``.
        """
        if not nothing and self.is_met(condition):
            return
        # One test of each missing attribute is looked for, and the tests of those that exist.
        tests = list(dict.fromkeys(condition.tests()))
        lacking = set(self._lacking(tx, tests))
        first = {test.field: test for test in reversed(tests) if test.field in lacking}
        looked = [test for test in tests if first.get(test.field, test) is test][:_MOST_TESTS]
        found = [text for test in looked for text in self._of(tx, test)]
        for text in found:
            warn_of(text)
        if not found:
            if len(self._met) >= _MOST_REMEMBERED:
                self._met.clear()
            self._met.add(condition)

    def _lacking(self, tx: Transaction, tests: Iterable[FieldTest]) -> Iterator[Field]:
        """Yield the attributes that no item has, of the first ones."""
        named = dict.fromkeys(test.field for test in tests if test.field.kind == "attribute")
        for field in list(named)[:_MOST_TESTS]:
            if not self._any(tx, FieldTest(field, "exists")):
                yield field

    def _of(self, tx: Transaction, test: FieldTest) -> Iterator[str]:
        kind, named = test.field.kind, test.operator in ("in", "prefix")
        if kind == "label" and test.operator == "in":
            for label in test.values[:_MOST_LABELS]:
                if not self._any(tx, FieldTest(test.field, "in", (label,))):
                    yield f"no item has the label {label!r}{_similar(str(label), tx.items.label_counts())}"
        elif kind == "attribute" and not self._any(tx, FieldTest(test.field, "exists")):
            name, known = ".".join(test.field.path), tx.items.attribute_names()
            if test.field.path[0] in known:
                facts = [f"{FILE}.{fact}" for fact in FACTS]
                known = facts if test.field.path[0] == FILE and name not in facts else []
            similar = _similar(name, known)
            yield f"no item has the attribute {name!r}{similar}"
        elif kind == "view" and named and test.values and not self._any(tx, test):
            yield f"no item has {test}{_similar(str(test.values[0]), [view.name for view in tx.views.all()])}"
        elif ((kind == "attribute" and named) or (kind, test.operator) == ("key", "prefix")) and not self._any(
            tx, test
        ):
            yield f"no item has {test}"
        elif kind == "attribute" and test.operator in COMPARISONS:
            yield from self._of_another_type(tx, test)

    def _of_another_type(self, tx: Transaction, test: FieldTest) -> Iterator[str]:
        """Yield a warning of a comparison with a value of a type that no item has in the field."""
        for kind, (type_, least) in _LEAST.items():
            if isinstance(test.values[0], type_) and not self._any(tx, FieldTest(test.field, ">=", (least,))):
                has = [
                    other for other, (_, low) in _LEAST.items() if self._any(tx, FieldTest(test.field, ">=", (low,)))
                ]
                others = f": it has {' and '.join(f'{one}s' for one in has)}" if has else ""
                yield f"no item has a {kind} in {test.field}{others}"

    def _any(self, tx: Transaction, test: FieldTest) -> bool:
        return bool(len(self._columns.matching(tx, test)))


def _similar(name: str, known: Iterable[str]) -> str:
    found = near_names(name, known)
    return f" (similar: {', '.join(found)})" if found else ""
