"""The belief from answers alone: the uncertainty of the places of items."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from crossview.engine.findings.questions.belief import Items, Values, checked_triplets, lowest, probability

_DIMENSIONS = 12  # the directions in which items differ most; the others add little to a distance
_UNIT = 0.3  # of the usual margin is one of which people are rather sure
FIRST = 2.5
"""Minimum number of answers for each item: questions chosen by an embedding from fewer answers are worse than random
ones."""
_SAMPLE = 4096  # triplets from which the typical margin is estimated
_LEAST = 1e-3  # least share of the mean variance, because no direction is known before an answer


class Places:
    """Each item has a normal distribution around its place in an embedding.

    This is the Laplace approximation of the posterior of all places given the answers, without correlations between
    items; the prior is the spread of the embedding. An answer (a, b, c) adds w g g^T to the inverse covariances of a, b
    and c, where g is the slope of D(a, c) - D(a, b) and w = p (1 - p) for its probability p. So an item without answers
    is as uncertain as the embedding is wide.

    Args:
        positions: (n, d), in units of the answers.
        information: (n, d, d) inverse covariances, before any answer.
    """

    positions: Values
    information: Values

    def __init__(self, positions: Values, information: Values) -> None:
        self.positions, self.information = positions, information
        self._learned = 0

    @classmethod
    def of(cls, embedding: ArrayLike, answers: ArrayLike) -> Self:
        """Return the belief of an embedding and the answers that it was learned from.

        Args:
            embedding: (n, D); only its 12 leading principal directions are used.
            answers: (m, 3) triplets (a, b, c): a person finds b nearer to a than c. m may be 0.

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
        """The number of items."""
        return len(self.positions)

    @property
    def blind(self) -> bool:
        """Whether there are fewer than 2.5 answers for each item, too few to place them."""
        return self._learned < FIRST * self.count

    def nearest(self, anchors: Items, count: int) -> Items:
        """Return the items whose places are nearest to each of (m,) anchors, (m, count), in no order, without it."""
        squares = np.square(self.positions).sum(axis=1)
        return lowest(squares - 2 * (self.positions[anchors] @ self.positions.T), anchors, count)

    def distances(self, anchors: Items, candidates: Items) -> tuple[Values, Values]:
        """Return the means, (m, c), and covariances, (m, c, c), of the squared distances of anchors' candidates."""
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
        """Count (k, 3) questions as asked: add the information of their answers, the same for every choice."""
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
    """Return centred rows in their leading principal directions."""
    if rows.shape[1] <= _DIMENSIONS:
        return rows
    _, directions = np.linalg.eigh(rows.T @ rows)
    return np.asarray(rows @ directions[:, -_DIMENSIONS:])


def _margins(rows: Values, triplets: Items) -> Values:
    a, b, c = (rows[triplets[:, place]] for place in range(3))
    return np.asarray(np.square(a - c).sum(axis=1) - np.square(a - b).sum(axis=1))


def _unit(rows: Values) -> float:
    """Return the unit of squared distance of the answers.

    The most likely unit would be too small, because an embedding fits its own answers too well.
    """
    margins = _margins(rows, np.random.default_rng(0).integers(len(rows), size=(_SAMPLE, 3)))
    return _UNIT * float(np.std(margins)) or 1.0
