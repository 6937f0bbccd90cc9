"""Match: the calibrated probability that a hit is relevant to its query, from distances and novelty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]
_PENALTY = 1.0
"""Strength of the ridge on weights of standardised evidence, for lists that count as one observation each."""
_NEAREST = 5
"""Rows whose mean distance states how close others are to a row."""
_USUAL = 3.0
"""Standard deviations of novelty that are still usual for a query with relevant items."""
_LEAST = 1e-9
_ROUNDING = 1e-6
_MOST_EVIDENCE = float(logit(0.999))
"""Greatest change of a logit by one target."""


@dataclass(frozen=True, eq=False)
class Novelty:
    """How much farther a view's row is from known rows than these are from each other.

    This is the local outlier factor (Breunig et al., SIGMOD 2000) of signed square roots of unit length, which suit
    counts and histograms as well as other rows.
    """

    view: str
    known: NDArray[np.float32]
    """Signed square roots of rows of some training items, of unit length, (m, d)."""
    usual: Floats
    """The mean distance of each to its nearest others, (m,)."""
    mean: float = 0.0
    """Mean logarithm of the factor among queries of the calibration that have relevant items."""
    deviation: float = 1.0

    @classmethod
    def of(cls, view: str, rows: NDArray[np.float32], queries: NDArray[np.float32]) -> Self:
        """Return the novelty that compares with raw rows of a view, (m, d), calibrated on rows of queries, (q, d)."""
        roots = _roots(rows)
        alike = roots @ roots.T
        np.fill_diagonal(alike, -np.inf)
        novelty = cls(view, roots, _nearest(alike)[1])
        factors = novelty._factors(queries)
        return replace(novelty, mean=float(factors.mean()), deviation=max(float(factors.std()), _LEAST))

    def familiarity(self, rows: NDArray[np.float32]) -> Floats:
        """Return the share of its match that a query with a raw row, (n, d), keeps: (n,).

        It is 1 up to three standard deviations above the mean, and falls by the factor e with each further deviation.
        No class that a calibration leaves out is as novel as a blank picture, so the rule is fixed, not fitted.
        """
        beyond = (self._factors(rows) - self.mean) / self.deviation - _USUAL
        shares: Floats = np.exp(-np.maximum(beyond, 0))
        return shares

    def _factors(self, rows: NDArray[np.float32]) -> Floats:
        """Return the logarithm of the factor for raw rows, (n, d): (n,), about 0 for rows like the known ones."""
        nearest, means = _nearest(_roots(rows) @ self.known.T)
        factors: Floats = np.log((means + _LEAST) / (self.usual[nearest].mean(axis=1) + _LEAST))
        return factors


def _roots(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the signed square roots of rows, of unit length, (n, d)."""
    roots = np.sign(rows) * np.sqrt(np.abs(rows))
    lengths = np.linalg.norm(roots, axis=1, keepdims=True)
    return np.asarray(roots / np.maximum(lengths, _LEAST), np.float32)


def _nearest(alike: NDArray[Any]) -> tuple[NDArray[np.intp], Floats]:
    """Return the columns of the greatest inner products of each row, (n, k), and the mean of their distances, (n,)."""
    count = min(_NEAREST, max(1, alike.shape[1] - 1))
    columns = np.argpartition(alike, -count, axis=1)[:, -count:]
    products = np.take_along_axis(alike, columns, axis=1).astype(np.float64)
    return columns, np.sqrt(np.maximum(2 - 2 * products, 0)).mean(axis=1)


