"""Searches by uploaded pictures: forms of ``multipart/form-data``, in memory and within limits."""

from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.dispatch.call import DECODED_AT_ONCE
from crossview.server.edge.http.calls import Calls
from crossview.server.edge.http.codecs import JSON
from crossview.server.edge.http.exchange import ClientLeftError, Exchange
from crossview.server.wire.json_reading import message_from
from crossview.server.wire.json_text import parsed
from crossview.server.wire.methods import METHODS, Method
from crossview.v1 import search_pb2

UPLOAD_PATH = "/v1/collections/{collection}:search"
_SEARCH = METHODS["/crossview.v1.SearchService/Search"]
_MOST_PARTS, _MOST_HEADERS, _HEADER_BYTES = 256, 8, 1024
"""Maximum number of parts of a form, and of headers of a part and their bytes."""
_FIELD_BYTES = 1 << 20
"""Maximum size of a part that is not a file."""
_SHORT = {"where": ("filter", "where"), "target": ("targets",)}
"""Fields of the form with shorter names than the fields of a request."""


@dataclass
class _Part:
    name: str = ""
    is_file: bool = False
    data: bytearray = field(default_factory=bytearray)


@dataclass
class Form:
    """The parts of a form, and the collection of its address."""

    collection: str
    pictures: list[bytes]
    fields: list[tuple[str, str]]
    size: int


class FormReader:
    """Reads the parts of a form from the pieces of a body; raises InvalidInputError."""

    def __init__(self, content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise InvalidInputError(
                f"the content type is {content_type[:80]!r}; send a form as multipart/form-data with a boundary, as "
                "curl -F image=@FILE does"
            )
        self.parts: list[_Part] = []
        self._header = self._value = b""
        self._field_bytes = 0
        callbacks: Any = {
            "on_part_begin": self._begin,
            "on_part_data": self._add,
            "on_header_field": self._add_name,
            "on_header_value": self._add_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_end": self._end,
        }
        self._ended = False
        limits = {"max_header_count": _MOST_HEADERS, "max_header_size": _HEADER_BYTES}
        try:
            self._parser = MultipartParser(boundary, callbacks, **limits)
        except FormParserError as error:
            raise InvalidInputError(f"the boundary of the form is wrong: {error}") from error

    def write(self, piece: bytes) -> None:
        """Read the next bytes."""
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise InvalidInputError(f"the form is not multipart/form-data: {str(error)[:200]}") from error

    def form(self, collection: str, size: int) -> Form:
        """Return the form after the last byte."""
        if not self._ended:
            raise InvalidInputError("the form ends before its last boundary")
        pictures = [bytes(part.data) for part in self.parts if part.is_file]
        fields = [(part.name, _text(part)) for part in self.parts if not part.is_file]
        return Form(collection, pictures, fields, size)

    def _begin(self) -> None:
        if len(self.parts) == _MOST_PARTS:
            raise InvalidInputError(f"the form has more than {_MOST_PARTS} parts: send fewer at a time")
        self.parts.append(_Part())

    def _add_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            part = self.parts[-1]
            part.name = options.get(b"name", b"").decode("utf-8", "replace")
            part.is_file = b"filename" in options
        self._header = self._value = b""

    def _end_headers(self) -> None:
        part = self.parts[-1]
        if part.is_file and part.name != "image":
            raise InvalidInputError(f"the file field {part.name[:50]!r} is unknown; send pictures as image")
        if not part.name:
            raise InvalidInputError("a part of the form has no name")

    def _add(self, data: bytes, start: int, end: int) -> None:
        part = self.parts[-1]
        if not part.is_file:
            self._field_bytes += end - start
            if self._field_bytes > _FIELD_BYTES:
                raise InvalidInputError(f"the fields other than pictures have more than {_FIELD_BYTES:,} bytes")
        part.data += data[start:end]

    def _end(self) -> None:
        self._ended = True


def _text(part: _Part) -> str:
    try:
        return part.data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the field {part.name[:50]!r} is not UTF-8; send pictures as files") from error


class FormCodec:
    """The encoding of a search as a form; the response is JSON."""

    def size(self, data: Form | bytes) -> int:
        """See ``Codec``."""
        return data.size if isinstance(data, Form) else len(data)

    def weight(self, data: Form | bytes) -> int:
        """See ``Codec``: pictures, once more in a process that reads them."""
        return 2 * self.size(data)

    def quick(self, data: Form) -> bool:
        """See ``Codec``."""
        return data.size <= DECODED_AT_ONCE and JSON.quick("".join(text for _, text in data.fields).encode())

    def decode(self, data: Form, method: Method, most: int) -> Message:
        """Return the search: the field ``request`` as JSON, changed by the other fields, with a query per picture."""
        fields = dict(data.fields)
        base = parsed(fields.pop("request", "{}").encode(), most)
        if not isinstance(base, dict):
            raise InvalidInputError("the field 'request' must be a JSON object with the fields of a SearchRequest")
        view = fields.pop("view", "")
        for name, text in data.fields:
            if name not in ("request", "view"):
                _set(base, name, text, most)
        request = message_from(base, search_pb2.SearchRequest)
        request.parent = f"collections/{data.collection}"
        for picture in data.pictures:
            request.queries.add(view=view, image=picture)
        return request

    def encode(self, message: Message) -> bytes:
        """See ``Codec``."""
        return JSON.encode(message)


def _set(base: dict[str, Any], name: str, text: str, most: int) -> None:
    """Set a field of a request from the text of a field of a form; repeated fields collect their texts."""
    first, *inner = _SHORT.get(name, (name,))
    described = search_pb2.SearchRequest.DESCRIPTOR
    descriptor = described.fields_by_camelcase_name.get(first) or described.fields_by_name.get(first)
    collects = descriptor is not None and descriptor.type == descriptor.TYPE_STRING and descriptor.is_repeated
    if inner or collects:
        held = _held(base, first, dict if inner else list)
        held.update({inner[0]: text}) if inner else held.append(text)
    elif descriptor is None or descriptor.type in (descriptor.TYPE_STRING, descriptor.TYPE_ENUM):
        base[first] = text  # an unknown name is an error of the message
    else:
        base[first] = parsed(text.encode(), most)


def _held(base: dict[str, Any], name: str, kind: type) -> Any:
    """Return the object or array that a request has as a field, an empty one if it has none."""
    if base.get(name) is None:
        base[name] = kind()
    if not isinstance(base[name], kind):
        raise InvalidInputError(
            f"the field {name!r} of 'request' must be {'an object' if kind is dict else 'an array'}"
        )
    return base[name]


class Uploads:
    """Answers searches by uploaded pictures, of at most ``message_bytes``."""

    def __init__(self, calls: Calls, message_bytes: int) -> None:
        self._calls, self._most = calls, message_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, as an application of ASGI."""
        collection = str(scope["path_params"]["collection"])
        exchange = Exchange(scope, receive, send, self._calls.dispatcher.budget)

        async def read() -> Form:
            reader, size = FormReader(exchange.headers.get("content-type", "")), 0
            async with exchange.body.in_time():
                async for piece in exchange.body.limited(self._most, exchange.headers.get("content-encoding", "")):
                    reader.write(piece)
                    size += len(piece)
            exchange.body.release()  # the dispatcher counts the request from now on
            return reader.form(collection, size)

        try:
            async with exchange.cancelled_with_client():
                await self._calls.answer(_SEARCH, exchange, FormCodec(), read)
        except ClientLeftError:
            return
