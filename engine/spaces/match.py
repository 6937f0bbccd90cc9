"""Match: the calibrated probability that a hit is relevant to its query, from distances and novelty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit, logit

Floats = NDArray[np.float64]
FEWEST_LABELLED = 40
"""Labelled training items below which nothing is calibrated by labels: too few would be queries."""
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


class Familiarity(NamedTuple):
    """How much the raw row of a query is like the known rows of its view."""

    share: float = 1.0
    """The share of its match that the query keeps."""
    evidence: Floats = np.zeros(3)
    """The logarithms of the outlier factor, of the mean distance to the nearest known rows, and of the distance to the
    nearest raw one, (3,); of several queries, (q, 1, 3)."""


FAMILIAR = Familiarity()


@dataclass(frozen=True, eq=False)
class Novelty:
    """How much farther a view's row is from known rows than these are from each other.

    The factor is the local outlier factor (Breunig et al., SIGMOD 2000) of signed square roots of unit length, which
    suit counts and histograms as well as other rows.
    """

    view: str
    known: NDArray[np.float32]
    """Signed square roots of rows of some training items, of unit length, (m, d)."""
    usual: Floats
    """The mean distance of each to its nearest others, (m,)."""
    mean: float = 0.0
    """Mean logarithm of the factor among queries of the calibration that have relevant items."""
    deviation: float = 1.0
    lengths: Floats | None = None
    """Lengths of the signed square roots of the known rows, (m,); None in spaces of earlier versions."""
    least: Floats | None = None
    """Least evidence of a query in the calibration, (3,): a copy of a known row tells nothing about other hits."""

    @classmethod
    def of(cls, view: str, rows: NDArray[np.float32], queries: NDArray[np.float32]) -> Self:
        """Return the novelty that compares with raw rows of a view, (m, d), calibrated on rows of queries, (q, d)."""
        novelty = cls(view, np.empty((0, 0), np.float32), np.empty(0)).among(rows)
        evidence = novelty.evidence(queries)
        mean, deviation = float(evidence[:, 0].mean()), max(float(evidence[:, 0].std()), _LEAST)
        return replace(novelty, mean=mean, deviation=deviation, least=evidence.min(axis=0))

    def among(self, rows: NDArray[np.float32]) -> Self:
        """Return the novelty with the same calibration that compares with other raw rows, (m, d)."""
        roots, lengths = _roots(rows)
        alike = roots @ roots.T
        np.fill_diagonal(alike, -np.inf)
        return replace(self, known=roots, usual=_nearest(alike)[1], lengths=lengths)

    def familiarity(self, rows: NDArray[np.float32]) -> list[Familiarity]:
        """Return the familiarity of each raw row, (n, d).

        The share is 1 up to three standard deviations above the mean, and falls by the factor e with each further one.
        No class that a calibration leaves out is as novel as a blank picture, so this rule is fixed, not fitted.
        """
        evidence = self.evidence(rows)
        beyond = (evidence[:, 0] - self.mean) / self.deviation - _USUAL
        shares = np.exp(-np.maximum(beyond, 0)).tolist()
        return [Familiarity(*of_row) for of_row in zip(shares, evidence, strict=True)]

    def evidence(self, rows: NDArray[np.float32]) -> Floats:
        """Return the evidence of a familiarity for each raw row, (n, 3)."""
        nearest, means = _nearest(_roots(rows)[0] @ self.known.T)
        usual = self.usual[nearest].mean(axis=1)
        raw = np.zeros(len(rows)) if self.lengths is None else cdist(rows, self._rows).min(axis=1)
        evidence: Floats = np.log(np.stack([(means + _LEAST) / (usual + _LEAST), means + _LEAST, raw + _LEAST], axis=1))
        return evidence if self.least is None else np.maximum(evidence, self.least)

    @cached_property
    def _rows(self) -> Floats:
        """The known raw rows, (m, d)."""
        roots = self.known * np.asarray(self.lengths)[:, None]
        rows: Floats = roots * np.abs(roots)
        return rows


def _roots(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], Floats]:
    """Return the signed square roots of rows, of unit length, (n, d), and their lengths before, (n,)."""
    roots = np.sign(rows) * np.sqrt(np.abs(rows))
    lengths = np.linalg.norm(roots, axis=1).astype(np.float64)
    return np.asarray(roots / np.maximum(lengths, _LEAST)[:, None], np.float32), lengths


def _nearest(alike: NDArray[Any]) -> tuple[NDArray[np.intp], Floats]:
    """Return the columns of the greatest inner products of each row, (n, k), and the mean of their distances, (n,)."""
    count = min(_NEAREST, max(1, alike.shape[1] - 1))
    columns = np.argpartition(alike, -count, axis=1)[:, -count:]
    products = np.take_along_axis(alike, columns, axis=1).astype(np.float64)
    return columns, np.sqrt(np.maximum(2 - 2 * products, 0)).mean(axis=1)


@dataclass(frozen=True)
class Match:
    """Probabilities that hits of a view's queries in a target are relevant: a logistic function of all evidence.

    The match with empty names is that of a list of all views and targets, whose distances are negative mean logits.
    """

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
    of_factor: float = 0.0
    """Weight of the first evidence of the query's familiarity; never above 0, as those of the others."""
    of_neighbours: float = 0.0
    of_nearest: float = 0.0

    def probabilities(self, distances: Sequence[float], familiarity: Familiarity = FAMILIAR) -> list[float]:
        """Return the probability of each hit of one list, (n,), from their ascending distances, (n,).

        A hit nearer than any in the calibration is a copy rather than a neighbour: towards distance 0, its probability
        grows to 1.
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

    def line(self, best: float) -> tuple[float, float]:
        """Return the offset and the slope that calibrate a list's mean logits, of which ``best`` is the greatest."""
        return self.offset + self.of_first * float(np.clip(-best, self.least, self.most)), -self.of_hit

    def of_all(self, distances: Floats, first: float | Floats, familiarity: Familiarity = FAMILIAR) -> Floats:
        """Return the probabilities of items at distances in any order, (n,), if the first hit is at distance
        ``first``."""
        logits = self.offset + self.of_first * np.clip(first, self.least, self.most)
        logits = logits + familiarity.evidence @ np.array([self.of_factor, self.of_neighbours, self.of_nearest])
        logits = logits + self.of_hit * np.maximum(distances, self.least)
        other = np.minimum(1.0, distances / self.least) if self.least > 0 else 1.0
        doubt = 1 - familiarity.share / (1 + np.exp(-np.clip(logits, -30, 30)))
        probabilities: Floats = 1 - other * doubt
        return probabilities


