"""Counts the entries of an encoded message before it is decoded, because millions can fit into a small message."""

from collections.abc import Mapping
from functools import cache
from typing import Any

_DEEPEST = 100
"""Maximum depth of nested messages that protobuf decodes."""
_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
_MORE = 0x80
"""The bit of a byte of a varint that states that further bytes follow."""
_Fields = Mapping[int, Any]
"""The descriptors of message fields, by field number."""


def entries(data: bytes, descriptor: Any, most: int) -> int:
    """Return the number of values in a message and its nested messages; stop counting above ``most``.

    For invalid bytes it returns a smaller number, because the decoder then reports the error.
    """
    try:
        return _counted(data, descriptor, most)
    except IndexError:  # the message ends inside a value
        return 0


def _counted(data: bytes, descriptor: Any, most: int) -> int:
    position, end, fields, count = 0, len(data), _fields(descriptor), 0
    outer: list[tuple[int, _Fields]] = []
    while count <= most:
        while position >= end:
            if not outer:
                return count
            end, fields = outer.pop()
        count += 1
        tag = data[position]  # nearly all tags and sizes have one byte; reading them inline halves the time
        position += 1
        if tag >= _MORE:
            tag, position = _varint(data, position - 1)
        kind = tag & 7
        if kind == _SIZED:
            size = data[position]
            position += 1
            if size >= _MORE:
                size, position = _varint(data, position - 1)
            inner = fields.get(tag >> 3)
            if inner is None:
                position += size
            elif len(outer) == _DEEPEST:
                return count
            else:
                outer.append((end, fields))
                end, fields = min(end, position + size), _fields(inner)
        elif kind == _VARINT:
            _, position = _varint(data, position)
        elif kind == _EIGHT_BYTES:
            position += 8
        elif kind == _FOUR_BYTES:
            position += 4  # the other kinds start or end a group, whose values the loop counts
    return count


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the varint at a position, and the position after it."""
    number, shift = 0, 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & (_MORE - 1)) << shift
        shift += 7
        if byte < _MORE:
            return number, position


@cache
def _fields(descriptor: Any) -> _Fields:
    return {field.number: field.message_type for field in descriptor.fields if field.message_type is not None}
