"""Conversion of requests for duplicates, groups, and judgements on pairs to messages and back."""

from crossview.engine.values.duplicate import (
    DuplicateGroup,
    DuplicatePicture,
    Duplicates,
    DuplicatesRequest,
    PairJudgement,
)
from crossview.server.wire.convert import from_filter, to_filter
from crossview.server.wire.convert_info import from_time, to_time
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import duplicates_pb2 as pb


def to_duplicates_request(message: pb.FindDuplicatesRequest) -> DuplicatesRequest:
    """Return the request of a message."""
    return to_value(DuplicatesRequest, message, filter=to_filter(message.filter))


def from_duplicates_request(request: DuplicatesRequest) -> pb.FindDuplicatesRequest:
    """Return the message of a request, without its collection."""
    return to_message(pb.FindDuplicatesRequest, request, filter=from_filter(request.filter))


def to_group(message: pb.DuplicateGroup) -> DuplicateGroup:
    """Return the group of a message."""
    return to_value(
        DuplicateGroup,
        message,
        keeper=to_value(DuplicatePicture, message.keeper),
        members=tuple(to_value(DuplicatePicture, one) for one in message.members),
    )


def from_group(group: DuplicateGroup) -> pb.DuplicateGroup:
    """Return the message of a group."""
    keeper, members = (
        to_message(pb.DuplicatePicture, group.keeper),
        [to_message(pb.DuplicatePicture, one) for one in group.members],
    )
    return to_message(pb.DuplicateGroup, group, keeper=keeper, members=members)


def from_duplicates(found: Duplicates, first: int, size: int) -> pb.FindDuplicatesResponse:
    """Return the message of up to ``size`` groups from a place on, without the token of the next page."""
    groups = list(map(from_group, found.groups[first : first + size]))
    return to_message(pb.FindDuplicatesResponse, found, groups=groups)


def to_duplicates(pages: list[pb.FindDuplicatesResponse]) -> Duplicates:
    """Return the duplicates of all pages."""
    groups = tuple(to_group(one) for page in pages for one in page.groups)
    return to_value(Duplicates, pages[0], groups=groups)


def to_pair_judgement(message: pb.PairJudgement) -> PairJudgement:
    """Return the judgement of a message."""
    created = to_time(message.create_time) if message.HasField("create_time") else ""
    return to_value(PairJudgement, message, created=created)


def from_pair_judgement(judgement: PairJudgement) -> pb.PairJudgement:
    """Return the message of a judgement."""
    created = from_time(judgement.created) if judgement.created else None
    return to_message(pb.PairJudgement, judgement, create_time=created)
