"""Fusion of hit lists whose distances have no common scale."""

from collections import defaultdict
from collections.abc import Sequence

from crossview.engine.query import Hit, HitList

_CONSTANT = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


def fuse(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Return the k best hits of lists in the order of distance, each key once.

    Hits that are the nearest in all of their lists come first. The further order is that of reciprocal rank fusion,
    then of keys. Equal distances in a list have equal ranks. If a list lacks a hit, perhaps because the item lacks the
    view, the hit counts there like the last one.

    A hit keeps the distance and target of the list in which it ranks best; for equal ranks, of the smaller distance.
    """
    found, last = ranked_hits(lists)

    def order(key: str) -> tuple[bool, float, str]:
        ranks = {number: rank for number, (rank, _) in found[key].items()}
        score = sum(reciprocal(rank) for rank in (last | ranks).values())
        return any(rank > 1 for rank in ranks.values()), -score, key

    ranked = [found[key].values() for key in sorted(found, key=order)[:k]]
    return tuple(min(hits, key=lambda one: (one[0], one[1].distance))[1] for hits in ranked)


def ranked_hits(lists: Sequence[HitList]) -> tuple[dict[str, dict[int, tuple[int, Hit]]], dict[int, int]]:
    """Return the rank and the hit of each key in each list, by number of the list, and the last rank of each list."""
    found: dict[str, dict[int, tuple[int, Hit]]] = defaultdict(dict)
    last: dict[int, int] = {}
    for number, one in enumerate(lists):
        for place, hit in enumerate(one.hits, 1):
            tied = place > 1 and hit.distance == one.hits[place - 2].distance
            last[number] = last[number] if tied else place
            found[hit.key][number] = last[number], hit
    return found, last


def reciprocal(rank: int) -> float:
    """Return what a rank, from 1, adds to the score of a hit."""
    return 1 / (_CONSTANT + rank)
