"""Messages as the engine's words and back: what is asked of a training."""

from collections.abc import Iterable

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
