"""Gradient boosting of metrics: Algorithm 1 of Babenko, Branson and Belongie (ICCV 2009)."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from crossview.engine.learners.papers.musl.samples import Codes, Sample
from crossview.engine.learners.papers.musl.stumps import Bits
from crossview.engine.runtime.cancellation import checkpoint

_NO_SHARE = 1e-3  # classes below this share of a metric's largest are left out, which saves the products of their pairs
_LIKELY = 64  # number of candidates with the highest bounds to compute first
_ROUNDING = 1e-5  # tolerance for float32 rounding, as a share of the largest bound

Likelihoods = NDArray[np.float64]
Chosen = NDArray[np.intp]


def boost(samples: Iterator[Sample], metrics: int, n_bits: int, r: float) -> tuple[Chosen, Likelihoods]:
    """Learn K metrics together, to find the metric of each class.

    Args:
        samples: the sample of each round; the same one, or a different draw each time.
        metrics: K.
        n_bits: T, the number of rounds.
        r: accuracy of the soft maximum (8), if the weights of all pairs add up to 1.

    Returns:
        (K, T) chosen candidates, and (K, C) log likelihoods of the classes under the metrics.
    """
    chosen = np.zeros((metrics, 0), dtype=np.intp)
    last: Sample | None = None
    for sample in islice(samples, n_bits):
        if sample is not last:
            likelihoods, last = likelihoods_under(sample, chosen), sample
        chosen = np.hstack([chosen, np.zeros((metrics, 1), dtype=np.intp)])
        for k, bits in enumerate(chosen):
            # All pairs weigh the same at first; metrics differ because shares are computed again before each metric.
            bits[-1] = best_candidate(sample, bits[:-1], softmax(r * likelihoods, axis=0)[k])
            likelihoods[k] = sample.pairs.likelihoods(sample.candidates[:, bits])
    return chosen, likelihoods


def boost_assigned(samples: Iterator[Sample], assignment: Codes, metrics: int, n_bits: int) -> Chosen:
    """Learn each of K metrics for its classes, or for all classes if it has none; return (K, T) candidates."""
    shares = (assignment == np.arange(metrics)[:, None]).astype(np.float64)
    shares[shares.sum(axis=1) == 0] = 1.0
    chosen = np.zeros((metrics, 0), dtype=np.intp)
    for sample in islice(samples, n_bits):
        bits = [best_candidate(sample, before, share) for before, share in zip(chosen, shares, strict=True)]
        chosen = np.column_stack([chosen, bits])
    return chosen


def likelihoods_under(sample: Sample, chosen: Chosen) -> Likelihoods:
    """Return the (K, C) log likelihoods of the classes under the metrics of (K, t) chosen candidates."""
    found = []
    for bits in chosen:
        checkpoint()
        found.append(sample.pairs.likelihoods(sample.candidates[:, bits]))
    return np.array(found)


def best_candidate(sample: Sample, chosen: Chosen, shares: NDArray[np.float64]) -> int:
    """Return the candidate with the smallest error: the one along which the objective rises most.

    As printed, line 4 of the algorithm has h = 1 for a positive pair; but h is a distance, so it should be 0.

    Args:
        sample: the rows and their pairs.
        chosen: (t,) candidates of the metric so far.
        shares: (C,), the share of the metric in each class.
    """
    checkpoint()
    shares = np.where(shares > _NO_SHARE * shares.max(), shares / shares.max(), 0.0)
    slopes, columns = sample.pairs.slopes(sample.candidates[:, chosen], shares)
    return steepest(sample.candidates, slopes, columns)


def steepest(candidates: Bits, slopes: NDArray[np.float32], columns: Codes) -> int:
    """Return the position of the candidate with the largest of the ``rises``.

    Only candidates whose bound reaches the best known rise are multiplied out. A rise is the sum of slopes_ij (b_i +
    b_j - 2 b_i b_j), so a row k with b_k = 1 adds at most the sum of slopes_kj and of |slopes_ik|. The bounds exclude
    columns that are 1 in few rows, such as those of rare words.
    """
    bounds = slopes.sum(axis=1)
    bounds[columns] += np.abs(slopes).sum(axis=0)
    most = bounds @ candidates
    likely = np.argpartition(most, -min(_LIKELY, len(most)))[-_LIKELY:]
    least = rises(candidates[:, likely], slopes, columns).max()
    left = np.flatnonzero(most >= least - _ROUNDING * np.abs(most).max())
    return int(left[np.argmax(rises(candidates[:, left], slopes, columns))])


def rises(candidates: Bits, slopes: NDArray[np.float32], columns: Codes) -> NDArray[np.float32]:
    """Return, for each of (n, M) candidates b, the sum of slopes_ij |b_i - b_j| over pairs, by one product.

    Args:
        candidates: 0 or 1.
        slopes: (n, m) slopes of the pairs (i, j).
        columns: (m,) the rows j.
    """
    others = candidates[columns]
    both = np.einsum("jM,jM->M", others, slopes.T @ candidates)
    return np.asarray(slopes.sum(axis=1) @ candidates + slopes.sum(axis=0) @ others - 2 * both)
