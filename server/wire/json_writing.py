"""Messages as JSON by protobuf's mapping, with writers that are compiled once for each type of message.

The JSON is that of ``google.protobuf.json_format``, as a test compares, in a fifth of its time.
"""

import binascii
import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Value

from crossview.server.wire.structs import EXACT

STRUCT, VALUE, LIST = (f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))
"""The names of the messages that stand for any JSON."""
_TYPES = FieldDescriptor
_LONG = {_TYPES.CPPTYPE_INT64, _TYPES.CPPTYPE_UINT64}
_AT_ONCE, _LEVELS = 500, 5
"""Maximum number of elements of a list that ``json`` writes at once, and number of levels with such lists."""
_Write = Callable[[Any], Any]
"""Converts a value of protobuf to a JSON value."""


def to_json(message: Message) -> bytes:
    """Return a message as JSON text in UTF-8: names in camelCase, without the fields that have their defaults."""
    return _text(_object(message), _LEVELS).encode()


def _text(value: Any, levels: int) -> str:
    """Return JSON; other threads run between the pieces of a long list, because ``json`` holds the interpreter."""
    if levels and isinstance(value, dict):
        return "{" + ",".join(f"{_dumped(name)}:{_text(one, levels - 1)}" for name, one in value.items()) + "}"
    if levels and isinstance(value, list) and len(value) > _AT_ONCE:
        pieces = (_dumped(value[at : at + _AT_ONCE])[1:-1] for at in range(0, len(value), _AT_ONCE))
        return "[" + ",".join(pieces) + "]"
    if levels and isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + ",".join(_text(one, levels - 1) for one in value) + "]"
    return _dumped(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _object(message: Message) -> dict[str, Any]:
    writers = _writers(message.DESCRIPTOR)
    found = {}
    for field, value in message.ListFields():
        name, write = writers[field.number]
        found[name] = write(value)
    return found


@cache
def _writers(descriptor: Descriptor) -> Mapping[int, tuple[str, _Write]]:
    """Return the JSON name and the writer of each field of a message, by number."""
    return {field.number: (field.json_name, _writer(field)) for field in descriptor.fields}


def _writer(field: Any) -> _Write:
    if is_map(field):
        key, value = field.message_type.fields
        write_key, write = _key_writer(key), _one_writer(value)
        return lambda entries: {write_key(one): write(entries[one]) for one in entries}
    write = _one_writer(field)
    if not field.is_repeated:
        return write
    if field.type == _TYPES.TYPE_FLOAT:
        return _floats
    return lambda values: [write(value) for value in values]


def _one_writer(field: FieldDescriptor) -> _Write:
    if field.message_type is not None:
        return _message_writer(field.message_type)
    if field.enum_type is not None and field.enum_type.full_name == "google.protobuf.NullValue":
        return lambda value: None
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return lambda value: names.get(value, value)
    if field.cpp_type in _LONG:
        return str
    if field.type == _TYPES.TYPE_BYTES:
        return lambda value: binascii.b2a_base64(value, newline=False).decode()
    if field.type == _TYPES.TYPE_DOUBLE:
        return lambda value: value if math.isfinite(value) else _named(value)
    if field.type == _TYPES.TYPE_FLOAT:
        return lambda value: _floats([value])[0]
    return lambda value: value


def _key_writer(field: FieldDescriptor) -> _Write:
    return (lambda key: "true" if key else "false") if field.type == _TYPES.TYPE_BOOL else str


def _message_writer(descriptor: Descriptor) -> _Write:
    if descriptor.full_name == VALUE:
        return _plain
    if descriptor.full_name == STRUCT:
        return lambda struct: {name: _plain(struct.fields[name]) for name in struct.fields}
    if descriptor.full_name == LIST:
        return lambda values: [_plain(value) for value in values.values]
    return json_format.MessageToDict if is_special(descriptor) else _object


def _plain(value: Value) -> Any:
    """Return the JSON value of a ``google.protobuf.Value``."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return {name: _plain(one) for name, one in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_plain(one) for one in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) <= EXACT else number
    return None if kind in (None, "null_value") else getattr(value, kind)


def _floats(values: Iterable[float]) -> list[Any]:
    """Return the shortest decimal numbers that denote the same single-precision numbers."""
    exact = np.asarray(list(values), np.float32)
    shortest = exact.astype(str).astype(np.float64).tolist()
    return shortest if np.isfinite(exact).all() else [one if math.isfinite(one) else _named(one) for one in shortest]


def _named(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def is_special(descriptor: Descriptor) -> bool:
    """Return whether a message has a JSON form of its own, such as a time or an ``Any``."""
    return str(descriptor.file.name).startswith("google/protobuf/") and descriptor.name != "Empty"
