"""A call: what the transport knows of its caller, how the server answers it, and how far it is."""

import re
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.protobuf.message import DecodeError, Message

from crossview.engine.errors import CancelledError, InvalidInputError
from crossview.engine.runtime.cancellation import cancellable, checkpoint
from crossview.server.dispatch.streams import STOPPED
from crossview.server.errors import ServerStoppedError
from crossview.server.methods import Method
from crossview.server.wire.entries import entries
from crossview.server.wire.status import Code

DECODED_AT_ONCE = 1 << 16
"""Largest request in bytes that the event loop decodes: it takes less time than handing it to a thread."""
_COLLECTION = re.compile(r"(?:collections/)?([a-z0-9][a-z0-9_-]{0,62})(?:/.*)?", re.DOTALL)


class Codec(Protocol):
    """How a transport encodes messages."""

    def size(self, data: Any) -> int:
        """Return the bytes of an encoded message."""

    def decode(self, data: Any, method: Method, most: int) -> Message:
        """Return a request; raise InvalidInputError if it cannot be decoded, or has more than ``most`` entries."""

    def encode(self, message: Message) -> Any:
        """Return a response as the transport sends it."""


class Protobuf:
    """The binary encoding of protobuf."""

    def size(self, data: bytes) -> int:
        """See ``Codec``."""
        return len(data)

    def decode(self, data: bytes, method: Method, most: int) -> Message:
        """See ``Codec``."""
        if len(data) > DECODED_AT_ONCE and entries(data, method.descriptor.input_type, most) > most:
            raise InvalidInputError(
                f"the request of {method.name} has more than {most:,} entries, such as items, labels, attributes and "
                "rows: send fewer at a time"
            )
        try:
            return method.request.FromString(data)
        except DecodeError as error:
            raise InvalidInputError(
                f"the request of {method.name} cannot be decoded: text must be UTF-8, and the message as the .proto "
                "files of this version define it"
            ) from error

    def encode(self, message: Message) -> bytes:
        """See ``Codec``."""
        return message.SerializeToString()


PROTOBUF = Protobuf()


@dataclass(frozen=True)
class Caller:
    """What a transport knows of the caller of a method.

    Attributes:
        codec: the encoding of its messages.
        seconds: its deadline, from now; None if it has none, or if the transport itself cancels calls at the deadline.
        metadata: returns the headers of the call, with names in lower case.
    """

    codec: Codec = PROTOBUF
    seconds: float | None = None
    metadata: Callable[[], Iterable[tuple[str, str | bytes]]] = tuple


@dataclass(frozen=True)
class Together:
    """How requests that wait at the same time are answered as one."""

    alike: Callable[[Any], Hashable | None]
    """Gives what requests must have in common; None for one that is answered alone."""
    answers: Callable[[list[Any]], Sequence[Message]]
    """Gives the response to each of some requests that are alike."""
    most: int
    """Requests that are answered as one."""


@dataclass(frozen=True)
class Served:
    """How a server answers a method.

    ``answer`` takes a request (or an iterator over those of a stream of requests) and a context, which is None.
    """

    method: Method
    answer: Callable[[Any, Any], Message] | None
    """None if all requests are awaited."""
    at_hand: Callable[[Any], Message | None] | None = None
    """Gives the response to some requests at once, in the event loop, and None to others."""
    together: Together | None = None
    """Answers several requests as one where they are alike."""
    awaited: Callable[[Any], Awaitable[Message | None]] | None = None
    """Waits for the response to some requests in the event loop, and gives None to others; a single one of a stream."""


@dataclass(eq=False)
class Call:
    """One call, or one message of a stream that is answered message by message."""

    served: Served
    caller: Caller
    stopping: Callable[[], bool]
    entries: int
    """That a request may have."""
    wrap: Callable[[Message], Message] | None = None
    """Makes of the response what is sent; None: the response itself is sent."""
    left: bool = False
    """Whether the caller has left, or ran out of time."""
    collection: str = field(default="-", init=False)
    """The collection of the request; "-" before it is decoded, and for requests without one."""
    received: int = field(default=0, init=False)
    sent: int = field(default=0, init=False)
    code: Code = field(default=Code.OK, init=False)
    """How the call ended."""
    began: float = field(default_factory=time.monotonic, init=False)

    @property
    def method(self) -> Method:
        """The method that is called."""
        return self.served.method

    def take(self, data: Any) -> int:
        """Count the bytes of an encoded message that has come, and return them."""
        size = self.caller.codec.size(data)
        self.received += size
        return size

    def decoded(self, data: Any) -> Message:
        """Return a request; raise what ``Codec.decode`` raises."""
        request = self.caller.codec.decode(data, self.served.method, self.entries)
        if self.collection == "-":
            self.collection = _collection(request)
        return request

    def encode(self, response: Message) -> Any:
        """Return a response as it is sent."""
        return self.caller.codec.encode(response if self.wrap is None else self.wrap(response))

    def at_hand(self, request: Any) -> Message | None:
        """Return the response to a decoded request that needs no thread; None for any other."""
        if self.served.at_hand is None or not isinstance(request, Message) or self.stopping():
            return None
        return self.served.at_hand(request)

    def answered(self, request: Any) -> Message:
        """Return the response to a request, encoded or not, or to an iterator over requests, in a thread.

        Its work ends at a checkpoint once nobody wants it.
        """
        with cancellable(self.check):
            checkpoint()
            if self.served.answer is None:
                raise NotImplementedError(f"{self.method.name} is answered in the event loop")
            return self.served.answer(request.decoded() if isinstance(request, Encoded) else request, None)

    def check(self) -> None:
        """Raise an error if nobody wants the response, or the server stops."""
        if self.stopping():
            raise ServerStoppedError(STOPPED)
        if self.left:
            raise CancelledError("the call was cancelled by its caller, or ran out of time")


@dataclass(frozen=True)
class Encoded:
    """A request that is too large to be decoded in the event loop."""

    call: Call
    data: Any

    def decoded(self) -> Message:
        """Return the request; raise what ``Codec.decode`` raises."""
        return self.call.decoded(self.data)


def _collection(request: Message) -> str:
    """Return the collection that a request names, else "-". Only a valid name is kept: it cannot break a log line."""
    for name in ("parent", "name", "collection_id"):
        if match := _COLLECTION.fullmatch(getattr(request, name, "")):
            return match[1]
    return "-"
