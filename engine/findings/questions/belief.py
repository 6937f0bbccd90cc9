"""Beliefs: a model's distribution of distances, and the information of an answer under it.

The choice of questions needs no other part of a model. An answer is informative if the plausible models disagree on it,
beyond the chance within each model.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
Items = NDArray[np.int64]

_PROBIT = 8 / np.pi  # sigmoid(m) is about Phi(m / sqrt(8 / pi))
_WIDTH = np.pi * np.log(2) / 2  # h(Phi(x)) is about exp(-x^2 / (2 _WIDTH)), in bits


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
    known = np.sqrt(_WIDTH / (spread + _WIDTH)) * np.exp(-np.square(at) / (2 * (spread + _WIDTH)))
    return np.asarray(np.maximum(total - known, 0.0))


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
