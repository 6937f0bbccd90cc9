"""How many entries an encoded message has, counted before it is decoded: millions of them fit into a small message."""

from collections.abc import Mapping
from functools import cache
from typing import Any

_DEEPEST = 100
"""Messages inside each other that protobuf decodes."""
_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
_MORE = 0x80
"""Set in a byte of a number that others follow."""
_Fields = Mapping[int, Any]
"""The descriptors of the messages that fields hold, by number; None for other values."""


def entries(data: bytes, descriptor: Any, most: int) -> int:
    """Return the number of values of a message and the messages in it, or more than ``most`` as soon as it has more.

    Of bytes that are no message it returns what comes before the mistake, which the decoder reports.
    """
    try:
        return _counted(data, descriptor, most)
    except IndexError:  # it ends within a value
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
        tag = data[position]  # nearly all tags and sizes have one byte, and are read here, which takes half the time
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
            position += 4  # what is left begins or ends a group, whose values are counted as they come
    return count


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position behind it."""
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
