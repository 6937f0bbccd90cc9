"""Conditions on items' attributes, in SQLite's SQL."""

import json
from typing import Any

import sqlalchemy as sa

from engine.catalog.schema import items


def attribute_is(name: str, value: Any) -> "sa.ColumnElement[bool]":
    """Return the condition that an item has a top-level attribute which equals a JSON scalar and has its type.

    Numbers are one type: 1 equals 1.0. A missing attribute equals nothing, not even None.

    Raises TypeError for a value that is no string, number, boolean or None.
    """
    # Not by a JSON path: no quoting lets every name through, and SQLite compares it with the name as JSON escapes it.
    text = sa.type_coerce(items.c.attributes, sa.Text())
    # NaN, which earlier versions let in, is no JSON and would stop the statement.
    readable = sa.case((sa.func.json_valid(text) == 1, text), else_="{}")
    each = sa.func.json_each(readable).table_valued("key", "type", "value").alias()
    match value:
        case None:
            equal = [each.c.type == "null"]
        case bool():
            equal = [each.c.type == json.dumps(value)]
        case str():
            equal = [each.c.type == "text", each.c.value == value]
        case int() | float():
            # SQLite reads both numbers from JSON, so that they are rounded alike; it could not bind large integers.
            number = sa.func.json_extract(json.dumps([value]), "$[0]")
            equal = [each.c.type.in_(("integer", "real")), each.c.value == number]
        case _:
            raise TypeError(f"attribute {name!r} compares with a string, a number, a boolean or null, not {value!r}")
    return sa.exists().select_from(each).where(each.c.key == name, *equal)
