"""Evaluations: requests and results as messages and back."""

from typing import Any

from google.protobuf.message import Message

from engine.errors import InvalidInputError
from engine.evaluation import LENGTHS, Evaluation, EvaluationDifference, EvaluationRequest, EvaluationRow, Overlap
from server.convert_training import from_comparisons, to_comparisons
from server.pb.crossview.v1 import collections_pb2 as pb


def to_evaluation_request(message: pb.EvaluateRequest) -> EvaluationRequest:
    """Raises InvalidInputError where one space is named as well as several."""
    if message.space and message.spaces:
        raise InvalidInputError(f"name one space ({message.space}) or several ({', '.join(message.spaces)}), not both")
    return EvaluationRequest(
        view=message.view,
        spaces=tuple(message.spaces) or ((message.space,) if message.space else ()),
        targets=tuple(message.targets),
        k=tuple(message.k) or LENGTHS,
        refit=message.refit,
        test_size=message.test_size if message.HasField("test_size") else EvaluationRequest.test_size,
        seed=message.seed,
        constraints=to_comparisons(message.constraints) if message.HasField("constraints") else None,
    )


def from_evaluation_request(request: EvaluationRequest) -> pb.EvaluateRequest:
    """The message of a request, for any collection."""
    return pb.EvaluateRequest(
        view=request.view,
        spaces=request.spaces,
        targets=request.targets,
        k=request.k,
        refit=request.refit,
        test_size=request.test_size,
        seed=request.seed,
        constraints=None if request.constraints is None else from_comparisons(request.constraints),
    )


def to_evaluation(message: pb.Evaluation) -> Evaluation:
    """The results of an evaluation."""
    return Evaluation(
        rows=tuple(EvaluationRow(**_fields(row)) for row in message.rows),
        queries=message.queries,
        database=message.database,
        protocol=message.protocol,
        codebook=message.codebook,
        seconds=message.seconds,
        differences=tuple(EvaluationDifference(**_fields(one)) for one in message.differences),
        overlaps=tuple(Overlap(**_fields(one)) for one in message.overlaps),
        comparisons=message.comparisons,
    )


def from_evaluation(evaluation: Evaluation) -> pb.Evaluation:
    """The message of the results of an evaluation."""
    return pb.Evaluation(
        rows=(pb.Evaluation.Row(**vars(row)) for row in evaluation.rows),
        queries=evaluation.queries,
        database=evaluation.database,
        protocol=evaluation.protocol,
        codebook=evaluation.codebook,
        seconds=evaluation.seconds,
        differences=(pb.Evaluation.Difference(**vars(one)) for one in evaluation.differences),
        overlaps=(pb.Evaluation.Overlap(**vars(one)) for one in evaluation.overlaps),
        comparisons=evaluation.comparisons,
    )


def _fields(message: Message) -> dict[str, Any]:
    """The fields of a message by name, None for what is left out."""
    return {
        field.name: getattr(message, field.name) if not field.has_presence or message.HasField(field.name) else None
        for field in message.DESCRIPTOR.fields
    }
