"""Conversion of conditions to messages and back."""

from typing import Any

from google.protobuf.struct_pb2 import NULL_VALUE

from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.tree import (
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
from crossview.server.wire.fields import enum_number, enum_text
from crossview.server.wire.structs import EXACT
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
