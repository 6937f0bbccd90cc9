"""What a model believes of distances, all that a choice of questions needs to know of it."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
Items = NDArray[np.int64]


class Belief(Protocol):
    """A normal distribution of the squared distances between n items.

    Distances are in units of the answers: that b is nearer to a than c is has probability sigmoid(D(a, c) - D(a, b)).
    """

    @property
    def count(self) -> int:
        """How many items there are, n."""

    @property
    def blind(self) -> bool:
        """Whether too little is known to choose by."""

    def nearest(self, anchors: Items, count: int) -> Items:
        """Returns the items that are most probably nearest to each of (m,) anchors, (m, count), without the anchor."""

    def distances(self, anchors: Items, candidates: Items) -> tuple[Values, Values]:
        """Returns what is believed of D(a, b) of each anchor's candidates.

        Args:
            anchors: (m,) items.
            candidates: (m, c) items, other than their anchor.

        Returns:
            (m, c) means and (m, c, c) covariances.
        """

    def learn(self, triplets: Items) -> None:
        """Takes (k, 3) questions for asked: their answers, though not known yet, make it surer."""


def checked_triplets(answers: ArrayLike, count: int) -> Items:
    """Returns answers as (m, 3) int64.

    Raises:
        ValueError: for another shape, or an item that there is not.
    """
    triplets = np.asarray(answers, dtype=np.int64).reshape(-1, 3) if np.size(answers) == 0 else np.asarray(answers)
    if triplets.ndim != 2 or triplets.shape[1] != 3:
        raise ValueError(f"answers are triplets, (m, 3), not of shape {triplets.shape}")
    if len(triplets) and not 0 <= triplets.min() <= triplets.max() < count:
        raise ValueError(f"answers name items by position, from 0 to {count - 1}, not {triplets.max()}")
    return triplets.astype(np.int64)


def lowest(distances: Values, anchors: Items, count: int) -> Items:
    """Returns the columns of the lowest of (m, n) distances, (m, count), in no order, but that of each row's anchor."""
    distances[np.arange(len(anchors)), anchors] = np.inf
    return np.argpartition(distances, count - 1, axis=1)[:, :count]
