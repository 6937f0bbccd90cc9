"""Requests in the address of a GET, as the protocol Connect defines them, for methods without side effects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from crossview.engine.values.errors import InvalidInputError
from crossview.server.core.dispatch.call import PROTOBUF, Codec
from crossview.server.edge.http.body import EncodingError
from crossview.server.edge.http.codecs import JSON
from crossview.server.edge.http.exchange import LongAddressError
from crossview.server.wire.errors import PermissionDeniedError
from crossview.server.wire.json_reading import bytes_of_base64

ADDRESS_BYTES = 8000
"""Maximum size of an address: programs between a client and a server pass at least so much."""
NEVER_STORED = (("cache-control", "private, no-store"), ("vary", "authorization"))
"""The headers of each response to a GET: it depends on the caller's key, and on a state that changes at any time."""
_CODECS: dict[str, Codec] = {"json": JSON, "proto": PROTOBUF}
_NAMES = ("connect", "encoding", "message", "base64", "compression")


@dataclass(frozen=True)
class Address:
    """The request in an address: the encoding and bytes of its message, compressed by gzip or not."""

    codec: Codec
    message: bytes
    compressed: bool


def read_address(scope: Mapping[str, Any]) -> Address:
    """Return the request in an address, by the scope of ASGI; InvalidInputError, LongAddressError or EncodingError."""
    query = bytes(scope["query_string"])
    if len(scope["path"]) + len(query) > ADDRESS_BYTES:
        raise LongAddressError(f"the address has more than {ADDRESS_BYTES:,} bytes: send the request by POST")
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="latin-1", max_num_fields=64)
    except ValueError as error:
        raise InvalidInputError("the address has more than 64 parameters") from error
    values = {name: value for name, value in pairs if name in _NAMES}
    if len(values) < sum(name in _NAMES for name, _ in pairs):
        raise InvalidInputError("a parameter of the address occurs twice")
    for name in ("encoding", "message"):
        if name not in values:
            raise InvalidInputError(f"the address needs the parameter {name!r}, as in ?encoding=json&message=%7B%7D")
    for name, allowed in {"connect": ("v1",), "base64": ("0", "1")}.items():
        if values.get(name, allowed[0]) not in allowed:
            raise InvalidInputError(f"the parameter {name} is {values[name][:20]!r}; it must be {' or '.join(allowed)}")
    for name, known in {"encoding": [*_CODECS], "compression": ["gzip", "identity"]}.items():
        if values.get(name, known[0]) not in known:
            raise EncodingError(f"the parameter {name} is {values[name][:20]!r}; it must be {' or '.join(known)}")
    return Address(_CODECS[values["encoding"]], _message(values), values.get("compression") == "gzip")


def _message(values: Mapping[str, str]) -> bytes:
    if values.get("base64") != "1":
        return values["message"].encode("latin-1")
    try:
        return bytes_of_base64(values["message"])
    except ValueError as error:
        raise InvalidInputError(f"the parameter message: {error}") from error


def check_site(headers: Mapping[str, str], origins: tuple[str, ...]) -> None:
    """Raise PermissionDeniedError for a request that a browser makes for a page of a site that is not an origin.

    Before a POST with JSON, browsers ask the server whether it permits the site; before a GET, they do not.
    """
    foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if foreign and "*" not in origins and headers.get("origin") not in origins:
        raise PermissionDeniedError("the request comes from a page of another site; name its origin by --http-origin")
