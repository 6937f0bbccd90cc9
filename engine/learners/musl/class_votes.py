"""The class of a row, by a vote of the nearest rows whose classes are known."""

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.musl.samples import Codes, hamming
from crossview.engine.learners.musl.stumps import Bits
from crossview.engine.learners.view_rows import Rows, slices

NEIGHBORS = 5
_PAIRS_AT_ONCE = 1 << 21


def voted_classes(bits: Bits, known: Bits, codes: Codes, metrics: Codes, n_bits: int) -> Codes:
    """Return the (n,) classes that most of the five nearest known rows of each row have.

    Args:
        bits: (n, K T) under all metrics.
        known: (m, K T).
        codes: (m,) classes of the known rows, from 0.
        metrics: (m,) the metrics of these classes, under which they are compared.
        n_bits: T.
    """
    found = np.empty(len(bits), np.intp)
    for part in slices(len(bits), len(known), _PAIRS_AT_ONCE):
        found[part] = votes(distances(bits[part], known, metrics, n_bits), codes, NEIGHBORS).argmax(axis=1)
    return found


def distances(bits: Bits, known: Bits, metrics: Codes, n_bits: int) -> NDArray[np.float64]:
    """Return the (n, m) Hamming distances to known rows, each under its own metric; arguments as above."""
    found = np.zeros((len(bits), len(known)))
    for metric in np.unique(metrics):
        columns, own = slice(metric * n_bits, (metric + 1) * n_bits), metrics == metric
        found[:, own] = hamming(bits[:, columns], known[own, columns])
    return found


def votes(distances: Rows, codes: Codes, k: int) -> Rows:
    """Return the (n, C) votes of the k nearest of m known rows for their classes, from (n, m) distances.

    Rows as far as the k-th share what is left of the k votes, for Hamming distances have many ties; of classes with
    as many votes, the one whose voters are nearer on average is ahead.
    """
    k = min(k, distances.shape[1])
    kth = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < kth, distances == kth
    shares = nearer + tied * ((k - nearer.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True))
    members = np.eye(codes.max() + 1)[codes]
    found = shares @ members
    mean = np.divide((shares * distances) @ members, found, out=np.zeros_like(found), where=found > 0)
    return np.asarray(found - 1e-6 * mean)
