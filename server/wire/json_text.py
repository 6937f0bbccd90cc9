"""JSON texts of requests, whose values are counted before they take memory."""

import json
import re
from typing import Any

from crossview.engine.values.errors import InvalidInputError

_DEEPEST = 100
"""Maximum depth of nested objects and arrays, as in protobuf's binary encoding."""
_NUMBERS_PER_ENTRY = 16
"""Numbers of an array that count as one entry, because they take little memory."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NEXT_NUMBER = re.compile(rb",\s*+(?=[-0-9])")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def parsed(data: bytes, most: int) -> Any:
    """Return the value of a JSON text; raise InvalidInputError if it is invalid, or has too many or too deep values."""
    _check_size(data, most)
    try:
        return json.loads(data.decode(), parse_constant=_no_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the request is not JSON in UTF-8: {str(error)[:200]}") from error


def _check_size(data: bytes, most: int) -> None:
    """Raise InvalidInputError if the values of a text would take too much memory, without making one of them."""
    levels = data.count(b"{") + data.count(b"[")
    if levels <= _DEEPEST and levels + data.count(b",") <= most:
        return  # strings can only make these counts larger
    many = InvalidInputError(
        f"the request has more than {most:,} entries, such as items, labels, attributes and rows: send fewer at a time"
    )
    if data.count(b'"') > 4 * most:
        raise many
    bare = _STRING.sub(b"", data)
    numbers = len(_NEXT_NUMBER.findall(bare))
    entries = bare.count(b",") + bare.count(b"{") + bare.count(b"[") - numbers + numbers // _NUMBERS_PER_ENTRY
    if entries > most:
        raise many
    depth = 0
    for bracket in bare.translate(None, _NOT_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > _DEEPEST:
            raise InvalidInputError(f"the request has more than {_DEEPEST} levels of nested objects and arrays")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a name twice")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f'{name} is not a number of JSON; write "{name}"')
