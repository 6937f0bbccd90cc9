"""Fusion of targets whose distances have no common scale: of the scores of all items, or of hit lists."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.values.query import Hit, HitList
from crossview.index.base import Ids

Floats = NDArray[np.float64]
_CONSTANT = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


def reciprocal_ranks(distances: Floats) -> Floats:
    """Return 1 / (60 + rank) for each distance, (n,); equal distances have equal ranks, from 1."""
    order = np.argsort(distances)
    apart = np.diff(distances[order], prepend=-np.inf) > 0
    ranks = np.maximum.accumulate(np.where(apart, np.arange(1, len(order) + 1), 1))
    found = np.empty(len(order))
    found[order] = 1 / (_CONSTANT + ranks)
    return found


def mean_scores(items: Sequence[Ids], scores: Sequence[Floats], weights: Sequence[float]) -> tuple[Ids, Floats]:
    """Return the ids of all items, ascending, and their weighted mean scores, (n,).

    ``items`` and ``scores`` belong to targets, with positive ``weights``. An item has the mean over the targets that
    have it, so that lacking a view neither helps nor harms.
    """
    size = 1 + max((int(ids.max(initial=-1)) for ids in items), default=-1)
    totals, counts = np.zeros(size), np.zeros(size)
    for ids, values, weight in zip(items, scores, weights, strict=True):
        totals[ids] += weight * values
        counts[ids] += weight
    found = np.flatnonzero(counts)
    return found, totals[found] / counts[found]


def best_first(k: int, *scores: Floats) -> NDArray[np.intp]:
    """Return the places of the k greatest scores, (n,); later scores decide between equal ones, then the place."""
    places = np.arange(len(scores[0]))
    if len(places) > 4 * k:  # sorting a few is several times as fast as sorting all
        least = np.partition(scores[0], len(places) - k)[len(places) - k]
        places = np.flatnonzero(scores[0] >= least)
    order = np.lexsort((places, *(-one[places] for one in reversed(scores))))
    return places[order[:k]]


def fuse(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Return the k best hits of lists in the order of distance, each key once.

    Hits that are the nearest in all of their lists come first. The further order is that of reciprocal rank fusion,
    then of keys. Equal distances in a list have equal ranks. If a list lacks a hit, perhaps because the item lacks the
    view, the hit counts there like the last one.

    A hit keeps the distance and target of the list in which it ranks best; for equal ranks, of the smaller distance.
    """
    found: dict[str, dict[int, tuple[int, Hit]]] = defaultdict(dict)
    last: dict[int, int] = {}
    for number, one in enumerate(lists):
        for place, hit in enumerate(one.hits, 1):
            tied = place > 1 and hit.distance == one.hits[place - 2].distance
            last[number] = last[number] if tied else place
            found[hit.key][number] = last[number], hit

    def order(key: str) -> tuple[bool, float, str]:
        ranks = {number: rank for number, (rank, _) in found[key].items()}
        score = sum(1 / (_CONSTANT + rank) for rank in (last | ranks).values())
        return any(rank > 1 for rank in ranks.values()), -score, key

    ranked = [found[key].values() for key in sorted(found, key=order)[:k]]
    return tuple(min(hits, key=lambda one: (one[0], one[1].distance))[1] for hits in ranked)
