"""Answers from judgements: what a person likes is near to each other, and nearer than what the person dislikes."""

from collections.abc import Sequence

from crossview.engine.values.comparisons import Answer
from crossview.engine.values.feedback import Judgement

NEAR, FAR = 4, 5
"""Maximum number of items near to and far from the anchor of an answer, as in a question of nine."""
MOST_AS_ANCHOR, MOST_AS_FAR = 5, 5
"""Maximum number of answers in which an example is the anchor, and in which a counter-example is far."""


def answers_of(judgements: Sequence[Judgement], notion: str, feedback: str) -> list[Answer]:
    """Return the answers that the judgements of one person stand for; none without two examples and a counter-example.

    In each answer, an example is the anchor, up to NEAR other examples are near and up to FAR counter-examples are far.
    The answers go round the examples and the counter-examples, so that each is used about equally often. Their number,
    A = min(max(p, n / f), MOST_AS_ANCHOR p, MOST_AS_FAR n / f) for p examples, n counter-examples and f of them in an
    answer, is linear in the judgements, and each judgement is in a bounded number of comparisons.
    """
    liked = [one.key for one in judgements if one.weight > 0]
    disliked = [one.key for one in judgements if one.weight < 0]
    if len(liked) < 2 or not disliked:
        return []
    near, far = min(NEAR, len(liked) - 1), min(FAR, len(disliked))
    all_once = max(len(liked), -(-len(disliked) // far))
    count = min(all_once, MOST_AS_ANCHOR * len(liked), MOST_AS_FAR * len(disliked) // far)
    found = []
    for number in range(count):
        anchor = number * len(liked) // count if count < len(liked) else number
        found.append(
            Answer(
                notion=notion,
                anchor=_round(liked, anchor, 1)[0],
                near=_round(liked, anchor + 1, near),
                far=_round(disliked, number * far, far),
                person=judgements[0].person,
                feedback=feedback,
            )
        )
    return found


def _round(keys: Sequence[str], start: int, count: int) -> tuple[str, ...]:
    """Return ``count`` keys from a place on, going round."""
    return tuple(keys[(start + step) % len(keys)] for step in range(count))
