"""Conversion of requests for explanations, and of explanations, to messages and back."""

from collections.abc import Iterable

from crossview.engine.values.explanation import (
    AgreeingPart,
    Agreement,
    Contribution,
    ExplainRequest,
    Explanation,
    Place,
)
from crossview.server.wire.convert_search import from_search_request, to_search_request
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import search_pb2 as pb


def to_explain_request(message: pb.ExplainRequest) -> ExplainRequest:
    """Return the request; raise the errors of ``to_search_request`` and of ``ExplainRequest``."""
    return to_value(
        ExplainRequest,
        message,
        search=to_search_request(message.search),
        hits=message.hits if message.HasField("hits") else ExplainRequest.hits,
        parts=message.parts if message.HasField("parts") else ExplainRequest.parts,
    )


def from_explain_request(request: ExplainRequest) -> pb.ExplainRequest:
    """Return the message without its collection; raise InvalidInputError if a query has a wrong number of inputs."""
    return to_message(pb.ExplainRequest, request, search=from_search_request(request.search))


def to_explanations(message: pb.ExplainResponse) -> list[Explanation]:
    """Return the explanations, list by list."""
    return [
        to_value(
            Explanation,
            one,
            contributions=tuple(map(_to_contribution, one.contributions)),
            agreements=tuple(map(_to_agreement, one.agreements)),
        )
        for one in message.explanations
    ]


def from_explanations(explanations: Iterable[Explanation]) -> pb.ExplainResponse:
    """Return the message of explanations."""
    return pb.ExplainResponse(
        explanations=(
            to_message(
                pb.Explanation,
                one,
                contributions=[to_message(pb.Contribution, part) for part in one.contributions],
                agreements=map(_from_agreement, one.agreements),
            )
            for one in explanations
        )
    )


def _to_contribution(message: pb.Contribution) -> Contribution:
    known = message.bits > 0 and message.HasField("distance")
    return to_value(Contribution, message, differing_bits=tuple(message.differing_bits) if known else None)


def _to_agreement(message: pb.Agreement) -> Agreement:
    return to_value(Agreement, message, parts=tuple(map(_to_part, message.parts)))


def _to_part(message: pb.AgreeingPart) -> AgreeingPart:
    query, item = (
        tuple(to_value(Place, one) for one in places) for places in (message.query_places, message.item_places)
    )
    return to_value(AgreeingPart, message, query_places=query, item_places=item)


def _from_agreement(agreement: Agreement) -> pb.Agreement:
    return to_message(pb.Agreement, agreement, parts=map(_from_part, agreement.parts))


def _from_part(part: AgreeingPart) -> pb.AgreeingPart:
    query, item = ([to_message(pb.Place, one) for one in places] for places in (part.query_places, part.item_places))
    return to_message(pb.AgreeingPart, part, query_places=query, item_places=item)
