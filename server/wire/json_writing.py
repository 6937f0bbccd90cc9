"""Messages as JSON by protobuf's mapping.

``google.protobuf.json_format`` writes them, except vectors: it formats each of their numbers by several calls.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

STRUCT, VALUE, LIST = (f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))
"""The names of the messages that stand for any JSON."""
_SMALL = 1 << 16
"""Maximum bytes of a message whose text ``json`` writes at once."""
_AT_ONCE, _LEVELS = 500, 5
"""Maximum number of elements of a list that ``json`` writes at once, and number of levels with such lists."""


def to_json(message: Message) -> bytes:
    """Return a message as JSON text in UTF-8: names in camelCase, without the fields that have their defaults."""
    if not _vector_fields(message.DESCRIPTOR):
        value = json_format.MessageToDict(message)
    else:
        bare = type(message)()
        bare.CopyFrom(message)
        vectors = list(_taken(bare))
        value = json_format.MessageToDict(bare)
        _put(value, bare, iter(vectors))
    return (_dumped(value) if message.ByteSize() <= _SMALL else _text(value, _LEVELS)).encode()


def _text(value: Any, levels: int) -> str:
    """Return JSON; other threads run between the pieces of a long list, because ``json`` holds the interpreter."""
    if levels and isinstance(value, dict):
        return "{" + ",".join(f"{_dumped(name)}:{_text(content, levels - 1)}" for name, content in value.items()) + "}"
    if levels and isinstance(value, list) and len(value) > _AT_ONCE:
        pieces = (_dumped(value[at : at + _AT_ONCE])[1:-1] for at in range(0, len(value), _AT_ONCE))
        return "[" + ",".join(pieces) + "]"
    if levels and isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + ",".join(_text(content, levels - 1) for content in value) + "]"
    return _dumped(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@cache
def _vector_fields(descriptor: Descriptor, above: tuple[Descriptor, ...] = ()) -> Sequence[FieldDescriptor]:
    """Return the fields of a message that are vectors, or messages with vectors inside; conditions contain others."""
    return [
        field
        for field in ([] if descriptor in above else descriptor.fields)
        if (field.is_repeated and field.type == FieldDescriptor.TYPE_FLOAT)
        or (field.message_type and not is_map(field) and _vector_fields(field.message_type, (*above, descriptor)))
    ]


def _taken(message: Any) -> Iterator[list[Any]]:
    """Yield the vectors inside a message, and remove them from it."""
    for field in _vector_fields(message.DESCRIPTOR):
        if field.message_type is None:
            yield _floats(getattr(message, field.name))
            message.ClearField(field.name)
        for inside in _messages(message, field):
            yield from _taken(inside)


def _put(value: dict[str, Any], message: Any, vectors: Iterator[list[Any]]) -> None:
    """Put the vectors of ``_taken`` into the JSON object of their message."""
    for field in _vector_fields(message.DESCRIPTOR):
        if field.message_type is None and (vector := next(vectors)):
            value[field.json_name] = vector
        objects = value.get(field.json_name) if field.is_repeated else [value.get(field.json_name)]
        for inside, json_object in zip(_messages(message, field), objects or (), strict=False):
            _put(json_object, inside, vectors)


def _messages(message: Any, field: FieldDescriptor) -> Any:
    """Return the messages in a field, which may be absent."""
    if field.message_type is None:
        return ()
    if field.is_repeated:
        return getattr(message, field.name)
    return [getattr(message, field.name)] if message.HasField(field.name) else []


def _floats(values: Iterable[float]) -> list[Any]:
    """Return the shortest decimal numbers that denote the same single-precision numbers."""
    exact = np.asarray(list(values), np.float32)
    shortest = exact.astype(str).astype(np.float64).tolist()
    finite = np.isfinite(exact).all()
    return shortest if finite else [number if math.isfinite(number) else _named(number) for number in shortest]


def _named(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def is_special(descriptor: Descriptor) -> bool:
    """Return whether a message has a JSON form of its own, such as a time or an ``Any``."""
    return str(descriptor.file.name).startswith("google/protobuf/") and descriptor.name != "Empty"
