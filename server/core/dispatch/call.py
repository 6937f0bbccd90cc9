"""A call: its caller, the way in which the server answers it, and its state."""

import re
import time
import uuid
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from crossview.engine.runtime.cancellation import cancellable, checkpoint
from crossview.engine.values.errors import CancelledError, InvalidInputError
from crossview.features.stages import Recording, listening, stage
from crossview.server.core.dispatch.origin import Origin, Trace, caused_by
from crossview.server.core.dispatch.permission import hide, named_collections, permit
from crossview.server.core.dispatch.streams import STOPPED
from crossview.server.wire.entries import entries
from crossview.server.wire.errors import ServerStoppedError
from crossview.server.wire.identity import LOCAL, Identity, acting
from crossview.server.wire.methods import Method, Room
from crossview.server.wire.pieces import encoded
from crossview.server.wire.status import Code
from crossview.v1 import jobs_pb2, search_pb2

DECODED_AT_ONCE = 1 << 16
"""Maximum bytes of a request that the event loop decodes, because a thread would take longer to start."""
ID_HEADER = "x-request-id"
"""The header with which a caller names a call."""
_OF_A_WRITE = 2
"""How many processes hold a writing request: this one, and that for writes."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Codec(Protocol):
    """The encoding of messages by a transport."""

    def size(self, data: Any) -> int:
        """Return the bytes of an encoded message."""

    def weight(self, data: Any) -> int:
        """Return the bytes that a message takes in memory until it is answered: encoded, decoded and as values."""

    def quick(self, data: Any) -> bool:
        """Return whether decoding takes so little time that the event loop can do it."""

    def decode(self, data: Any, method: Method, most: int) -> Message:
        """Return a request; raise InvalidInputError if it cannot be decoded, or has more than ``most`` entries."""

    def encode(self, message: Message) -> Any:
        """Return an encoded response."""


class Protobuf:
    """The binary encoding of protobuf."""

    def size(self, data: bytes) -> int:
        """See ``Codec``."""
        return len(data)

    def weight(self, data: bytes) -> int:
        """See ``Codec``."""
        return 3 * len(data)

    def quick(self, data: bytes) -> bool:
        """See ``Codec``."""
        return len(data) <= DECODED_AT_ONCE

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
        return encoded(message)


PROTOBUF = Protobuf()


@dataclass(frozen=True)
class Caller:
    """The caller of a method, as a transport knows it.

    Attributes:
        codec: the encoding of the messages.
        seconds: time until the deadline; None without a deadline, or if the transport cancels calls at the deadline.
        metadata: returns the headers of the call, with names in lower case.
        identity: the caller; the check of keys (``server.core.keys.access``) enters it before the request is read.
    """

    codec: Codec = PROTOBUF
    seconds: float | None = None
    metadata: Callable[[], Iterable[tuple[str, str | bytes]]] = tuple
    identity: Identity = LOCAL


@dataclass(frozen=True)
class Together:
    """The functions that answer similar waiting requests as one."""

    alike: Callable[[Any], Hashable | None]
    """Returns the key that requests answered as one must share; None for a request to answer alone."""
    answers: Callable[[list[Any]], Sequence[Message]]
    """Returns the responses to several requests with the same key."""
    most: int
    """Maximum number of requests that are answered as one."""


@dataclass(frozen=True)
class Immediate:
    """The functions that answer requests in the event loop, without a thread."""

    suits: Callable[[Any], bool]
    """Returns whether a request may need no thread."""
    answers: Callable[[list[Any]], Sequence[Message] | None]
    """Returns the responses to a request, or to several that can be answered as one; None if they need a thread."""


@dataclass(frozen=True)
class Served:
    """A method with the functions that answer it.

    ``answer`` takes a request, or an iterator over the requests of a stream, and a context, which is None.
    """

    method: Method
    answer: Callable[[Any, Any], Message] | None
    """None if ``awaited`` answers all requests."""
    immediate: Immediate | None = None
    """Answers requests in the event loop; None if all need a thread."""
    together: Together | None = None
    """Answers several similar requests as one."""
    by_model: Callable[[Any], bool] | None = None
    """Returns whether a model may run on texts of a request, which is then answered in a room of its own, alone."""
    awaited: Callable[[Any], Awaitable[Message | None]] | None = None
    """Waits for the response to a request in the event loop, without a thread; returns None for others. A stream
