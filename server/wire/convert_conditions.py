"""Conversion of rows, conditions and filters to messages and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from google.protobuf.struct_pb2 import NULL_VALUE
from numpy.typing import NDArray

from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.filter import Filter, FilterForm, filter_of
from crossview.engine.values.conditions.tree import (
    EVERY,
    All,
    Condition,
    Either,
    Field,
    FieldTest,
    Not,
    Value,
    Visitor,
    all_of,
    any_of,
)
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.numbers import real_numbers
from crossview.server.wire.errors import PermissionDeniedError
from crossview.server.wire.fields import Form, enum_number, enum_text
from crossview.server.wire.identity import identity_here
from crossview.server.wire.structs import EXACT, from_struct
from crossview.v1 import types_pb2 as pb

_OPERATORS = {"less": "<", "less_or_equal": "<=", "greater": ">", "greater_or_equal": ">="}
_WORDS = {operator: word for word, operator in _OPERATORS.items()}
_KIND = pb.Field.DESCRIPTOR.fields_by_name["kind"]
_OPERATOR = pb.FieldTest.DESCRIPTOR.fields_by_name["operator"]


def to_condition(message: pb.Condition) -> Condition:
    """Return the condition of a message; raise InvalidInputError for one beyond the limits, or with an unset part."""
    match message.WhichOneof("kind"):
        case "all":
            return all_of(map(to_condition, message.all.conditions))
        case "any":
            return any_of(map(to_condition, message.any.conditions))
        case "not":
            return Not(to_condition(getattr(message, "not")))
        case "test":
            return _to_test(message.test)
    raise InvalidInputError("a condition is unset: give all, any, not or test")


def from_condition(condition: Condition) -> pb.Condition:
    """Return the message of a condition."""
    return condition.accept(_Message())


class _Message(Visitor[pb.Condition]):
    """A visitor that returns the message of a condition."""

    def every(self, condition: All) -> pb.Condition:
        return pb.Condition(all=pb.Conditions(conditions=[part.accept(self) for part in condition.parts]))

    def either(self, condition: Either) -> pb.Condition:
        return pb.Condition(any=pb.Conditions(conditions=[part.accept(self) for part in condition.parts]))

    def negated(self, condition: Not) -> pb.Condition:
        part: dict[str, Any] = {"not": condition.part.accept(self)}
        return pb.Condition(**part)

    def test(self, condition: FieldTest) -> pb.Condition:
        field = pb.Field(kind=_number(_KIND, condition.field.kind), path=condition.field.path)
        operator = _number(_OPERATOR, _WORDS.get(condition.operator, condition.operator))
        values = map(from_field_value, condition.values)
        return pb.Condition(test=pb.FieldTest(field=field, operator=operator, values=values))


def _to_test(message: pb.FieldTest) -> FieldTest:
    operator = enum_text(_OPERATOR, message.operator)
    field = Field(enum_text(_KIND, message.field.kind), tuple(message.field.path))
    return FieldTest(field, _OPERATORS.get(operator, operator), tuple(map(to_field_value, message.values)))


def to_field_value(message: pb.FieldValue) -> Value:
    """Return the value of a message; raise InvalidInputError for an unset one."""
    match message.WhichOneof("kind"):
        case "text":
            return message.text
        case "number":
            whole = message.number.is_integer() and abs(message.number) <= EXACT
            return int(message.number) if whole else message.number
        case "boolean":
            return message.boolean
        case "null":
            return None
        case "date":
            return Date(message.date)
    raise InvalidInputError("a value of a condition is unset: give text, number, boolean, null or date")


def from_field_value(value: Value) -> pb.FieldValue:
    """Return the message of a value."""
    if value is None:
        return pb.FieldValue(null=NULL_VALUE)
    if isinstance(value, bool):
        return pb.FieldValue(boolean=value)
    if isinstance(value, str):
        return pb.FieldValue(text=value)
    return pb.FieldValue(date=value.text) if isinstance(value, Date) else pb.FieldValue(number=value)


def _number(field: Any, word: str) -> Any:
    return enum_number(field, word)


def to_row(message: pb.Vector) -> NDArray[np.float32]:
    """Return the row of a vector, shape (d,)."""
    return np.array(message.values, dtype=np.float32)


def from_row(row: NDArray[np.float32] | Sequence[float]) -> pb.Vector:
    """Return the vector of a row; raise InvalidInputError if the row is not numbers of shape (d,)."""
    with np.errstate(over="ignore"):  # an overflow becomes infinity, which the server refuses
        values = real_numbers(row, "a vector").astype(np.float32)
    if values.ndim != 1:
        raise InvalidInputError(f"a vector has shape (d,), not {values.shape}")
    return pb.Vector(values=values.tolist())


def to_filter(message: pb.Filter) -> Filter:
    """Return the filter of a message; an absent or empty message selects every item."""
    condition = Filter(
        labels=message.labels,
        without_labels=message.without_labels,
        keys=message.keys,
        key_prefix=message.key_prefix,
        attributes=from_struct(message.attributes),
    ).also(message.where, to_condition(message.condition) if message.HasField("condition") else EVERY)
    if not identity_here().paths and any(test.field.kind == "path" for test in condition.condition.tests()):
        raise PermissionDeniedError(
            "the key of this call sees no paths of files, so it cannot choose items by path: choose them by key"
        )
    return condition


def from_filter(form: FilterForm) -> pb.Filter:
    """Return the message of a filter in any form."""
    whole = filter_of(form)
    return pb.Filter(condition=None if whole.is_empty else from_condition(whole.condition))


CONDITION_FORMS = {
    "crossview.v1.Vector": Form(to_row, from_row),
    "crossview.v1.FieldValue": Form(to_field_value, from_field_value, has_none=True),
    "crossview.v1.Filter": Form(to_filter, from_filter),
}