def fitted_match(
    names: tuple[str, str],
    lists: Floats,
    relevant: NDArray[np.bool_],
    weights: Floats,
    factor: float,
    familiar: Floats | None = None,
) -> Match | None:
    """Return the logistic regression of relevance, (q, k), on ascending distances, (q, k).

    ``names`` are the query view and the target; ``weights`` are those of the queries, (q,), and ``familiar`` is the
    evidence of their familiarity, (q, 3). ``factor`` times such a distance is a distance in the space that the match
    is for. No probability grows with a distance. If no evidence tells the hits apart, all have the share of relevant
    ones. None if all hits are relevant, or none is.
    """
    if relevant.all() or not relevant.any():
        return None
    if lists.std() <= _ROUNDING * lists.mean():  # all are equally far, up to rounding
        lists = np.ones_like(lists)
    count = lists.shape[1]
    # The hits of a list are as good as one observation: few queries would otherwise give too steep a function.
    each, answers = np.repeat(weights / count, count), relevant.ravel()
    of_query = np.repeat(lists[:, :1] if familiar is None else np.hstack([lists[:, :1], familiar]), count, axis=0)
    beyond = (lists - lists[:, :1]).ravel()
    offset, (of_hit, of_first, *of_row) = _logistic(np.column_stack([beyond, of_query]), answers, each)
    if not of_hit:  # nearly all hits of a list are relevant, or none: their own distance is enough
        offset, (of_hit, *of_row) = _logistic(np.column_stack([lists.ravel(), of_query[:, 1:]]), answers, each)
        of_first = of_hit
    least, most = float(lists[:, 0].min()) * factor, float(lists[:, 0].max()) * factor
    match = Match(*names, offset, of_hit / factor, (of_first - of_hit) / factor, least, most)
    of_factor, of_neighbours, of_nearest = of_row or (0.0, 0.0, 0.0)
    return replace(match, of_factor=of_factor, of_neighbours=of_neighbours, of_nearest=of_nearest)


def _logistic(evidence: Floats, answers: NDArray[np.bool_], weights: Floats) -> tuple[float, list[float]]:
    """Return the offset and the slopes, none above 0, of a logistic regression, for evidence as it is, (n, e)."""
    means, deviations = evidence.mean(axis=0), np.maximum(evidence.std(axis=0), _LEAST)
    scaled = (evidence - means) / deviations

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        logits = coefficients[0] + scaled @ coefficients[1:]
        penalised = _PENALTY * np.r_[0, coefficients[1:]]
        slope = weights * (expit(logits) - answers)
        value = weights @ (np.logaddexp(0, logits) - answers * logits) + penalised @ coefficients / 2
        return float(value), np.r_[slope.sum(), scaled.T @ slope] + penalised

    bounds = [(None, None), *[(None, 0)] * len(means)]
    fitted = minimize(loss, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-10).x
    slopes = fitted[1:] / deviations
    return float(fitted[0] - slopes @ means), slopes.tolist()
