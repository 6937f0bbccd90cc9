"""Conversion of evaluation requests and evaluations to messages and back."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.evaluation import (
    Confused,
    Confusion,
    Curve,
    Evaluation,
    EvaluationDifference,
    EvaluationRequest,
    EvaluationRow,
    Overlap,
    PerQuery,
    QueryExample,
)
from crossview.server.wire.convert import from_filter, to_filter
from crossview.server.wire.convert_training import (
    from_comparisons,
    from_grouping,
    from_taxonomy,
    to_comparisons,
    to_grouping,
    to_taxonomy,
)
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import collections_pb2 as pb


def to_evaluation_request(message: pb.EvaluateRequest) -> EvaluationRequest:
    """Return the request of a message; raise InvalidInputError if it sets both ``space`` and ``spaces``."""
    if message.space and message.spaces:
        raise InvalidInputError(f"set either space ({message.space}) or spaces ({', '.join(message.spaces)}), not both")
    return to_value(
        EvaluationRequest,
        message,
        spaces=tuple(message.spaces) or ((message.space,) if message.space else ()),
        test_size=message.test_size if message.HasField("test_size") else EvaluationRequest.test_size,
        splits=message.splits or EvaluationRequest.splits,
        max_queries=message.max_queries if message.HasField("max_queries") else EvaluationRequest.max_queries,
        group_by=to_grouping(message.group_by) if message.HasField("group_by") else None,
        constraints=to_comparisons(message.constraints) if message.HasField("constraints") else None,
        taxonomy=to_taxonomy(message.taxonomy) if message.HasField("taxonomy") else None,
        pairs=to_comparisons(message.pairs) if message.HasField("pairs") else None,
        where=to_filter(message.where),
    )


def from_evaluation_request(request: EvaluationRequest) -> pb.EvaluateRequest:
    """Return the message of a request, without its collection."""
    constraints = None if request.constraints is None else from_comparisons(request.constraints)
    pairs = None if request.pairs is None else from_comparisons(request.pairs)
    return to_message(
        pb.EvaluateRequest,
        request,
        constraints=constraints,
        pairs=pairs,
        group_by=from_grouping(request.group_by),
        taxonomy=from_taxonomy(request.taxonomy),
        where=from_filter(request.where),
    )


def to_evaluation(message: pb.Evaluation) -> Evaluation:
    """Return the results of an evaluation."""
    return to_value(
        Evaluation,
        message,
        rows=tuple(to_value(EvaluationRow, row) for row in message.rows),
        differences=tuple(to_value(EvaluationDifference, one) for one in message.differences),
        overlaps=tuple(to_value(Overlap, one) for one in message.overlaps),
        per_query=tuple(map(_to_per_query, message.per_query)),
        curves=tuple(to_value(Curve, one) for one in message.curves),
        confusions=tuple(map(_to_confusion, message.confusions)),
        examples=tuple(to_value(QueryExample, one) for one in message.examples),
    )


def from_evaluation(evaluation: Evaluation) -> pb.Evaluation:
    """Return the message of the results of an evaluation."""
    return to_message(
        pb.Evaluation,
        evaluation,
        rows=[to_message(pb.Evaluation.Row, row) for row in evaluation.rows],
        differences=[to_message(pb.Evaluation.Difference, one) for one in evaluation.differences],
        overlaps=[to_message(pb.Evaluation.Overlap, one) for one in evaluation.overlaps],
        per_query=map(_from_per_query, evaluation.per_query),
        curves=[to_message(pb.Evaluation.Curve, one) for one in evaluation.curves],
        confusions=map(_from_confusion, evaluation.confusions),
        examples=[to_message(pb.Evaluation.Example, one) for one in evaluation.examples],
    )


def _to_confusion(message: pb.Evaluation.Confusion) -> Confusion:
    return to_value(Confusion, message, entries=tuple(to_value(Confused, one) for one in message.entries))


def _from_confusion(one: Confusion) -> pb.Evaluation.Confusion:
    entries = [to_message(pb.Evaluation.Confusion.Entry, entry) for entry in one.entries]
    return to_message(pb.Evaluation.Confusion, one, entries=entries)


def _to_per_query(message: pb.Evaluation.PerQuery) -> PerQuery:
    return to_value(
        PerQuery,
        message,
        figures={one.name: np.array(one.values, np.float64) for one in message.figures},
        hits=_to_places(message.hits),
        relevant=_to_places(message.relevant),
    )


def _from_per_query(one: PerQuery) -> pb.Evaluation.PerQuery:
    return to_message(
        pb.Evaluation.PerQuery,
        one,
        figures=[pb.Evaluation.PerQuery.Figure(name=name, values=values) for name, values in one.figures.items()],
        hits=_from_places(one.hits),
        relevant=_from_places(one.relevant),
    )


def _to_places(messages: Iterable[pb.Evaluation.PerQuery.Places]) -> tuple[NDArray[np.int32], ...]:
    return tuple(np.array(one.places, np.int32) for one in messages)


def _from_places(places: Iterable[NDArray[np.int32]]) -> Iterable[pb.Evaluation.PerQuery.Places]:
    return (pb.Evaluation.PerQuery.Places(places=one) for one in places)
