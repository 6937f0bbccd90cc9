"""Conditions as SQL over the table of items."""

import json
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.schema import items, labels
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
    no_scores,
)

LIVE = items.c.deleted.is_(False)
ATTRIBUTES_AS_TEXT = sa.type_coerce(items.c.attributes, sa.Text())
_KEYS = items.c.key, items.c.normal_key


def fulfils(condition: Condition) -> "sa.ColumnElement[bool]":
    """Return the SQL of a condition on live items.

    Raises InvalidInputError for a bound of scores: the catalog has no column for scores.
    """
    return sa.and_(LIVE, condition.accept(_Sql()))


class _Sql(Visitor["sa.ColumnElement[bool]"]):
    """The SQL of a condition."""

    def every(self, condition: All) -> "sa.ColumnElement[bool]":
        return sa.and_(sa.true(), *(part.accept(self) for part in condition.parts))

    def negated(self, condition: Not) -> "sa.ColumnElement[bool]":
        return sa.not_(condition.part.accept(self))

    def has_label(self, condition: HasLabel) -> "sa.ColumnElement[bool]":
        labelled = sa.select(labels.c.item_id).where(labels.c.label.in_(listed(condition.labels)))
        return items.c.id.in_(labelled)

    def has_key(self, condition: HasKey) -> "sa.ColumnElement[bool]":
        forms = sorted({form for key in condition.keys for form in (key, normal(key))})
        found = [sa.select(items.c.id).where(LIVE, column.in_(listed(forms))) for column in _KEYS]
        return items.c.id.in_(sa.union(*found))  # OR would make SQLite read every item

    def key_begins(self, condition: KeyBegins) -> "sa.ColumnElement[bool]":
        return _begins(condition.prefix)

    def attribute_is(self, condition: AttributeIs) -> "sa.ColumnElement[bool]":
        return _attribute_is(condition.name, condition.value)

    def score_at_least(self, condition: ScoreAtLeast) -> "sa.ColumnElement[bool]":
        raise no_scores(condition.axis)

    def score_at_most(self, condition: ScoreAtMost) -> "sa.ColumnElement[bool]":
        raise no_scores(condition.axis)


def _begins(prefix: str) -> "sa.ColumnElement[bool]":
    """Return the condition that a key, in any Unicode form, begins with a prefix. LIKE would ignore the case."""
    forms = sorted({prefix, normal(prefix)})
    # Most keys have no second form: without coalesce, NULL would make both the condition and its negation unknown.
    columns = items.c.key, sa.func.coalesce(items.c.normal_key, "")
    return sa.or_(*(sa.func.substr(column, 1, len(form)) == form for column in columns for form in forms))


def listed(values: Iterable[str]) -> "sa.Select[tuple[str]]":
    """Return values as one JSON parameter, because SQLite accepts at most 32,766 parameters in a statement."""
    return sa.select(sa.func.json_each(json.dumps(list(values))).table_valued("value").c.value)


def each_attribute() -> "sa.TableValuedAlias":
    """Return the attributes of an item as a table, without NaN: earlier versions stored NaN, and SQLite refuses it."""
    readable = sa.case((sa.func.json_valid(ATTRIBUTES_AS_TEXT) == 1, ATTRIBUTES_AS_TEXT), else_="{}")
    return sa.func.json_each(readable).table_valued("key", "type", "value").alias()


def _attribute_is(name: str, value: Any) -> "sa.ColumnElement[bool]":
    """Return the condition that a top-level attribute of an item equals a JSON scalar of the same type.

    Numbers are one type: 1 equals 1.0. A missing attribute equals nothing, not even None.

    Raises TypeError for a value that is not a string, number, boolean or None.
    """
    # Not by a JSON path: paths cannot quote every name, and SQLite compares them with the escaped form of the name.
    each = each_attribute()
    match value:
        case None:
            equal = [each.c.type == "null"]
        case bool():
            equal = [each.c.type == json.dumps(value)]
        case str():
            equal = [each.c.type == "text", each.c.value == value]
        case int() | float():
            # SQLite reads both numbers from JSON and so rounds both the same way; it cannot bind large integers.
            number = sa.func.json_extract(json.dumps([value]), "$[0]")
            equal = [each.c.type.in_(("integer", "real")), each.c.value == number]
        case _:
            raise TypeError(f"attribute {name!r} can equal a string, a number, a boolean or null, not {value!r}")
    return sa.exists().select_from(each).where(each.c.key == name, *equal)