@dataclass(frozen=True)
class Match:
    """Probabilities that hits of a view's queries in a target are relevant: a logistic function of two distances."""

    view: str
    target: str
    offset: float
    of_hit: float
    """Weight of the distance of the hit; never above 0."""
    of_first: float
    """Weight of the distance of the first hit, which is large for queries unlike any item."""
    least: float
    """Least distance of a first hit in the calibration."""
    most: float
    """Greatest distance of a first hit in the calibration."""
    prior: float = 0.5
    """The usual probability of a hit."""
    weight: float = 1.0
    """Weight of the target beside others that the same queries can find items in."""

    def probabilities(self, distances: Sequence[float], familiarity: float = 1.0) -> list[float]:
        """Return the probability of each hit of one list, (n,), from their ascending distances, (n,).

        ``familiarity`` is the share that the query keeps. A hit nearer than any in the calibration is a copy
        rather than a neighbour: towards distance 0, its probability grows to 1.
        """
        if not distances:
            return []
        probabilities: list[float] = self.of_all(np.asarray(distances, np.float64), distances[0], familiarity).tolist()
        return probabilities

    def evidence(self, matches: Floats) -> Floats:
        """Return the logits of matches, (n,), relative to the prior, bounded so that no target decides alone."""
        usual = logit(self.prior)
        change = logit(np.clip(matches, _LEAST, 1 - _LEAST)) - usual
        logits: Floats = usual + np.clip(change, -_MOST_EVIDENCE, _MOST_EVIDENCE)
        return logits

    def of_all(self, distances: Floats, first: float, familiarity: float = 1.0) -> Floats:
        """Return the probabilities of items at distances in any order, (n,), if the first hit is at distance
        ``first``."""
        logits = self.offset + self.of_first * np.clip(first, self.least, self.most)
        logits = logits + self.of_hit * np.maximum(distances, self.least)
        other = np.minimum(1.0, distances / self.least) if self.least > 0 else 1.0
        doubt = 1 - familiarity / (1 + np.exp(-np.clip(logits, -30, 30)))
        probabilities: Floats = 1 - other * doubt
        return probabilities


def fitted_match(
    names: tuple[str, str], lists: Floats, relevant: NDArray[np.bool_], weights: Floats, factor: float
) -> Match | None:
    """Return the logistic regression of relevance, (q, k), on ascending distances, (q, k).

    ``names`` are the query view and the target; ``weights`` are those of the queries, (q,). ``factor`` times such a
    distance is a distance in the space that the match is for. If distances do not tell the hits apart, all have the
    share of relevant ones. None if all hits are relevant, or none is.
    """
    if relevant.all() or not relevant.any():
        return None
    if lists.std() <= _ROUNDING * lists.mean():  # all are equally far, up to rounding
        lists = np.ones_like(lists)
    # The hits of a list are as good as one observation: few queries would otherwise give too steep a function.
    each, answers = np.repeat(weights / lists.shape[1], lists.shape[1]), relevant.ravel()
    evidence = np.stack([lists.ravel(), np.repeat(lists[:, 0], lists.shape[1])], axis=1)
    offset, slopes = _logistic(evidence, answers, each)
    if slopes[0] >= 0:  # nearly all hits of a list are relevant, or none: their own distance is enough
        offset, slopes = _logistic(evidence[:, :1], answers, each)
    if slopes[0] >= 0:  # distances say nothing: every hit has the prior
        prior = float(np.average(answers, weights=each))
        offset, slopes = float(np.log(prior / (1 - prior))), np.zeros(1)
    of_hit, of_first = [*(slopes / factor).tolist(), 0.0][:2]
    least, most = float(lists[:, 0].min()) * factor, float(lists[:, 0].max()) * factor
    return Match(*names, offset, of_hit, of_first, least, most)


def _logistic(evidence: Floats, answers: NDArray[np.bool_], weights: Floats) -> tuple[float, Floats]:
    """Return the offset and the slopes of a logistic regression, for evidence as it is, (n, e)."""
    means, deviations = evidence.mean(axis=0), np.maximum(evidence.std(axis=0), _LEAST)
    model = LogisticRegression(C=1 / _PENALTY, max_iter=1000)
    model.fit((evidence - means) / deviations, answers, weights)
    slopes: Floats = model.coef_[0] / deviations
    return float(model.intercept_[0] - slopes @ means), slopes
