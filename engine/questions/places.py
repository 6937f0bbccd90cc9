"""How sure the places of items are, where answers are all that is known of them."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from crossview.engine.questions.belief import Items, Values, checked_triplets, lowest
from crossview.engine.questions.gain import probability

_DIMENSIONS = 12  # those in which items differ most; what the others add to a distance is small
_UNIT = 0.3  # of the usual margin is one of which people are rather sure
FIRST = 2.5
"""Triplets for each item before an embedding can be trusted: questions chosen by less are worse than random ones."""
_SAMPLE = 4096  # triplets that show what margins are typical
_LEAST = 1e-3  # of the mean variance: no direction is known beforehand


class Places:
    """Items lie about the places of an embedding, each with a normal distribution of its own.

    The Laplace approximation of the posterior of all places, given the answers and that places are spread as the
    embedding is, without the correlations between items: an answer (a, b, c) adds w g g^T to the inverse covariances of
    a, b and c, with g the slope of D(a, c) - D(a, b) and w = p (1 - p) of its probability p. So an item that was never
    compared is as uncertain as the whole embedding is wide.

    Args:
        positions: (n, d), in units of the answers.
        information: (n, d, d) inverse covariances, before any answer.
    """

    def __init__(self, positions: Values, information: Values) -> None:
        self.positions, self.information = positions, information
        self._learned = 0

    @classmethod
    def of(cls, embedding: ArrayLike, answers: ArrayLike) -> Self:
        """Returns the belief that answers leave of an embedding that was learned from them.

        Args:
            embedding: (n, D); its 12 leading principal directions count.
            answers: (m, 3) triplets (a, b, c): b was said to be nearer to a than c. m may be 0.

        Raises:
            ValueError: for other shapes, or an item that there is not.
        """
        rows = np.asarray(embedding, dtype=np.float64)
        triplets = checked_triplets(answers, len(rows))
        rows = _leading(rows - rows.mean(axis=0))
        rows = rows / np.sqrt(_unit(rows))
        covariance = rows.T @ rows / len(rows)
        least = max(_LEAST * float(np.trace(covariance)) / rows.shape[1], 1e-12)
        prior = np.linalg.inv(covariance + least * np.eye(rows.shape[1]))
        belief = cls(rows, np.broadcast_to(prior, (len(rows), *prior.shape)).copy())
        belief.learn(triplets)
        return belief

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self.positions)

    @property
    def blind(self) -> bool:
        """Whether there are fewer than 2.5 answers for each item, too few to place them."""
        return self._learned < FIRST * self.count

    def nearest(self, anchors: Items, count: int) -> Items:
        """Returns the items whose places are nearest to each of (m,) anchors, (m, count), in no order, without it."""
        squares = np.square(self.positions).sum(axis=1)
        return lowest(squares - 2 * (self.positions[anchors] @ self.positions.T), anchors, count)

    def distances(self, anchors: Items, candidates: Items) -> tuple[Values, Values]:
        """Returns the means, (m, c), and covariances, (m, c, c), of the squared distances of anchors' candidates."""
        gaps = self.positions[anchors][:, None] - self.positions[candidates]
        named, places = np.unique(np.column_stack([anchors, candidates]), return_inverse=True)
        inverse = np.linalg.inv(self.information[named])[places.reshape(len(anchors), -1)]
        spread, own = inverse[:, 0], inverse[:, 1:]
        traces = np.trace(spread, axis1=1, axis2=2)[:, None] + np.trace(own, axis1=2, axis2=3)
        covariances = 4 * gaps @ spread @ gaps.transpose(0, 2, 1)
        diagonal = np.arange(candidates.shape[1])
        covariances[:, diagonal, diagonal] += 4 * ((gaps[:, :, None] @ own)[:, :, 0] * gaps).sum(axis=2)
        return np.square(gaps).sum(axis=2) + traces, covariances

    def learn(self, triplets: Items) -> None:
        """Takes (k, 3) questions for asked: adds what their answers, whichever they are, tell of the three items."""
        if not len(triplets):
            return
        self._learned += len(triplets)
        a, b, c = (self.positions[triplets[:, place]] for place in range(3))
        chance = probability(_margins(self.positions, triplets), np.zeros(len(triplets)))
        slopes = 2 * np.concatenate([b - c, a - b, c - a]) * np.tile(np.sqrt(chance * (1 - chance)), 3)[:, None]
        items = triplets.T.ravel()
        width = slopes.shape[1]
        sums = np.empty((width, width, self.count))
        for i, j in zip(*np.tril_indices(width), strict=True):
            sums[i, j] = sums[j, i] = np.bincount(items, slopes[:, i] * slopes[:, j], self.count)
        self.information += sums.transpose(2, 0, 1)


def _leading(rows: Values) -> Values:
    """Centred rows by their principal directions, the leading ones."""
    if rows.shape[1] <= _DIMENSIONS:
        return rows
    _, directions = np.linalg.eigh(rows.T @ rows)
    return np.asarray(rows @ directions[:, -_DIMENSIONS:])


def _margins(rows: Values, triplets: Items) -> Values:
    a, b, c = (rows[triplets[:, place]] for place in range(3))
    return np.asarray(np.square(a - c).sum(axis=1) - np.square(a - b).sum(axis=1))


def _unit(rows: Values) -> float:
    """The unit of squared distance of the answers.

    That in which they are most likely is too small: an embedding fits those that it was learned from too well.
    """
    margins = _margins(rows, np.random.default_rng(0).integers(len(rows), size=(_SAMPLE, 3)))
    return _UNIT * float(np.std(margins)) or 1.0
