"""Gradient boosting of metrics: Algorithm 1 of Babenko, Branson and Belongie (ICCV 2009)."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from crossview.engine.learners.musl.samples import Codes, Sample
from crossview.engine.learners.musl.stumps import Bits
from crossview.engine.runtime.cancellation import checkpoint

_NO_SHARE = 1e-3  # of the largest of a metric: the pairs of classes below it are left out, which saves their products
_LIKELY = 64  # candidates of the highest bounds, of which the best is sought first
_ROUNDING = 1e-5  # of the largest bound

Likelihoods = NDArray[np.float64]
Chosen = NDArray[np.intp]


def boost(samples: Iterator[Sample], metrics: int, n_bits: int, r: float) -> tuple[Chosen, Likelihoods]:
    """Learn K metrics together, to find out which metric each class uses.

    Args:
        samples: what each round makes pairs of; one and the same, or drawn anew.
        metrics: K.
        n_bits: T, the rounds.
        r: accuracy of the soft maximum (8), where the weights of all pairs add up to 1.

    Returns:
        (K, T) the candidates chosen, and (K, C) the log likelihoods of the classes under the metrics.
    """
    chosen = np.zeros((metrics, 0), dtype=np.intp)
    last: Sample | None = None
    for sample in islice(samples, n_bits):
        if sample is not last:
            likelihoods, last = likelihoods_under(sample, chosen), sample
        chosen = np.hstack([chosen, np.zeros((metrics, 1), dtype=np.intp)])
        for k, bits in enumerate(chosen):
            # All pairs weigh the same at first; that shares are computed anew for each metric makes metrics differ.
            bits[-1] = best_candidate(sample, bits[:-1], softmax(r * likelihoods, axis=0)[k])
            likelihoods[k] = sample.pairs.likelihoods(sample.candidates[:, bits])
    return chosen, likelihoods


def boost_assigned(samples: Iterator[Sample], assignment: Codes, metrics: int, n_bits: int) -> Chosen:
    """Learn each of K metrics for the classes that are its; one without any for all of them; (K, T) candidates."""
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
    """Return the weak classifier that errs least: the candidate along which the objective rises most.

    As printed, line 4 of the algorithm has h = 1 where a pair is positive; h is a distance, so it should be 0.

    Args:
        sample: what pairs are made of.
        chosen: (t,) candidates that make the metric so far.
        shares: (C,), how far each class is this metric's.
    """
    checkpoint()
    shares = np.where(shares > _NO_SHARE * shares.max(), shares / shares.max(), 0.0)
    slopes, columns = sample.pairs.slopes(sample.candidates[:, chosen], shares)
    return steepest(sample.candidates, slopes, columns)


def steepest(candidates: Bits, slopes: NDArray[np.float32], columns: Codes) -> int:
    """Return which of the candidates has the largest of the ``rises``.

    Only those are multiplied out whose bound reaches the best known. A rise is the sum of slopes_ij (b_i + b_j -
    2 b_i b_j), so a row k with b_k = 1 adds at most the sum of slopes_kj and of |slopes_ik|. Columns that are 1 in few
    rows, as those of rare words, are left out by that.
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
        slopes: (n, m) of the pairs (i, j).
        columns: (m,) the rows j.
    """
    others = candidates[columns]
    both = np.einsum("jM,jM->M", others, slopes.T @ candidates)
    return np.asarray(slopes.sum(axis=1) @ candidates + slopes.sum(axis=0) @ others - 2 * both)
