"""Beliefs: a model's distribution of distances, the only part of a model that the choice of questions needs."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
Items = NDArray[np.int64]


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