uses it only if it consists of one message."""


@dataclass(eq=False)
class Call:
    """One call, or one message of a stream that is answered message by message."""

    served: Served
    caller: Caller
    stopping: Callable[[], bool]
    entries: int
    """Maximum number of entries of the request."""
    wrap: Callable[[Message], Message] | None = None
    """Wraps the response in the message to send; None: send the response itself."""
    left: bool = False
    """Whether the caller has cancelled the call or its deadline has passed."""
    collection: str = field(default="-", init=False)
    """Name of the collection; "-" before the request is decoded, and for requests without a collection."""
    items: int = field(default=0, init=False)
    """Number of items, keys or other entries that the request changes or names."""
    received: int = field(default=0, init=False)
    sent: int = field(default=0, init=False)
    code: Code = field(default=Code.OK, init=False)
    """The status of the ended call."""
    error: str = field(default="", init=False)
    """Name of the error of a failed call."""
    request: Message | None = field(default=None, init=False)
    """The decoded request; None before it is decoded, and for a stream that one response answers."""
    began: float = field(default_factory=time.monotonic, init=False)
    waited: float = field(default=0.0, init=False)
    """Time in seconds in which the call waited for a thread."""
    worked: float = field(default=0.0, init=False)
    """Time in seconds in which a thread or the event loop worked on the response."""
    encoding: float = field(default=0.0, init=False)
    """Time in seconds in which the response was encoded."""
    hits: int = field(default=0, init=False)
    """Number of hits of the response to a search."""
    together: int = field(default=0, init=False)
    """Number of calls that one search answered, at the first of them; 0 at the others, and for other calls."""
    recording: Recording | None = field(default=None, init=False)
    """The stages of the call; None unless a record around it sets one to fill."""
    _since: float = field(default=0.0, init=False)
    """Time at which the call began to wait or to work."""

    @property
    def method(self) -> Method:
        """The called method."""
        return self.served.method

    @cached_property
    def id(self) -> str:
        """The id of the call in logs: that of its header, if it is short and plain, otherwise a random one."""
        header = next((value for name, value in self.caller.metadata() if name == ID_HEADER), "")
        if isinstance(header, str) and _ID.fullmatch(header):
            return header
        return uuid.uuid4().hex[:16]

    @cached_property
    def trace(self) -> Trace:
        """The place of the call in a trace: that of its headers, or that which a record around the call sets."""
        return Trace.of(self.caller.metadata())

    def origin(self) -> Origin:
        """Return the origin of work that the call causes."""
        return Origin(self.id, self.trace)

    def take(self, data: Any) -> int:
        """Add the size of a received, encoded message to ``received``; return the bytes that it takes in memory."""
        self.received += self.caller.codec.size(data)
        return self.caller.codec.weight(data) * (_OF_A_WRITE if self.method.room is Room.WRITES else 1)

    def decoded(self, data: Any) -> Message:
        """Return the decoded request; raise the errors of ``Codec.decode`` and of ``permit``."""
        began = time.monotonic()
        request = self.caller.codec.decode(data, self.served.method, self.entries)
        self.note("decode the request", began)
        if self.collection == "-":
            self.collection = _collection(request)
        self.items += _items(request)
        if self.caller.identity is not LOCAL:
            permit(self.caller.identity, self.served.method, request)
        if self.method.each is not None or not self.method.streams:
            self.request = request
        return request

    def encode(self, response: Message) -> Any:
        """Return the encoded response without what the caller may not see, wrapped if the call has ``wrap``."""
        began = time.monotonic()
        if self.caller.identity is not LOCAL:
            hide(self.caller.identity, response)
        if isinstance(response, search_pb2.SearchResponse):
            self.hits = sum(len(result.hits) for result in response.results)
        sent = self.caller.codec.encode(response if self.wrap is None else self.wrap(response))
        self.encoding += time.monotonic() - began
        self.note("encode the response", began)
        return sent

    def note(self, name: str, began: float) -> None:
        """Record a stage that ends now, by the monotonic clock, if the call has a recording."""
        if self.recording is not None:
            self.recording.add(name, began)

    @property
    def job(self) -> str | None:
        """The kind of the job that the call submits, such as ``train``."""
        request = self.request
        return request.WhichOneof("request") if isinstance(request, jobs_pb2.SubmitJobRequest) else None

    def wait(self) -> None:
        """Begin to wait for a thread."""
        self._since = time.monotonic()

    def work(self) -> None:
        """End the wait and begin to work."""
        now = time.monotonic()
        self.waited += now - self._since
        self.note("wait for a thread", self._since)
        self._since = now

    def rest(self) -> None:
        """End the work."""
        self.worked += time.monotonic() - self._since

    def stages(self) -> tuple[float, float, float, float]:
        """Return the seconds of waiting, of work, of encoding, and of the whole call."""
        return self.waited, self.worked, self.encoding, time.monotonic() - self.began

    def immediate(self, request: Message) -> Message | None:
        """Return the response to a request from the event loop; None if the request needs a thread."""
        if self.served.immediate is None or self.stopping():
            return None
        self.wait()
        before = 0 if self.recording is None else len(self.recording.stages)
        with listening(self.recording), stage("work"):
            responses = self.served.immediate.answers([request])
        if responses is not None:
            self.rest()
        elif self.recording is not None:
            del self.recording.stages[before:]  # a thread begins again
        return None if responses is None else responses[0]

    def alike(self, request: Message) -> Hashable | None:
        """Return the key that calls share if one search may answer them; None for a call to answer alone."""
        together = self.served.together
        key = None if together is None else together.alike(request)
        return None if key is None else (key, self.caller.identity.paths)

    def answered(self, request: Any) -> Message:
        """Return the response to a request, decoded or ``Encoded``, or to an iterator over requests, in a thread.

        The work ends at its next checkpoint after the caller has left.
        """
        self.work()
        try:
            with (
                listening(self.recording),
                stage("work"),
                cancellable(self.check),
                acting(self.caller.identity),
                caused_by(self.origin),
            ):
                checkpoint()
                if self.served.answer is None:
                    raise NotImplementedError(f"{self.method.name} is answered in the event loop")
                return self.served.answer(request.decoded() if isinstance(request, Encoded) else request, None)
        finally:
            self.rest()

    def check(self) -> None:
        """Raise an error if the caller has left or the server stops."""
        if self.stopping():
            raise ServerStoppedError(STOPPED)
        if self.left:
            raise CancelledError("the call was cancelled by its caller, or ran out of time")


@dataclass(frozen=True)
class Encoded:
    """A request that is too large to decode in the event loop."""

    call: Call
    data: Any

    def decoded(self) -> Message:
        """Return the request; raise the errors of ``Codec.decode``."""
        return self.call.decoded(self.data)


def _collection(request: Message) -> str:
    """Return the first collection that a request names, or "-". Only a valid name counts: it cannot break a line."""
    return next((name for name in named_collections(request) if _COLLECTION.fullmatch(name)), "-")


_COUNTED = ("items", "updates", "keys", "moved", "pictures", "judgements")
"""The repeated fields of requests with what they change."""


def _items(request: Message) -> int:
    """Return the number of entries that a request, or that of a job, changes or names."""
    if isinstance(request, jobs_pb2.SubmitJobRequest) and (kind := request.WhichOneof("request")):
        request = getattr(request, kind)
    field = _counted(request.DESCRIPTOR)
    return 0 if field is None else len(getattr(request, field))


@cache
def _counted(descriptor: Descriptor) -> str | None:
    """Return the field of a request with what it changes; None without one."""
    return next((name for name in _COUNTED if name in descriptor.fields_by_name), None)
