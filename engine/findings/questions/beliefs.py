"""Beliefs about distances: of places of the items, from answers alone, and of a metric, from answers and features."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from crossview.engine.findings.questions.choosing import Items, Values, checked_triplets, lowest, probability

_DIMENSIONS = 12  # the directions in which items differ most; a metric over them has 78 numbers
_UNIT = 0.3  # of the usual margin is one of which people are rather sure
FIRST = 2.5
"""Minimum number of answers for each item: questions chosen by an embedding from fewer answers are worse than random
ones."""
_SAMPLE = 4096  # triplets from which the typical margin is estimated
_LEAST = 1e-3  # least share of the mean variance, because no direction is known before an answer
_TYPICAL = 2.0  # the usual margin before any answer: people are fairly sure of most answers
_MOST = 8192  # most answers to learn from, a hundred for each number of W
_STEPS, _HALVINGS, _SETTLED = 20, 8, 1e-4


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
        least = max(_LEAST * float(np.trace(covariance)) / rows.shape[1], 1e-12)  # equal rows have no variance
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
        items, places = np.unique(np.column_stack([anchors, candidates]), return_inverse=True)
        inverse = np.linalg.inv(self.information[items])[places.reshape(len(anchors), -1)]
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


class Metric:
    """Distances are (x - y)^T W (x - y) with a symmetric W, whose numbers have a normal distribution.

    This is the Laplace approximation of logistic regression on triplets: a margin is linear in W, whose prior mean is
    the identity. Learning takes a moment, so that no training must come between two questions.

    Args:
        rows: (n, p), in units of the answers.
        weights: (q,) the numbers of W on and above its diagonal, q = p (p + 1) / 2, those above it times sqrt(2).
        information: (q, q) their inverse covariance.
    """

    rows: Values
    weights: Values
    information: Values

    def __init__(self, rows: Values, weights: Values, information: Values) -> None:
        self.rows, self.weights, self.information = rows, weights, information
        self._covariance = np.linalg.inv(information)

    @classmethod
    def of(cls, features: ArrayLike, answers: ArrayLike) -> Self:
        """Return the belief about the metric of features after answers.

        Args:
            features: (n, d); only their 12 leading principal directions are used.
            answers: (m, 3) triplets (a, b, c): a person finds b nearer to a than c. m may be 0; of more than 8,192, a
                random sample is used.

        Raises:
            ValueError: for other shapes, or an item that there is not.
        """
        rows = np.asarray(features, dtype=np.float64)
        triplets = checked_triplets(answers, len(rows))
        if len(triplets) > _MOST:
            triplets = np.random.default_rng(0).choice(triplets, _MOST, replace=False)
        rows = rows - rows.mean(axis=0)
        if rows.shape[1] > _DIMENSIONS:
            rows = rows @ np.linalg.eigh(rows.T @ rows)[1][:, -_DIMENSIONS:]
        drawn = np.random.default_rng(0).integers(len(rows), size=(_SAMPLE, 3))
        identity = _squares(np.eye(rows.shape[1])).sum(axis=0)
        usual = float(np.std(_slopes(rows, drawn) @ identity)) or 1.0
        rows = rows * np.sqrt(_TYPICAL / usual)
        return cls(rows, *_learned(_slopes(rows, triplets), identity))

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.rows)

    @property
    def blind(self) -> bool:
        """False, because features are informative from the first question."""
        return False

    def nearest(self, anchors: Items, count: int) -> Items:
        """Return the items nearest by the mean of W to each of (m,) anchors, (m, count), in no order, without it."""
        turned = self.rows @ self._matrix()
        squares = (turned * self.rows).sum(axis=1)
        return lowest(squares - 2 * (turned[anchors] @ self.rows.T), anchors, count)

    def distances(self, anchors: Items, candidates: Items) -> tuple[Values, Values]:
        """Return the means, (m, c), and covariances, (m, c, c), of the distances of anchors' candidates."""
        gaps = self.rows[anchors][:, None] - self.rows[candidates]
        squares = _squares(gaps.reshape(-1, gaps.shape[2])).reshape(*gaps.shape[:2], -1)
        return squares @ self.weights, squares @ self._covariance @ squares.transpose(0, 2, 1)

    def learn(self, triplets: Items) -> None:
        """Count (k, 3) questions as asked: add the information of their answers, the same for every choice."""
        slopes = _slopes(self.rows, triplets)
        chance = probability(slopes @ self.weights, np.zeros(len(slopes)))
        self.information = self.information + slopes.T @ (slopes * (chance * (1 - chance))[:, None])
        self._covariance = np.linalg.inv(self.information)

    def _matrix(self) -> Values:
        width = self.rows.shape[1]
        matrix = np.zeros((width, width))
        above = np.triu_indices(width)
        matrix[above] = self.weights * np.where(above[0] == above[1], 1.0, np.sqrt(0.5))
        return np.asarray((matrix + matrix.T) / (1 + np.eye(width)))


def _squares(gaps: Values) -> Values:
    """Return the (m, q) products of the columns of (m, p) gaps with which <W, gap gap^T> is linear in W's numbers."""
    first, second = np.triu_indices(gaps.shape[1])
    return np.asarray(gaps[:, first] * gaps[:, second] * np.where(first == second, 1.0, np.sqrt(2)))


def _slopes(rows: Values, triplets: Items) -> Values:
    a, b, c = (rows[triplets[:, place]] for place in range(3))
    return _squares(a - c) - _squares(a - b)


def _learned(slopes: Values, start: Values) -> tuple[Values, Values]:
    """Return the most probable numbers of W, given (m, q) slopes of positive margins, and their inverse covariance.

    Their prior is normal about the start, each with variance 1. Newton's method takes shorter steps if a whole step
    would lower the probability.
    """

    def loss(weights: Values) -> float:
        return float(np.logaddexp(0, -(slopes @ weights)).sum() + np.square(weights - start).sum() / 2)

    weights, least = start, loss(start)
    for _ in range(_STEPS):
        chance = probability(slopes @ weights, np.zeros(len(slopes)))
        information = np.eye(len(start)) + slopes.T @ (slopes * (chance * (1 - chance))[:, None])
        step = np.linalg.solve(information, slopes.T @ (1 - chance) - (weights - start))
        lengths = (0.5**half for half in range(_HALVINGS))
        point = next((weights + length * step for length in lengths if loss(weights + length * step) < least), weights)
        if least - loss(point) <= _SETTLED * least:
            break
        weights, least = point, loss(point)
    return weights, information
