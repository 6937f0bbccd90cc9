"""The table of methods: one row states the properties of each method of the services; other code reads them.

A test holds the table complete against the descriptors of the services.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any

from google.longrunning import operations_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from crossview.v1 import collections_pb2, jobs_pb2, questions_pb2, search_pb2, types_pb2


class Touch(Enum):
    """What a method may change."""

    NOTHING = "nothing"
    """It reads. Clients repeat it where the server was gone or refused it."""
    ITEMS = "items"
    """Items and their rows only: the process for writes may carry it out."""
    COLLECTION = "collection"
    """A collection as a whole, its views, its spaces, or its answers."""
    JOBS = "jobs"
    """The queue of jobs."""


class Room(Enum):
    """Whose threads and waiting places a call takes; see ``server.dispatch.rooms``."""

    SEARCHES = "searches"
    """Searches with pictures, and those too large to be decoded before, have a room beside it."""
    READS = "reads"
    WRITES = "writes"
    LONG = "long"
    FITS = "fits"


class Lane(Enum):
    """Which jobs a job waits behind."""

    LONG = "long"
    QUICK = "quick"
    """Jobs that learn nothing have a lane of their own, so that they do not wait behind trainings."""


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Job:
    """How a method is a job.

    Attributes:
        lane: the lane of the job.
        waits: whether a call with this request submits the job and waits for it; None if no call does. Other requests
            are answered in a room, and become jobs only if a caller submits them.
    """

    lane: Lane = Lane.LONG
    waits: Callable[[Any], bool] | None = _always


@dataclass(frozen=True)
class Each:
    """How a stream is answered message by message.

    Attributes:
        method: the method that answers each message.
        ahead: the messages that are answered at the same time.
    """

    method: str
    ahead: int


@dataclass(frozen=True)
class Method:
    """What a method of a service is."""

    descriptor: MethodDescriptor
    touches: Touch
    room: Room
    job: Job | None = None
    each: Each | None = None
    awaited: bool = False
    """Whether the event loop waits until the response is there, without a thread."""

    @property
    def name(self) -> str:
        """Its name, such as Search."""
        return str(self.descriptor.name)

    @property
    def service(self) -> str:
        """The full name of its service."""
        return str(self.descriptor.containing_service.full_name)

    @cached_property
    def path(self) -> str:
        """Its address in gRPC and Connect: /SERVICE/NAME."""
        return f"/{self.service}/{self.name}"

    @property
    def answered_by(self) -> str:
        """The path of the method that answers each message of it: another one for a stream, else itself."""
        return self.path if self.each is None else f"/{self.service}/{self.each.method}"

    @cached_property
    def request(self) -> type[Message]:
        """The class of its requests."""
        return GetMessageClass(self.descriptor.input_type)

    @cached_property
    def response(self) -> type[Message]:
        """The class of its responses."""
        return GetMessageClass(self.descriptor.output_type)

    @property
    def streams(self) -> bool:
        """Whether its caller sends a stream of requests."""
        return bool(self.descriptor.client_streaming)

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.touches is Touch.NOTHING

    @property
    def threaded(self) -> bool:
        """Whether some requests need a thread of its room; others only wait for a job."""
        return not self.awaited and (self.job is None or self.job.waits is not _always)

    @property
    def repeatable(self) -> bool:
        """Whether clients repeat it by themselves: it changes nothing, and waits for nothing."""
        return self.reads and self.job is None and not self.streams and not self.awaited

    @property
    def makes_space(self) -> bool:
        """Whether it is a job that leaves a space with the id of its request in the collection."""
        return self.job is not None and self.descriptor.output_type is types_pb2.Space.DESCRIPTOR


_Row = Callable[[MethodDescriptor], Method]


def _service(file: Any, **rows: _Row) -> dict[str, Method]:
    """Return the methods of the only service of a file; a row makes a method of its descriptor."""
    (service,) = file.DESCRIPTOR.services_by_name.values()
    methods = (row(service.methods_by_name[name]) for name, row in rows.items())
    return {method.path: method for method in methods}


_search = partial(Method, touches=Touch.NOTHING, room=Room.SEARCHES)
_read = partial(Method, touches=Touch.NOTHING, room=Room.READS)
_items = partial(Method, touches=Touch.ITEMS, room=Room.WRITES)
_write = partial(Method, touches=Touch.COLLECTION, room=Room.WRITES)
_learn = partial(Method, touches=Touch.COLLECTION, room=Room.READS)  # where a thread submits the job
_jobs = partial(Method, touches=Touch.JOBS, room=Room.READS)

METHODS = {
    **_service(
        search_pb2,
        Search=_search,
        StreamSearch=partial(_search, each=Each("Search", 16)),
        Embed=_search,
        SuggestLabels=_search,
        Same=_search,
        FindChanges=partial(Method, touches=Touch.NOTHING, room=Room.LONG),
    ),
    **_service(
        collections_pb2,
        CreateCollection=_write,
        GetCollection=_read,
        ListCollections=_read,
        DeleteCollection=_write,
        CheckCollection=_read,
        AddView=_write,
        DeleteView=_write,
        FitViews=partial(_write, room=Room.FITS, job=Job(waits=lambda request: not request.pictures)),
        ImportItems=partial(_items, job=Job(waits=None)),
        StreamImportItems=partial(_items, each=Each("ImportItems", 1)),
        PutVectors=_items,
        UpdateItems=_items,
        DeleteItem=_items,
        DeleteItems=_items,
        GetItem=_read,
        ListItems=_read,
        CountItems=_read,
        ListAttributes=_read,
        ListDeletedItems=_read,
        GetThumbnail=_read,
        EmbedItems=_read,
        Train=partial(_learn, job=Job()),
        ExtendSpace=partial(_learn, job=Job()),
        AssignLabel=partial(_learn, job=Job(Lane.QUICK)),
        Evaluate=partial(_read, job=Job()),
        CalibrateSpace=partial(_write, room=Room.LONG, job=Job(waits=lambda request: request.refit)),
        ActivateSpace=_write,
        DeleteSpace=_write,
        GetSpace=_read,
        ListSpaces=_read,
    ),
    **_service(questions_pb2, NextQuestion=_read, AddAnswer=_write, UndoAnswer=_write, ListAnswers=_read),
    **_service(jobs_pb2, SubmitJob=_jobs),
    **_service(
        operations_pb2,
        GetOperation=_read,
        ListOperations=_read,
        WaitOperation=partial(_read, awaited=True),
        CancelOperation=_jobs,
        DeleteOperation=_jobs,
    ),
}
"""Every method, by its path."""

SERVICES = tuple(dict.fromkeys(method.service for method in METHODS.values()))
"""The full names of the services."""
_BY_REQUEST: dict[Any, Method] = {
    method.descriptor.input_type: method
    for method in METHODS.values()
    if method.each is None and method.job is not None
}
JOBS = {
    field.name: _BY_REQUEST[field.message_type]
    for field in jobs_pb2.SubmitJobRequest.DESCRIPTOR.oneofs_by_name["request"].fields
}
"""The methods that are jobs, by the kind of the job: the field of a SubmitJobRequest."""


def job_of(method: Method, request: Message) -> jobs_pb2.SubmitJobRequest | None:
    """Return the job that the caller of a method waits for with this request; None if the server answers at once."""
    if method.job is None or method.job.waits is None or not method.job.waits(request):
        return None
    job = jobs_pb2.SubmitJobRequest()
    kind = next(kind for kind, known in JOBS.items() if known is method)
    getattr(job, kind).CopyFrom(request)
    return job
