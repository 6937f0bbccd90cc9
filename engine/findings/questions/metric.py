"""The belief from features: the uncertainty of a metric over them."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from crossview.engine.findings.questions.belief import Items, Values, checked_triplets, lowest, probability

_DIMENSIONS = 12  # principal directions of the features; a metric over them has 78 numbers
_SAMPLE = 4096
_TYPICAL = 2.0  # the usual margin before any answer: people are fairly sure of most answers
_MOST = 8192  # most answers to learn from, a hundred for each number of W
_STEPS, _HALVINGS, _SETTLED = 20, 8, 1e-4


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
        found = next((weights + length * step for length in lengths if loss(weights + length * step) < least), weights)
        if least - loss(found) <= _SETTLED * least:
            break
        weights, least = found, loss(found)
    return weights, information
