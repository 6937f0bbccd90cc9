"""Encoding of large answers in pieces: protobuf holds the interpreter while it encodes, so a long one stops all calls.

A repeated field may be encoded in several parts, one after another: the parts make the same message.
"""

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from crossview.v1 import search_pb2

AT_ONCE = 500
"""Maximum number of hits that are encoded at once, in about a millisecond."""
_RESULTS = search_pb2.SearchResponse.DESCRIPTOR.fields_by_name["results"]
_HITS = search_pb2.HitList.DESCRIPTOR.fields_by_name["hits"]
_RESPONSE = search_pb2.StreamSearchResponse.DESCRIPTOR.fields_by_name["response"]


def encoded(message: Message) -> bytes:
    """Return an encoded message; other threads run between the pieces of a large answer to a search."""
    if isinstance(message, search_pb2.StreamSearchResponse) and message.HasField("response"):
        body = encoded(message.response)
        return _head(_RESPONSE.number, len(body)) + body
    if isinstance(message, search_pb2.SearchResponse) and (
        sum(len(result.hits) + 1 for result in message.results) > AT_ONCE
    ):
        return b"".join(_pieces(message))
    return message.SerializeToString()


def _pieces(response: search_pb2.SearchResponse) -> Iterator[bytes]:
    """Yield the parts of an encoded response: small lists of hits together, a large one hit by hit."""
    part, size = search_pb2.SearchResponse(), 0
    for result in response.results:
        count = len(result.hits) + 1
        if size and size + count > AT_ONCE:
            yield part.SerializeToString()
            part, size = search_pb2.SearchResponse(), 0
        if count <= AT_ONCE:
            part.results.append(result)
            size += count
            continue
        body = [_without(result, _HITS).SerializeToString()]
        for first in range(0, count, AT_ONCE):
            body.append(search_pb2.HitList(hits=result.hits[first : first + AT_ONCE]).SerializeToString())
        yield _head(_RESULTS.number, sum(map(len, body)))
        yield from body
    yield part.SerializeToString()
    yield _without(response, _RESULTS).SerializeToString()


def _without(message: Message, left_out: Any) -> Message:
    """Return a copy of a message without a field."""
    copy = type(message)()
    for field, value in message.ListFields():
        if field.number == left_out.number:
            continue
        if isinstance(value, Message) or field.is_repeated:
            getattr(copy, field.name).MergeFrom(value)
        else:
            setattr(copy, field.name, value)
    return copy


def _head(number: int, size: int) -> bytes:
    """Return the tag of a field that holds a message, and the message's size."""
    return _varint(number << 3 | 2) + _varint(size)


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)
