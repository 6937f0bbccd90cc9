"""The choice of the next question."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.engine.questions.belief import Belief, Items, checked_triplets
from crossview.engine.questions.gain import information_gain

Gains = NDArray[np.float64]

GRID = 9
_ANCHORS = 48
_NEAR, _ELSEWHERE = 12, 24  # candidates of an anchor: of its neighbourhood, and anywhere


@dataclass(frozen=True)
class Question:
    """What to ask: which of the candidates are near the anchor, or of two which is nearer.

    Attributes:
        anchor: an item.
        candidates: other items, in the order in which to show them.
        gain: what is expected of the answer, in bits; of a grid the sum over its pairs, which share some of it; 0 of a
            question at random.
    """

    anchor: int
    candidates: tuple[int, ...]
    gain: float


def choose(belief: Belief, *, size: int = 2, count: int = 1, seed: int = 0, asked: ArrayLike = ()) -> list[Question]:
    """Returns the questions whose answers are expected to tell most, the best first, each with another anchor.

    Of 48 anchors and 36 candidates of each, drawn anew for every seed, a third of them from its neighbourhood, the
    questions are taken whose answers the plausible models disagree on most. A belief that is blind has random ones.

    Args:
        belief: how sure a model is of distances.
        size: candidates of a question: 2 for "is a more like b or like c?", or more for a grid.
        count: how many questions, as for several people at once; fewer are returned where there are fewer items.
        seed: of the draws.
        asked: (m, 3) triplets that are not to be asked again, where the size is 2, whichever was nearer.

    Raises:
        ValueError: unless there are more items than candidates, and at least 2 of these; or all was asked.
    """
    if not 2 <= size < belief.count:
        raise ValueError(f"a question of {size} candidates needs 2 or more, and more items than {belief.count}")
    generator = np.random.default_rng(seed)
    anchors = generator.choice(belief.count, min(max(_ANCHORS, count), belief.count), replace=False)
    candidates = _candidates(belief, anchors, size, generator)
    gains = _drawn(candidates, generator) if belief.blind else _gains(*belief.distances(anchors, candidates))
    if size == 2:
        gains[_known(anchors, candidates, checked_triplets(asked, belief.count))] = -1.0
    chosen, values = _grown(gains, size)
    best = np.argsort(-values, kind="stable")[:count]
    if values[best[0]] < 0:
        raise ValueError("all questions that were drawn were asked before: try another seed")
    shown = np.take_along_axis(candidates, chosen, axis=1)
    shown = generator.permuted(shown, axis=1)  # so that the place tells nothing
    values[:] = np.where(belief.blind & (values >= 0), 0.0, values)
    return [
        Question(int(anchors[row]), tuple(shown[row].tolist()), float(values[row])) for row in best if values[row] >= 0
    ]


def _candidates(belief: Belief, anchors: Items, size: int, generator: np.random.Generator) -> Items:
    """Each anchor's candidates, (m, c), none twice: its neighbourhood, and others of a draw that all anchors share."""
    near = 0 if belief.blind else min(max(_NEAR, size // 2), belief.count - 1)
    total = min(near + max(_ELSEWHERE, size), belief.count - 1)
    around = belief.nearest(anchors, near) if near else np.empty((len(anchors), 0), dtype=np.int64)
    drawn = generator.choice(belief.count, min(total + 1, belief.count), replace=False)
    known = (drawn[:, None] == around[:, None]).any(axis=2) | (drawn == anchors[:, None])
    others = drawn[np.argsort(known, axis=1, kind="stable")]
    return np.hstack([around, others])[:, :total]


def _drawn(candidates: Items, generator: np.random.Generator) -> Gains:
    """Random gains, (m, c, c), where nothing is known that makes a difference."""
    gains = generator.random((*candidates.shape, candidates.shape[1]))
    gains = gains + gains.transpose(0, 2, 1)
    diagonal = np.arange(candidates.shape[1])
    gains[:, diagonal, diagonal] = -1.0
    return np.asarray(gains)


def _gains(means: Gains, covariances: Gains) -> Gains:
    """The (m, c, c) bits that it tells of each anchor which of two candidates is nearer."""
    own = np.diagonal(covariances, axis1=1, axis2=2)
    variances = own[:, :, None] + own[:, None, :] - 2 * covariances
    gains = information_gain(means[:, None, :] - means[:, :, None], np.maximum(variances, 0.0))
    diagonal = np.arange(means.shape[1])
    gains[:, diagonal, diagonal] = -1.0
    return gains


def _known(anchors: Items, candidates: Items, asked: Items) -> NDArray[np.bool_]:
    """Which pairs of each anchor's candidates were asked about, (m, c, c)."""
    first, second = candidates[:, :, None], candidates[:, None, :]
    asked = asked[np.isin(asked[:, 0], anchors)]
    return np.isin(_keys(anchors[:, None, None], first, second), _keys(*asked.T))


def _keys(anchors: Items, first: Items, second: Items) -> Items:
    """A number for each question, whichever candidate comes first; items are fewer than two million."""
    return np.asarray((anchors << 42) + (np.minimum(first, second) << 21) + np.maximum(first, second))


def _grown(gains: Gains, size: int) -> tuple[Items, Gains]:
    """Each anchor's best pair of candidates, and others added one after another, (m, size), with the sums of gains."""
    rows = np.arange(len(gains))
    chosen = np.empty((len(gains), size), dtype=np.int64)
    chosen[:, 0], chosen[:, 1] = np.unravel_index(gains.reshape(len(gains), -1).argmax(axis=1), gains.shape[1:])
    sums = gains[rows, chosen[:, 0]] + gains[rows, chosen[:, 1]]
    values = gains[rows, chosen[:, 0], chosen[:, 1]]
    sums[rows[:, None], chosen[:, :2]] = -np.inf
    for place in range(2, size):
        chosen[:, place] = sums.argmax(axis=1)
        values = values + sums[rows, chosen[:, place]]
        sums = sums + gains[rows, chosen[:, place]]
        sums[rows, chosen[:, place]] = -np.inf
    return chosen, values
