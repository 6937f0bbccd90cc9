"""Messages as the engine's words and back: what an evaluation measured."""

from engine.info import Evaluation, EvaluationDifference, EvaluationRow, Overlap
from server.pb.crossview.v1 import collections_pb2 as pb


def to_evaluation(message: pb.Evaluation) -> Evaluation:
    """What an evaluation measured."""
    return Evaluation(
        rows=tuple(map(_to_row, message.rows)),
        queries=message.queries,
        database=message.database,
        protocol=message.protocol,
        codebook=message.codebook,
        seconds=message.seconds,
        differences=tuple(map(_to_difference, message.differences)),
        overlaps=tuple(Overlap(one.space, one.trained_items, one.learned_from) for one in message.overlaps),
        comparisons=message.comparisons,
    )


def from_evaluation(evaluation: Evaluation) -> pb.Evaluation:
    """The message of what an evaluation measured."""
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


def _to_row(message: pb.Evaluation.Row) -> EvaluationRow:
    return EvaluationRow(
        query_view=message.query_view,
        database_view=message.database_view,
        metric=message.metric,
        k=message.k if message.HasField("k") else None,
        value=message.value,
        space=message.space,
        standard_error=message.standard_error if message.HasField("standard_error") else None,
    )


def _to_difference(message: pb.Evaluation.Difference) -> EvaluationDifference:
    return EvaluationDifference(
        space=message.space,
        baseline=message.baseline,
        query_view=message.query_view,
        database_view=message.database_view,
        metric=message.metric,
        k=message.k if message.HasField("k") else None,
        value=message.value,
        standard_error=message.standard_error if message.HasField("standard_error") else None,
    )
