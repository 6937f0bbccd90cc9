"""Messages from JSON by protobuf's mapping, with readers that are compiled once for each type of message.

The messages are those of ``google.protobuf.json_format``, as a test compares. Base64 and numbers are checked more
strictly, and an error states the path to the wrong value.
"""

import binascii
import difflib
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import numpy as np
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import NULL_VALUE

from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.json_text import parsed
from crossview.server.wire.json_writing import LIST, STRUCT, VALUE, is_map, is_special

_NULL = "google.protobuf.NullValue"
_VALUE = "google.protobuf.Value"
_WHOLE, _NUMBER = re.compile(r"-?[0-9]{1,20}"), re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,400})?([eE][-+]?[0-9]{1,4})?")
_NAMED_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_FLOAT_MAX = math.nextafter(2.0**128 - 2.0**103, 0.0)
"""The largest number that rounds to one of single precision: the largest of these is written as 3.4028235e+38, which is
above it."""
_TYPES = FieldDescriptor
_Read = Callable[[Any], Any]
"""Converts a parsed JSON value to a value of protobuf; raises WrongValueError."""
_Set = Callable[[Any, Any], None]
"""Sets a field of a message from a JSON value."""
_Message = TypeVar("_Message", bound=Message)


class WrongValueError(ValueError):
    """A JSON value that its field cannot have, with the path to the value, the last part first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.path: list[str] = []

    def __str__(self) -> str:
        where = "".join(part if part.startswith("[") else f".{part}" for part in reversed(self.path)).removeprefix(".")
        return f"{where}: {self.args[0]}" if where else str(self.args[0])


def from_json(data: bytes, kind: type[_Message], most: int) -> _Message:
    """Return the message of a JSON text.

    Raises InvalidInputError for text that is not JSON, has more than ``most`` entries or more than 100 levels, and for
    a value that the message cannot have, with the path to the value.
    """
    return message_from(parsed(data, most), kind)


def message_from(value: Any, kind: type[_Message]) -> _Message:
    """Return the message of a parsed JSON value; raise InvalidInputError for a wrong value."""
    message = kind()
    try:
        _fill(message, value)
    except WrongValueError as error:
        raise InvalidInputError(f"the JSON of {kind.DESCRIPTOR.name} is wrong: {error}") from error
    return message


def _fill(message: Message, value: Any) -> None:
    """Set the fields of a message from a JSON object."""
    if not isinstance(value, dict):
        raise WrongValueError(f"{_shown(value)} must be an object with the fields of {message.DESCRIPTOR.name}")
    readers, choices = _readers(message.DESCRIPTOR), set()
    for name, content in value.items():
        try:
            if name not in readers:
                raise WrongValueError(_unknown(name, message.DESCRIPTOR))
            choice, read, has_null = readers[name]
            if content is None and not has_null:
                continue
            if choice in choices:
                raise WrongValueError("another field of the same choice, or the same field, is also given")
            choices.add(choice)
            read(message, content)
        except WrongValueError as error:
            error.path.append(name[:100])
            raise
        except (ValueError, TypeError, OverflowError) as error:  # protobuf refuses the value
            wrong = WrongValueError(f"{_shown(content)} cannot be a value of this field ({error})")
            wrong.path.append(name)
            raise wrong from error


def _unknown(name: str, descriptor: Any) -> str:
    names = [field.json_name for field in descriptor.fields]
    near = difflib.get_close_matches(name[:100], names, 1)
    return f"{descriptor.name} has no such field; " + (f"is it {near[0]}?" if near else f"its fields: {names}")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = repr(value[:50] if isinstance(value, str) else value)
    return text[:60]


@cache
def _readers(descriptor: Descriptor) -> Mapping[str, tuple[str, _Set, bool]]:
    """Return by the names of each field its choice (the oneof, or itself), what sets it, and whether it can be null."""
    readers = {}
    for field in descriptor.fields:
        choice = field.name if field.containing_oneof is None else f"oneof {field.containing_oneof.name}"
        kind = field.message_type or field.enum_type
        has_null = kind is not None and kind.full_name in (_NULL, _VALUE) and not field.is_repeated
        readers[field.name] = readers[field.json_name] = choice, _setter(field), has_null
    return readers


def _setter(field: FieldDescriptor) -> _Set:
    name = field.name
    if is_map(field):
        return _map_setter(field)
    if field.is_repeated:
        return _list_setter(field)
    if field.message_type is not None:
        fill = _filler(field.message_type)

        def set_message(message: Any, value: Any) -> None:
            inner = getattr(message, name)
            inner.SetInParent()  # an empty object also sets the field
            fill(inner, value)

        return set_message
    if field.enum_type is not None and field.enum_type.full_name == _NULL:
        return _set_null
    read = _reader(field)
    return lambda message, value: setattr(message, name, read(value))


def _set_null(message: Any, value: Any) -> None:
    """Set the field ``null`` of a value of a condition."""
    if value not in (None, "NULL_VALUE", 0):
        raise WrongValueError(f"{_shown(value)} must be null")
    for field in message.DESCRIPTOR.fields:
        if field.enum_type is not None and field.enum_type.full_name == _NULL:
            setattr(message, field.name, NULL_VALUE)


def _list_setter(field: FieldDescriptor) -> _Set:
    name, fill = field.name, None if field.message_type is None else _filler(field.message_type)
    read = _reader(field) if fill is None else None
    most = {_TYPES.TYPE_FLOAT: _FLOAT_MAX, _TYPES.TYPE_DOUBLE: float(np.finfo(np.float64).max)}.get(field.type)

    def set_list(message: Any, values: Any) -> None:
        if not isinstance(values, list):
            raise WrongValueError(f"{_shown(values)} must be an array")
        target = getattr(message, name)
        if most is not None and set(map(type, values)) <= {float, int}:  # at the speed of C
            if values and not -most <= min(values) <= max(values) <= most:
                raise WrongValueError("a number of the array is too large")
            target.extend(values)
            return
        for number, value in enumerate(values):
            try:
                if fill is None:
                    target.append(read(value) if read else value)
                else:
                    fill(target.add(), value)
            except WrongValueError as error:
                error.path.append(f"[{number}]")
                raise

    return set_list


def _map_setter(field: Any) -> _Set:
    name, (key, value) = field.name, field.message_type.fields
    fill = None if value.message_type is None else _filler(value.message_type)
    read_key, read = _key_reader(key), None if fill else _reader(value)

    def set_map(message: Any, values: Any) -> None:
        if not isinstance(values, dict):
            raise WrongValueError(f"{_shown(values)} must be an object")
        target = getattr(message, name)
        for text, content in values.items():
            try:
                if fill is not None:
                    fill(target[read_key(text)], content)
                elif read is not None:
                    target[read_key(text)] = read(content)
            except WrongValueError as error:
                error.path.append(f"[{text[:50]!r}]")
                raise

    return set_map


def _filler(descriptor: Descriptor) -> Callable[[Any, Any], None]:
    if descriptor.full_name == VALUE:
        return _fill_value
    if descriptor.full_name == STRUCT:
        return _fill_struct
    if descriptor.full_name == LIST:
        return _fill_values
    return _fill_special if is_special(descriptor) else _fill


def _fill_special(message: Message, value: Any) -> None:
    """Fill a message with a JSON form of its own, such as a time."""
    try:
        json_format.ParseDict(value, message)
    except (json_format.ParseError, AttributeError, RecursionError) as error:
        raise WrongValueError(f"{_shown(value)} is not a {message.DESCRIPTOR.name} ({str(error)[:200]})") from error


def _fill_struct(struct: Any, value: Any) -> None:
    if not isinstance(value, dict):
        raise WrongValueError(f"{_shown(value)} must be an object")
    for name, content in value.items():
        _fill_value(struct.fields[name], content)


def _fill_values(values: Any, value: Any) -> None:
    if not isinstance(value, list):
        raise WrongValueError(f"{_shown(value)} must be an array")
    for content in value:
        _fill_value(values.values.add(), content)


def _fill_value(message: Any, value: Any) -> None:
    if isinstance(value, dict):
        message.struct_value.SetInParent()
        _fill_struct(message.struct_value, value)
    elif isinstance(value, list):
        message.list_value.SetInParent()
        _fill_values(message.list_value, value)
    elif value is None:
        message.null_value = NULL_VALUE
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, str):
        message.string_value = value
    else:
        message.number_value = _double(value)


def _reader(field: FieldDescriptor) -> _Read:
    """Return the reader of a single value that is not a message."""
    if field.enum_type is not None:
        return _enum_reader(field.enum_type)
    return {
        _TYPES.TYPE_BYTES: bytes_of_base64,
        _TYPES.TYPE_STRING: _string,
        _TYPES.TYPE_BOOL: _boolean,
        _TYPES.TYPE_DOUBLE: _double,
        _TYPES.TYPE_FLOAT: _float,
    }.get(field.type, _integer)


def _key_reader(field: FieldDescriptor) -> _Read:
    if field.type == _TYPES.TYPE_BOOL:
        return lambda key: _boolean({"true": True, "false": False}.get(key, key))
    return _reader(field)


def _enum_reader(enum: Any) -> _Read:
    numbers = {name: value.number for name, value in enum.values_by_name.items()}

    def read(value: Any) -> int:
        if isinstance(value, str) and value in numbers:
            return int(numbers[value])
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise WrongValueError(f"{_shown(value)} must be one of {', '.join(numbers)}")

    return read


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValueError(f"{_shown(value)} must be a string")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise WrongValueError("the string has half of a surrogate pair")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongValueError(f"{_shown(value)} must be true or false")
    return value


def bytes_of_base64(value: Any) -> bytes:
    """Return the bytes of a string in base64, of either alphabet, padded or not; raise WrongValueError."""
    if not isinstance(value, str):
        raise WrongValueError(f"{_shown(value)} must be a string in base64")
    bare = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return binascii.a2b_base64(bare + "=" * (-len(bare) % 4), strict_mode=True)
    except ValueError as error:
        raise WrongValueError(f"the string is not base64 ({error})") from error


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise WrongValueError(f"{_shown(value)} must be a whole number")


def _double(value: Any) -> float:
    if isinstance(value, str):
        if value in _NAMED_NUMBERS:
            return _NAMED_NUMBERS[value]
        if not _NUMBER.fullmatch(value):
            raise WrongValueError(f"{_shown(value)} must be a number")
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongValueError(f"{_shown(value)} must be a number")
    number = float(value)
    if not math.isfinite(number):
        raise WrongValueError("the number is too large")
    return number


def _float(value: Any) -> float:
    number = _double(value)
    if math.isfinite(number) and abs(number) > _FLOAT_MAX:
        raise WrongValueError(f"{_shown(value)} is too large for a number of single precision")
    return number
