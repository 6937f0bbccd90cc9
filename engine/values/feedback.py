"""Feedback: judgements of items in searches, kept under a name, so that later searches go on from them."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crossview.engine.values.comparisons import PLAIN_NAME
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import one_or_several

MOST_JUDGED = 1_000
"""Maximum number of items that one feedback has judgements of: a search compares every item with each of them."""
Judged = Sequence[str] | Mapping[str, float]
"""Keys of items, or the weight above 0 of each; a text is one key."""


def check_feedback(name: str) -> str:
    """Return the name of feedback; InvalidInputError if it is not valid."""
    if not PLAIN_NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name feedback: use 1 to 40 letters, digits, '_', '-' and '.', such as cats"
        )
    return name


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A person's judgement of an item in a search: an example of what the person looks for, or a counter-example."""

    key: str
    """Key of the item."""
    weight: float
    """How much the judgement counts; below 0 for a counter-example."""
    person: str
    id: int = 0
    """Number of the judgement, larger than those of earlier judgements."""
    created: str = ""
    """Time of storage, ISO 8601 in UTC."""


@dataclass(frozen=True, kw_only=True)
class FeedbackInfo:
    """The description of feedback: its name, and how many judgements count in a search by it."""

    name: str
    examples: int
    counter_examples: int
    people: Mapping[str, int]
    """Number of these judgements by person."""


def weights_of(likes: Judged, unlikes: Judged) -> dict[str, float]:
    """Return the weights of judged keys, below 0 for the disliked ones.

    Raises InvalidInputError for no key, a key in both, and a weight that is not a number above 0.
    """
    weight_of: dict[str, float] = {}
    for sign, judged in ((1.0, likes), (-1.0, unlikes)):
        weights = judged if isinstance(judged, Mapping) else dict.fromkeys(one_or_several(judged), 1.0)
        for key, weight in weights.items():
            if key in weight_of:
                raise InvalidInputError(f"{key!r} cannot be liked and disliked at once: judge it once")
            if not (math.isfinite(weight) and weight > 0):
                raise InvalidInputError(f"the weight of a judgement is a number above 0, not {weight:g} for {key!r}")
            weight_of[key] = sign * weight
    if not weight_of:
        raise InvalidInputError("there is nothing to judge: give at least one key that is liked or disliked")
    return weight_of


def counting(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return the last judgement of each key, in the order in which people made them."""
    last: dict[str, Judgement] = {}
    for judgement in judgements:
        last.pop(judgement.key, None)
        last[judgement.key] = judgement
    return list(last.values())


def described(name: str, judgements: Sequence[Judgement]) -> FeedbackInfo:
    """Return the description of feedback with these judgements, one of each key."""
    examples = sum(judgement.weight > 0 for judgement in judgements)
    people = dict(sorted(Counter(judgement.person for judgement in judgements).items()))
    return FeedbackInfo(name=name, examples=examples, counter_examples=len(judgements) - examples, people=people)
