"""Votes of the nearest rows with known classes for the class of a row."""

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.papers.musl.samples import Codes, hamming
from crossview.engine.learners.papers.musl.stumps import Bits

NEIGHBORS = 5
"""Number of neighbours that vote, as in the paper."""
_PAIRS_AT_ONCE = 1 << 21


def voted_classes(bits: Bits, known: Bits, codes: Codes, metrics: Codes, n_bits: int) -> Codes:
    """Return the (n,) classes with the most votes of the five nearest known rows of each row.

    Args:
        bits: (n, K T) bits under all metrics.
        known: (m, K T) bits of the known rows.
        codes: (m,) classes of the known rows, from 0.
        metrics: (m,) metrics of these classes, under which the rows are compared.
        n_bits: T.
    """
    found = np.empty(len(bits), np.intp)
    for part in slices(len(bits), len(known), _PAIRS_AT_ONCE):
        found[part] = votes(distances(bits[part], known, metrics, n_bits), codes, NEIGHBORS).argmax(axis=1)
    return found


def distances(bits: Bits, known: Bits, metrics: Codes, n_bits: int) -> NDArray[np.float64]:
    """Return the (n, m) Hamming distances to known rows, each under its own metric; arguments as in
    ``voted_classes``."""
    found = np.zeros((len(bits), len(known)))
    for metric in np.unique(metrics):
        columns, own = slice(metric * n_bits, (metric + 1) * n_bits), metrics == metric
        found[:, own] = hamming(bits[:, columns], known[own, columns])
    return found


def votes(distances: Rows, codes: Codes, k: int) -> Rows:
    """Return the (n, C) votes of the k nearest of m known rows for their classes, from (n, m) distances.

    Hamming distances have many ties: all rows at the k-th distance share the remaining votes equally. Among classes
    with equal votes, the one with the smaller mean distance of its voters is first.
    """
    k = min(k, distances.shape[1])
    kth = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < kth, distances == kth
    shares = nearer + tied * ((k - nearer.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True))
    members = np.eye(codes.max() + 1)[codes]
    found = shares @ members
    mean = np.divide((shares * distances) @ members, found, out=np.zeros_like(found), where=found > 0)
    return np.asarray(found - 1e-6 * mean)
