"""Conversion of requests for changes and of the found changes to messages and back."""

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from crossview.engine.values.changes import Change, Changes, ChangesRequest, LearnedImportance, PairLabel
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import changes_pb2 as pb


def to_changes_request(message: pb.FindChangesRequest) -> ChangesRequest:
    """Return the request of a message."""
    return to_value(
        ChangesRequest,
        message,
        **({} if message.form else {"form": ChangesRequest.form}),
        labels=tuple(to_value(PairLabel, label) for label in message.labels),
        extreme=message.extreme if message.HasField("extreme") else ChangesRequest.extreme,
        structure=message.structure if message.HasField("structure") else ChangesRequest.structure,
        learned=to_value(LearnedImportance, message.learned) if message.HasField("learned") else None,
    )


def from_changes_request(request: ChangesRequest) -> pb.FindChangesRequest:
    """Return the message of a request, without its collection."""
    labels = [to_message(pb.PairLabel, label) for label in request.labels]
    learned = None if request.learned is None else to_message(pb.LearnedImportance, request.learned)
    return to_message(pb.FindChangesRequest, request, labels=labels, learned=learned)


def to_changes(message: pb.FindChangesResponse) -> Changes:
    """Return the changes of a message."""
    return to_value(
        Changes,
        message,
        first=_to_time(message.first),
        last=_to_time(message.last),
        learned=to_value(LearnedImportance, message.learned),
        changes=tuple(to_value(Change, one, time=_to_time(one.time)) for one in message.changes),
    )


def from_changes(found: Changes) -> pb.FindChangesResponse:
    """Return the message of changes."""
    return to_message(
        pb.FindChangesResponse,
        found,
        first=_from_time(found.first),
        last=_from_time(found.last),
        learned=to_message(pb.LearnedImportance, found.learned),
        changes=[to_message(pb.Change, one, time=_from_time(one.time)) for one in found.changes],
    )


def _to_time(message: Timestamp) -> datetime:
    return message.ToDatetime(UTC)


def _from_time(time: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(time)
    return message
