"""Retrieval measures that equally near items cannot sway: means over all orders in which ties could be listed.

Codes tie often, and an order of the ties would be measured with them. After McSherry and Najork, "Computing information
retrieval performance measures efficiently in the presence of tied scores" (ECIR 2008).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
_DIGITS = 9  # distances of floats that differ by rounding only are ties, too


def average_precision(distances: Values, relevant: NDArray[np.bool_]) -> Values:
    """Return, per query, the expected average precision over the whole ranking; NaN where nothing is relevant.

    Args:
        distances: (queries, n) distances, smaller is better.
        relevant: (queries, n) whether the items are relevant.
    """
    before, place, size, hits, hits_before = _tied(distances, relevant)
    rank = before + place + 1
    expected = (place * (hits - 1)) / np.maximum(
        size - 1, 1
    )  # expected hits of the same tie before a hit at this place
    sums = (hits / size * (hits_before + 1 + expected) / rank).sum(axis=1)
    counts = relevant.sum(axis=1)
    means: Values = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means


def average_precision_of_codes(distances: NDArray[np.intp], relevant: NDArray[np.bool_]) -> Values:
    """Return what ``average_precision`` does, for whole distances, in closed form: fast where they are few.

    In a tie of n items with h hits after r items with H hits, the expected precisions at the hits add up to
    h / n (H + 1 - c (r + 1)) (1 / (r + 1) + ... + 1 / (r + n)) + h c with c = (h - 1) / (n - 1).

    Args:
        distances: (queries, n) distances from 0.
        relevant: (queries, n) whether the items are relevant.
    """
    queries, count = distances.shape
    levels = int(distances.max()) + 1
    places = (distances + levels * np.arange(queries)[:, None]).ravel()
    size = np.bincount(places, minlength=queries * levels).reshape(queries, levels)
    hits = np.bincount(places[relevant.ravel()], minlength=queries * levels).reshape(queries, levels)
    rank, hits_before = size.cumsum(axis=1) - size, hits.cumsum(axis=1) - hits
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, count + 1))])
    rate = (hits - 1) / np.maximum(size - 1, 1)
    reciprocals = harmonic[rank + size] - harmonic[rank]
    sums = hits / np.maximum(size, 1) * (hits_before + 1 - rate * (rank + 1)) * reciprocals + hits * rate
    counts = relevant.sum(axis=1)
    sums = np.where(hits > 0, sums, 0.0).sum(axis=1)
    means: Values = np.divide(sums, counts, out=np.full(queries, np.nan), where=counts > 0)
    return means


def _tied(distances: Values, relevant: NDArray[np.bool_]) -> tuple[NDArray[Any], ...]:
    """Return rank by rank, (queries, n) each, of the tie that the rank is in: how many ranks are before it, the rank's
    place in it from 0, its size, its hits, and the hits before it."""
    order = np.argsort(distances := np.round(distances, _DIGITS), axis=1, kind="stable")
    ranked = np.take_along_axis(distances, order, axis=1)
    hits = np.pad(np.take_along_axis(relevant, order, axis=1).cumsum(axis=1), ((0, 0), (1, 0)))
    rank = np.broadcast_to(np.arange(ranked.shape[1]), ranked.shape)
    new = np.diff(ranked, axis=1, prepend=-np.inf) > 0
    start = np.maximum.accumulate(np.where(new, rank, 0), axis=1)
    last = np.pad(new[:, 1:], ((0, 0), (0, 1)), constant_values=True)
    ends = np.where(last, rank + 1, ranked.shape[1])[:, ::-1]
    end = np.minimum.accumulate(ends, axis=1)[:, ::-1]
    hits_before = np.take_along_axis(hits, start, axis=1)
    inside = np.take_along_axis(hits, end, axis=1) - hits_before
    return start, rank - start, end - start, inside, hits_before
