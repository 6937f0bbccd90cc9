"""Choosing: the question whose answer is the most informative, given a belief about the distances between items."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
Items = NDArray[np.int64]

_PROBIT = 8 / np.pi  # sigmoid(m) is about Phi(m / sqrt(8 / pi))
_WIDTH = np.pi * np.log(2) / 2  # h(Phi(x)) is about exp(-x^2 / (2 _WIDTH)), in bits
Gains = NDArray[np.float64]

GRID = 9
_ANCHORS = 48
_NEAR, _ELSEWHERE = 12, 24  # candidates of an anchor: of its neighbourhood, and anywhere


def probability(mean: Values, variance: Values) -> Values:
    """Return the probability of a positive answer, sigmoid(m) averaged over m ~ N(mean, variance).

    MacKay, "The Evidence Framework Applied to Classification Networks" (Neural Computation 1992).
    """
    return np.asarray(1 / (1 + np.exp(np.clip(-mean / np.sqrt(1 + variance / _PROBIT), -500, 500))))


def information_gain(mean: Values, variance: Values) -> Values:
    """Return the information, in bits, of a yes or no with probability sigmoid(m) about m ~ N(mean, variance).

    It is the entropy of the answer minus its expected entropy for a known m: Houlsby, Huszár, Ghahramani and Lengyel,
    "Bayesian Active Learning for Classification and Preference Learning" (2011), equation (3), with a normal
    distribution function instead of the sigmoid. It is 0 without variance, and at most 1.

    Args:
        mean: of any shape.
        variance: of the same shape, not negative.
    """
    at, spread = mean / np.sqrt(_PROBIT), variance / _PROBIT
    total = np.exp(-np.square(at) / (2 * _WIDTH * (1 + spread)))
    expected = np.sqrt(_WIDTH / (spread + _WIDTH)) * np.exp(-np.square(at) / (2 * (spread + _WIDTH)))
    return np.asarray(np.maximum(total - expected, 0.0))


class Belief(Protocol):
    """A normal distribution of the squared distances between n items.

    Distances are in units of the answers: a person finds b nearer to a than c with probability
    sigmoid(D(a, c) - D(a, b)).
    """

    @property
    def count(self) -> int:
        """The number of items, n."""

    @property
    def blind(self) -> bool:
        """Whether the answers are too few for a choice."""

    def nearest(self, anchors: Items, count: int) -> Items:
        """Return the items that are most probably nearest to each of (m,) anchors, (m, count), without the anchor."""

    def distances(self, anchors: Items, candidates: Items) -> tuple[Values, Values]:
        """Return the distribution of D(a, b) for each anchor's candidates.

        Args:
            anchors: (m,) items.
            candidates: (m, c) items, other than their anchor.

        Returns:
            (m, c) means and (m, c, c) covariances.
        """

    def learn(self, triplets: Items) -> None:
        """Count (k, 3) questions as asked: their answers, though not known yet, reduce the uncertainty."""


def checked_triplets(answers: ArrayLike, count: int) -> Items:
    """Return answers as (m, 3) int64.

    Raises:
        ValueError: for another shape, or an unknown item.
    """
    triplets = np.asarray(answers, dtype=np.int64).reshape(-1, 3) if np.size(answers) == 0 else np.asarray(answers)
    if triplets.ndim != 2 or triplets.shape[1] != 3:
        raise ValueError(f"answers must be triplets, (m, 3), not an array of shape {triplets.shape}")
    if len(triplets) and not 0 <= triplets.min() <= triplets.max() < count:
        raise ValueError(f"answers must name items by position, from 0 to {count - 1}, not {triplets.max()}")
    return triplets.astype(np.int64)


def lowest(distances: Values, anchors: Items, count: int) -> Items:
    """Return the columns of the smallest (m, n) distances, unsorted, (m, count), without each row's anchor."""
    distances[np.arange(len(anchors)), anchors] = np.inf
    return np.argpartition(distances, count - 1, axis=1)[:, :count]


@dataclass(frozen=True)
class Question:
    """A question: which of the candidates are near the anchor, or which of two candidates is nearer.

    Attributes:
        anchor: an item.
        candidates: other items, in the order of display.
        gain: the expected information of the answer, in bits; for a grid, the sum over its pairs, which overlap; 0 for
            a random question.
    """

    anchor: int
    candidates: tuple[int, ...]
    gain: float


