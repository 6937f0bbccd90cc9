"""The encoding of messages as JSON."""

from typing import Any

from google.protobuf.message import Message

from crossview.server.core.dispatch.call import DECODED_AT_ONCE
from crossview.server.wire.fields import text_of
from crossview.server.wire.json_reading import from_json
from crossview.server.wire.json_writing import to_json
from crossview.server.wire.methods import Method
from crossview.server.wire.remedies import for_programs

JSON_BYTES = 1 << 24
"""Maximum size of a request in JSON: Python parses it in one step, during which the event loop waits."""
_VALUE_BYTES, _OBJECT_BYTES = 40, 250
"""Bytes of a number in a list of Python, with its place, and of a small object or list."""
_FEW = 256
"""Maximum number of objects in a request that the event loop decodes, because objects take most of the time."""


class Json:
    """Protobuf's JSON mapping."""

    def size(self, data: bytes) -> int:
        """See ``Codec``."""
        return len(data)

    def weight(self, data: bytes) -> int:
        """See ``Codec``; characters beyond ASCII can take four bytes each."""
        objects = data.count(b"{") + data.count(b"[")
        return (4 if data.isascii() else 10) * len(data) + _VALUE_BYTES * data.count(b",") + _OBJECT_BYTES * objects

    def quick(self, data: bytes) -> bool:
        """See ``Codec``."""
        return len(data) <= DECODED_AT_ONCE and data.count(b"{") <= _FEW

    def decode(self, data: bytes, method: Method, most: int) -> Message:
        """See ``Codec``."""
        return from_json(data, method.request, most)

    def encode(self, message: Message) -> bytes:
        """See ``Codec``."""
        return to_json(_with_notes_for_programs(message))


def _with_notes_for_programs(response: Any) -> Any:
    """Return the message of a response, or a copy whose notes have names of methods and fields as remedies."""
    if not (getattr(response, "notes", ()) and getattr(response, "remedies", ())):
        return response
    reworded = type(response)()
    reworded.CopyFrom(response)
    reworded.notes[:] = [for_programs(text_of(note, response.remedies)) for note in response.notes]
    return reworded


JSON = Json()
