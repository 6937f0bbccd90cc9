"""Conversion of JSON values to protobuf structs and back.

All numbers of a struct are doubles. Whole numbers come back as ``int``; conversion refuses a whole number that a double
cannot represent exactly, instead of changing it.
"""

import math
from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value

from crossview.engine.values.errors import InvalidInputError

EXACT = 2**53
"""A double can represent every whole number up to this one exactly."""


def to_struct(values: Mapping[str, Any]) -> Struct:
    """Return JSON values by name as a struct; raise InvalidInputError for a value that is not JSON or not exact."""
    return Struct(fields={name: _to_value(value, name) for name, value in values.items()})


def from_struct(struct: Struct) -> dict[str, Any]:
    """Return the values of a struct, sorted by name; raise InvalidInputError for NaN and infinities."""
    return {name: _from_value(struct.fields[name], name) for name in sorted(struct.fields)}


def _to_value(value: Any, name: str) -> Value:
    if value is None:
        return Value(null_value=NULL_VALUE)
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, int | float):
        return Value(number_value=_number(value, name))
    if isinstance(value, str):
        return Value(string_value=value)
    if isinstance(value, Mapping):
        return Value(struct_value=to_struct(value))
    if isinstance(value, list | tuple):
        return Value(list_value=ListValue(values=[_to_value(entry, name) for entry in value]))
    raise InvalidInputError(f"{name}: {type(value).__name__} is not a JSON value")


def _from_value(value: Value, name: str) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number = _number(value.number_value, name)
        return int(number) if number.is_integer() and abs(number) <= EXACT else number
    if kind == "struct_value":
        return from_struct(value.struct_value)
    if kind == "list_value":
        return [_from_value(entry, name) for entry in value.list_value.values]
    if kind == "null_value" or kind is None:
        return None
    return value.bool_value if kind == "bool_value" else value.string_value


def _number(value: float, name: str) -> float:
    if isinstance(value, int) and abs(value) > EXACT:
        raise InvalidInputError(f"{name}: {value} is too large: numbers are sent as doubles; store it as text")
    if not math.isfinite(value):
        raise InvalidInputError(f"{name}: {value} is not a JSON number")
    return float(value)