def choose(belief: Belief, *, size: int = 2, count: int = 1, seed: int = 0, asked: ArrayLike = ()) -> list[Question]:
    """Return the most informative questions, the best first, each with another anchor.

    The function draws 48 anchors by the seed and 36 candidates for each, a third of them from its neighbourhood. It
    chooses the questions on whose answers the plausible models disagree most. A blind belief gives random questions.

    Args:
        belief: the distribution of distances.
        size: candidates of a question: 2 for "is a more like b or like c?", or more for a grid.
        count: number of questions, for several people at once; few items give fewer questions.
        seed: of the random draws.
        asked: (m, 3) triplets that must not be asked again, in either order; only for size 2.

    Raises:
        ValueError: unless there are at least 2 candidates, and more items than candidates; or if every drawn question
            was asked before.
    """
    if not 2 <= size < belief.count:
        raise ValueError(
            f"a question needs at least 2 candidates and more items than candidates, not {size} of {belief.count} items"
        )
    generator = np.random.default_rng(seed)
    anchors = generator.choice(belief.count, min(max(_ANCHORS, count), belief.count), replace=False)
    candidates = _candidates(belief, anchors, size, generator)
    gains = _drawn(candidates, generator) if belief.blind else _gains(*belief.distances(anchors, candidates))
    if size == 2:
        gains[_known(anchors, candidates, checked_triplets(asked, belief.count))] = -1.0
    places, values = _grown(gains, size)
    best = np.argsort(-values, kind="stable")[:count]
    if values[best[0]] < 0:
        raise ValueError("all drawn questions were asked before: use another seed")
    items = np.take_along_axis(candidates, places, axis=1)
    # random places, so that a habit of the person does not favour a candidate
    items = generator.permuted(items, axis=1)
    values[:] = np.where(belief.blind & (values >= 0), 0.0, values)
    return [
        Question(int(anchors[row]), tuple(items[row].tolist()), float(values[row])) for row in best if values[row] >= 0
    ]


def _candidates(belief: Belief, anchors: Items, size: int, generator: np.random.Generator) -> Items:
    """Return distinct candidates of each anchor, (m, c): its neighbourhood, and a draw that all anchors share."""
    near = 0 if belief.blind else min(max(_NEAR, size // 2), belief.count - 1)
    total = min(near + max(_ELSEWHERE, size), belief.count - 1)
    around = belief.nearest(anchors, near) if near else np.empty((len(anchors), 0), dtype=np.int64)
    drawn = generator.choice(belief.count, min(total + 1, belief.count), replace=False)
    repeated = (drawn[:, None] == around[:, None]).any(axis=2) | (drawn == anchors[:, None])
    fresh = drawn[np.argsort(repeated, axis=1, kind="stable")]
    return np.hstack([around, fresh])[:, :total]


def _drawn(candidates: Items, generator: np.random.Generator) -> Gains:
    """Return random gains, (m, c, c), for a belief without information."""
    gains = generator.random((*candidates.shape, candidates.shape[1]))
    gains = gains + gains.transpose(0, 2, 1)
    diagonal = np.arange(candidates.shape[1])
    gains[:, diagonal, diagonal] = -1.0
    return np.asarray(gains)


def _gains(means: Gains, covariances: Gains) -> Gains:
    """Return the (m, c, c) bits of information of each anchor's comparison of two candidates."""
    own = np.diagonal(covariances, axis1=1, axis2=2)
    variances = own[:, :, None] + own[:, None, :] - 2 * covariances
    gains = information_gain(means[:, None, :] - means[:, :, None], np.maximum(variances, 0.0))
    diagonal = np.arange(means.shape[1])
    gains[:, diagonal, diagonal] = -1.0
    return gains


def _known(anchors: Items, candidates: Items, triplets: Items) -> NDArray[np.bool_]:
    """Return which pairs of each anchor's candidates were asked before, (m, c, c)."""
    first, second = candidates[:, :, None], candidates[:, None, :]
    triplets = triplets[np.isin(triplets[:, 0], anchors)]
    return np.isin(_keys(anchors[:, None, None], first, second), _keys(*triplets.T))


def _keys(anchors: Items, first: Items, second: Items) -> Items:
    """Return a number for each question, the same for both orders of candidates; for at most two million items."""
    return np.asarray((anchors << 42) + (np.minimum(first, second) << 21) + np.maximum(first, second))


def _grown(gains: Gains, size: int) -> tuple[Items, Gains]:
    """Return each anchor's best pair of candidates, extended one by one, (m, size), with the sums of gains."""
    rows = np.arange(len(gains))
    places = np.empty((len(gains), size), dtype=np.int64)
    places[:, 0], places[:, 1] = np.unravel_index(gains.reshape(len(gains), -1).argmax(axis=1), gains.shape[1:])
    sums = gains[rows, places[:, 0]] + gains[rows, places[:, 1]]
    values = gains[rows, places[:, 0], places[:, 1]]
    sums[rows[:, None], places[:, :2]] = -np.inf
    for place in range(2, size):
        places[:, place] = sums.argmax(axis=1)
        values = values + sums[rows, places[:, place]]
        sums = sums + gains[rows, places[:, place]]
        sums[rows, places[:, place]] = -np.inf
    return places, values
