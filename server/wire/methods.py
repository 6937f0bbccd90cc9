"""The table of methods: a row states the properties of a method of a service, for all code that depends on them.

A test compares the table with the descriptors of the services.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any

from google.longrunning import operations_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from crossview.server.wire.identity import Scope
from crossview.v1 import collections_pb2, jobs_pb2, questions_pb2, search_pb2


class Touch(Enum):
    """The data that a method may change."""

    NOTHING = "nothing"
    """The method only reads: clients repeat it if the server was unreachable or refused it."""
    ITEMS = "items"
    """Only items and their rows: the process for writes may execute the method."""
    COLLECTION = "collection"
    """A whole collection, its views, its spaces, its answers, or its judgements."""
    JOBS = "jobs"
    """The queue of jobs."""


class Room(Enum):
    """The room whose threads and waiting places a call uses; see ``server.core.dispatch.rooms``."""

    SEARCHES = "searches"
    """Searches with pictures, and searches too large to decode in the event loop, use a separate room."""
    READS = "reads"
    WRITES = "writes"
    LONG = "long"
    FITS = "fits"


class Lane(Enum):
    """The queue of a job: a job waits only for earlier jobs of its lane."""

    LONG = "long"
    QUICK = "quick"
    """Jobs without training have a separate lane, so that they do not wait for trainings."""


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Job:
    """The properties of a method whose requests can be jobs.

    Attributes:
        lane: the lane of the job.
        waits: returns whether a call with this request submits a job and waits for it; None if no call does. A room
            answers the other requests, which become jobs only through SubmitJob.
    """

    lane: Lane = Lane.LONG
    waits: Callable[[Any], bool] | None = _always


@dataclass(frozen=True)
class MessageStream:
    """The properties of a stream that the server answers message by message.

    Attributes:
        method: name of the method that answers each message.
        ahead: maximum number of messages that the server answers at the same time.
    """

    method: str
    ahead: int


@dataclass(frozen=True)
class Method:
    """A row of the table: the properties of a method of a service."""

    descriptor: MethodDescriptor
    touches: Touch
    room: Room
    job: Job | None = None
    each: MessageStream | None = None
    awaited: bool = False
    """Whether the event loop waits for the response, without a thread."""
    needs: Scope | None = None
    """The scope that a key needs [default: the one of ``touches``]."""

    @property
    def name(self) -> str:
        """The name of the method, such as Search."""
        return str(self.descriptor.name)

    @property
    def service(self) -> str:
        """The full name of the service."""
        return str(self.descriptor.containing_service.full_name)

    @cached_property
    def path(self) -> str:
        """The address of the method in gRPC and Connect: /SERVICE/NAME."""
        return f"/{self.service}/{self.name}"

    @property
    def answered_by(self) -> str:
        """The path of the method that answers its messages: for a ``MessageStream`` another one, otherwise its own."""
        return self.path if self.each is None else f"/{self.service}/{self.each.method}"

    @cached_property
    def request(self) -> type[Message]:
        """The class of the requests."""
        return GetMessageClass(self.descriptor.input_type)

    @cached_property
    def response(self) -> type[Message]:
        """The class of the responses."""
        return GetMessageClass(self.descriptor.output_type)

    @property
    def streams(self) -> bool:
        """Whether the caller sends a stream of requests."""
        return bool(self.descriptor.client_streaming)

    @property
    def reads(self) -> bool:
        """Whether the method changes nothing."""
        return self.touches is Touch.NOTHING

    @cached_property
    def in_address(self) -> bool:
        """Whether a GET can have its request in the address: it takes one message and, by the proto, only reads."""
        safe = self.descriptor.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
        return safe and not self.streams and self.each is None

    @property
    def scope(self) -> Scope:
        """The scope that a key needs for the method."""
        return _SCOPES[self.touches] if self.needs is None else self.needs

    @property
    def threaded(self) -> bool:
        """Whether some requests need a thread of the room; the others only wait for a job."""
        return not self.awaited and (self.job is None or self.job.waits is not _always)

    @property
    def repeatable(self) -> bool:
        """Whether clients retry the method automatically: it changes nothing and waits for no job."""
        return self.reads and self.job is None and not self.streams and not self.awaited

    @property
    def makes_space(self) -> bool:
        """Whether the method is a job that stores a generation of a space, with the id of its request."""
        # only a request for a new generation states whether searches use it
        return self.job is not None and "activate" in self.descriptor.input_type.fields_by_name


_Row = Callable[[MethodDescriptor], Method]


def _service(file: Any, **rows: _Row) -> dict[str, Method]:
    """Return the methods of the only service of a file; a row makes a method of its descriptor."""
    (service,) = file.DESCRIPTOR.services_by_name.values()
    methods = (row(service.methods_by_name[name]) for name, row in rows.items())
    return {method.path: method for method in methods}


_SCOPES = {
    Touch.NOTHING: Scope.READ,
    Touch.ITEMS: Scope.WRITE,
    Touch.COLLECTION: Scope.WRITE,
    Touch.JOBS: Scope.READ,  # a key manages only its own jobs, and needs the scope of a job to submit it
}
_search = partial(Method, touches=Touch.NOTHING, room=Room.SEARCHES)
_read = partial(Method, touches=Touch.NOTHING, room=Room.READS)
_items = partial(Method, touches=Touch.ITEMS, room=Room.WRITES)
_write = partial(Method, touches=Touch.COLLECTION, room=Room.WRITES)
_learn = partial(Method, touches=Touch.COLLECTION, room=Room.READS)  # a thread of this room submits the job
_home = partial(_write, needs=Scope.ADMIN)  # changes names of the home
_jobs = partial(Method, touches=Touch.JOBS, room=Room.READS)

METHODS = {
    **_service(
        search_pb2,
        Search=_search,
        StreamSearch=partial(_search, each=MessageStream("Search", 16)),
        Embed=_search,
        SuggestLabels=_search,
        Same=_search,
        FindChanges=partial(Method, touches=Touch.NOTHING, room=Room.LONG),
        FindDuplicates=partial(Method, touches=Touch.NOTHING, room=Room.LONG),
        Explain=partial(Method, touches=Touch.NOTHING, room=Room.LONG),
    ),
    **_service(
        collections_pb2,
        CreateCollection=_home,
        GetCollection=_read,
        ListCollections=_read,
        DeleteCollection=_home,
        RenameCollection=_home,
        CopyCollection=partial(_home, room=Room.LONG),
        SetAlias=_home,
        DeleteAlias=_home,
        ListAliases=_read,
        CheckCollection=_read,
        AddView=_write,
        DeleteView=_write,
        FitViews=partial(_write, room=Room.FITS, job=Job(waits=lambda request: not request.pictures)),
        ImportItems=partial(_items, job=Job(waits=None)),
        StreamImportItems=partial(_items, each=MessageStream("ImportItems", 1)),
        PutVectors=_items,
        UpdateItems=_items,
        DeleteItem=_items,
        DeleteItems=_items,
        FollowFiles=_items,
        GetItem=_read,
        ListItems=_read,
        CountItems=_read,
        ListAttributes=_read,
        ListDeletedItems=_read,
        GetThumbnail=_read,
        GetThumbnails=_read,
        EmbedItems=_read,
        GetAudit=partial(_read, room=Room.LONG),
        ListNeighbors=partial(_read, room=Room.LONG),
        MakeMap=partial(_learn, job=Job()),
        ListMaps=_read,
        DeleteMap=_write,
        ListMapPoints=_read,
        Train=partial(_learn, job=Job()),
        ExtendSpace=partial(_learn, job=Job()),
        AssignLabel=partial(_learn, job=Job(Lane.QUICK)),
        ReindexSpace=partial(_learn, job=Job()),
        Evaluate=partial(_read, job=Job()),
        CalibrateSpace=partial(_write, room=Room.LONG, job=Job(waits=lambda request: request.refit)),
        ActivateSpace=_write,
        DeleteSpace=_write,
        GetSpace=_read,
        ListSpaces=_read,
    ),
    **_service(
        questions_pb2,
        NextQuestion=_read,
        AddAnswer=_write,
        UndoAnswer=_write,
        ListAnswers=_read,
        Judge=_write,
        ListFeedback=_read,
        ListJudgements=_read,
        UndoJudgement=_write,
        DeleteFeedback=_write,
        RememberFeedback=_write,
        ForgetFeedback=_write,
        JudgePair=_write,
        UndoPairJudgement=_write,
        ListPairJudgements=_read,
    ),
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
"""The methods that are jobs, by kind: the name of the field of a SubmitJobRequest."""


def job_of(method: Method, request: Message) -> jobs_pb2.SubmitJobRequest | None:
    """Return the job that a call with this request submits and waits for; None if a room answers the request."""
    if method.job is None or method.job.waits is None or not method.job.waits(request):
        return None
    job = jobs_pb2.SubmitJobRequest()
    kind = next(kind for kind, row in JOBS.items() if row is method)
    getattr(job, kind).CopyFrom(request)
    return job
