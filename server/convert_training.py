"""Messages as the engine's words and back: what is asked of a training."""

from collections.abc import Iterable

import numpy as np

from engine.comparisons import ItemComparisons
from engine.errors import InvalidInputError
from engine.learners.comparisons import KINDS, Comparisons
from engine.recipe import FOLDS, MEASURES, Pair, Tune
from server.pb.crossview.v1 import collections_pb2 as pb
from server.structs import from_struct, to_struct


def to_pairs(messages: Iterable[pb.Pair]) -> tuple[Pair, ...]:
    """Pairs of similar items."""
    return tuple(Pair(message.first, message.second, message.line) for message in messages)


def from_pairs(pairs: Iterable[Pair]) -> list[pb.Pair]:
    """The messages of pairs of similar items."""
    return [pb.Pair(first=pair.first, second=pair.second, line=pair.line) for pair in pairs]


def to_tune(message: pb.Tune) -> Tune:
    """How settings are to be chosen; a single value counts as a list of one."""
    values = {
        name: tuple(value) if isinstance(value, list) else (value,)
        for name, value in from_struct(message.values).items()
    }
    return Tune(values, message.measure or MEASURES[0], message.folds or FOLDS)


def from_tune(tune: Tune) -> pb.Tune:
    """The message of how settings are to be chosen."""
    return pb.Tune(values=to_struct(tune.values), measure=tune.measure, folds=tune.folds)


def to_comparisons(message: pb.Comparisons) -> ItemComparisons:
    """Comparisons of items; raises InvalidInputError where the columns disagree."""
    if message.size not in KINDS or len(message.items) % message.size:
        raise InvalidInputError(f"constraints are of 2, 3 or 4 items: {len(message.items)} are none of {message.size}")
    said = Comparisons(
        np.array(message.items, np.int64).reshape(-1, message.size),
        np.array(message.similar, bool) if message.size == 2 else None,
        np.array(message.weights) if message.weights else None,
        np.array(message.margins) if message.margins else None,
    )
    return ItemComparisons(tuple(message.keys), said, np.array(message.lines, np.int64) if message.lines else None)


def from_comparisons(given: ItemComparisons) -> pb.Comparisons:
    """The message of comparisons of items."""
    columns = {"similar": given.said.similar, "weights": given.said.weights, "margins": given.said.margins}
    return pb.Comparisons(
        keys=given.keys,
        size=given.said.items.shape[1],
        items=given.said.items.ravel().tolist(),
        lines=None if given.lines is None else given.lines.tolist(),
        **{name: None if column is None else column.tolist() for name, column in columns.items()},
    )
