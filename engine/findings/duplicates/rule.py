"""The rule that decides whether two pictures are the same photograph, fitted on altered copies of known pictures."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.features.alignment import Agreement, Alignment, SmallPicture
from crossview.features.alterations import KINDS, altered, retaken
from crossview.features.fingerprint import fingerprints

FEWEST = 24
"""Number of pictures, and of pairs of different ones, that fitting needs."""
PRECISION = 0.998
"""Share of the accepted pairs that must be copies, among altered copies and as many near pairs."""
_FEWEST_CELLS, _LEAST_COVERED = 5, 0.3
"""Number of cells with content, and share of the first picture, that a decision needs."""
_LEAST, _MOST = 0.5, 0.75
"""Bounds of the probability from which on a pair is accepted."""
_KEPT = 0.99
"""Share of the altered copies that a stricter threshold than the precision needs must still accept."""
_SIMULATED = 3
"""Number of simulated photographs of the same moment beside each picture."""
_DOUBTFUL = 0.02
"""Share of the altered copies that are less likely copies than a near pair that is left out."""
_NEAR, _POINTS = 0.75, 8
"""Agreement, and number of matching points, from which on pictures that are not copies are of one moment."""
_STEEPEST = 30.0
"""Inverse strength of the penalty of the weights: without one, separable classes make them endless."""

Measures = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """A logistic rule on the agreement of two aligned pictures, and the probability from which on it accepts."""

    weights: tuple[float, float]
    intercept: float
    threshold: float

    def probability(self, alignment: Alignment) -> float:
        """Return the probability that two aligned pictures are the same photograph; 0 if they share too little."""
        agreement = alignment.agreement
        if agreement.cells < _FEWEST_CELLS or agreement.covered < _LEAST_COVERED:
            return 0.0
        logit = float(_measures(agreement) @ self.weights) + self.intercept
        return 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))

    def accepts(self, alignment: Alignment) -> bool:
        """Return whether the pictures of an alignment are the same photograph."""
        return self.probability(alignment) >= self.threshold

    @staticmethod
    def is_near(alignment: Alignment) -> bool:
        """Return whether the pictures of an alignment, which are not copies, show one moment."""
        agreement = alignment.agreement
        enough = agreement.cells >= _FEWEST_CELLS and agreement.covered >= _LEAST_COVERED
        return enough and agreement.middle >= _NEAR and alignment.points >= _POINTS


USUAL = Rule((2.7, 0.6), -10.1, 0.8)
"""The rule for collections that are too small to fit one: about the middle of those fitted on photographs of Corel."""


def orientation_of(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> tuple[int, int]:
    """Return the orientation that brings a second picture nearest to a first, and the number of differing bits.

    Both are ``fingerprints``, (8, 8) uint8; the orientation is a number in ``ORIENTATIONS``.
    """
    bits = np.bitwise_count(second ^ first[0]).sum(axis=1)
    best = int(bits.argmin())
    return best, int(bits[best])


def aligned(first: SmallPicture, second: SmallPicture) -> Alignment:
    """Return the alignment of two pictures, in the orientation that their fingerprints propose."""
    return first.aligned(second, orientation_of(fingerprints(first.image), fingerprints(second.image))[0])


def fitted(pictures: Sequence[SmallPicture], random: Sequence[Alignment], near: Sequence[Alignment], seed: int) -> Rule:
    """Return the rule that tells altered copies of pictures from pairs of different ones.

    ``random`` and ``near`` are alignments of random pairs and of the nearest ones. Some of them may be unknown copies:
    a first fit, on altered copies and random pairs, leaves out those as likely as altered copies. Pictures beside a
    simulated photograph of the same moment are added, because few collections have enough of them. One half of the
    pairs then fits the weights, and the other half chooses the threshold. The same arguments give the same rule;
    ``USUAL`` for too few pictures or pairs.
    """
    copies, negatives, close = map(_rows, (_altered(pictures, seed), random, near))
    if min(len(pictures), len(copies), len(negatives)) < FEWEST:
        return USUAL
    weights, _ = _weights(copies, negatives)
    likely = np.quantile(copies @ weights, _DOUBTFUL)
    negatives = np.concatenate([negatives, close])
    negatives = np.concatenate([negatives[negatives @ weights < likely], _rows(_retaken(pictures, seed))])
    if len(negatives) < FEWEST:
        return USUAL
    draws = np.random.default_rng(seed)
    (learned, held), (negatives, unseen) = (_halves(rows, draws) for rows in (copies, negatives))
    weights, intercept = _weights(learned, negatives)
    positive, negative = (1 / (1 + np.exp(-(rows @ weights + intercept))) for rows in (held, unseen))
    return Rule((float(weights[0]), float(weights[1])), intercept, _threshold(positive, negative))


def _rows(alignments: Iterable[Alignment]) -> Measures:
    """Return the measures of the alignments that show enough, (n, 2)."""
    usable = (alignment.agreement for alignment in alignments if alignment.agreement.cells >= _FEWEST_CELLS)
    return np.array([_measures(alignment) for alignment in usable], np.float64).reshape(-1, 2)


def _altered(pictures: Sequence[SmallPicture], seed: int) -> Iterator[Alignment]:
    """Yield alignments of pictures with a copy of each kind, and in turn those of two copies with each other."""
    draws = np.random.default_rng(seed)
    for number, picture in enumerate(pictures):
        checkpoint()
        other = SmallPicture(altered(picture.image, KINDS[number % len(KINDS)], draws))
        for place, kind in enumerate(KINDS):
            copy = SmallPicture(altered(picture.image, kind, draws))
            yield aligned(other if (number + place) % 2 else picture, copy)


def _retaken(pictures: Sequence[SmallPicture], seed: int) -> Iterator[Alignment]:
    """Yield alignments of pictures with simulated photographs of the same moment."""
    draws = np.random.default_rng(seed)
    for picture in pictures:
        checkpoint()
        for _ in range(_SIMULATED):
            yield aligned(picture, SmallPicture(retaken(picture.image, draws)))


def _measures(agreement: Agreement) -> Measures:
    """Return the measures of the rule, (2,): what the middle and the low agreement lack, on a logarithmic scale."""
    return -np.log(1.005 - np.array([agreement.middle, agreement.low]))


def _weights(copies: Measures, negatives: Measures) -> tuple[Measures, float]:
    from sklearn.linear_model import LogisticRegression  # deferred: the import takes half a second

    labels = np.repeat([1, 0], [len(copies), len(negatives)])
    model = LogisticRegression(C=_STEEPEST, class_weight="balanced", max_iter=1_000)
    model.fit(np.concatenate([copies, negatives]), labels)
    return np.maximum(model.coef_[0], 0.0), float(model.intercept_[0])


def _halves(rows: Measures, draws: np.random.Generator) -> tuple[Measures, Measures]:
    order = draws.permutation(len(rows))
    return rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]


def _threshold(positive: Measures, negative: Measures) -> float:
    """Return the probability from which on pairs are accepted.

    It is the least one at which the accepted pairs have the precision, both classes counting alike, or a stricter one
    that altered copies pass nearly all: photographs of one moment come between them and other pairs.
    """
    # Each threshold but the least is just above a pair of different photographs, which it refuses.
    strict = min(_MOST, float(np.quantile(positive, 1 - _KEPT)))
    for threshold in np.sort(np.concatenate([[_LEAST], negative[negative >= _LEAST] + 1e-9])):
        true, false = (positive >= threshold).mean(), (negative >= threshold).mean()
        if true / (true + false or 1.0) >= PRECISION:
            return max(float(threshold), strict)
    return 1.0
