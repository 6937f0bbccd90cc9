"""Rankings: the lists of a search before the content of their items is read, and the hits that they become."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.spaces.answer_size import take_room
from crossview.engine.spaces.target import Near
from crossview.engine.spaces.version import SearchState
from crossview.engine.values.hits import UNLIKELY, HitList
from crossview.engine.values.strategy import Nearest, Strategy
from crossview.features.base import QueryWords
from crossview.features.stages import stage
from crossview.index.base import Ids

CONSTANT = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""
Floats = NDArray[np.float64]


class Ranking(NamedTuple):
    """One list of a search, with a value for each hit in its order."""

    query: int
    """Position of the query in the request."""
    name: str
    """The target of the list, or what stands for it."""
    ids: Ids
    """(n,)."""
    distances: Floats
    """(n,)."""
    crossings: list[tuple[str, str]]
    """Query views, each with the name of a target."""
    at: NDArray[np.int32] | None = None
    """The position of each hit's crossing in ``crossings``, (n,); None: the first one."""
    matches: Floats | None = None
    """(n,), NaN without a match; None if no hit has one."""
    similarities: Floats | None = None
    """(n,); None if the list has none."""
    near: NDArray[np.bool_] | None = None
    """Whether the target of each crossing speaks for each hit, (n, crossings); None in a list that is not fused."""
    scores: Floats | None = None
    """The scores by the sorted names of the axes, (n, axes); None in a space without axes."""
    words: QueryWords | None = None
    is_doubtful: bool = False
    """Whether even the first hit resembles the query no more than chance would have it."""

    def judged(self) -> "Ranking":
        """Return the whole list, doubtful also if no hit has a match of at least one half; pages keep its doubt."""
        unlikely = self.matches is not None and len(self.ids) > 0 and bool((self.matches < UNLIKELY).all())
        return self._replace(is_doubtful=True) if unlikely else self

    def take(self, which: Any) -> "Ranking":
        """Return some of the hits; ``which`` is a mask, places or a slice."""
        names = "ids", "distances", "at", "matches", "similarities", "near", "scores"
        columns = {name: getattr(self, name) for name in names}
        return self._replace(**{name: column[which] for name, column in columns.items() if column is not None})


def joined(rankings: Sequence[Ranking]) -> Ranking:
    """Return the hits of one query in several targets, one list after the other."""
    sizes = [len(ranking.ids) for ranking in rankings]
    matches = [
        np.full(len(ranking.ids), np.nan) if ranking.matches is None else ranking.matches for ranking in rankings
    ]
    return Ranking(
        query=rankings[0].query,
        name="",
        ids=np.concatenate([ranking.ids for ranking in rankings]),
        distances=np.concatenate([ranking.distances for ranking in rankings]),
        crossings=[ranking.crossings[0] for ranking in rankings],
        at=np.repeat(np.arange(len(rankings), dtype=np.int32), sizes),
        matches=np.concatenate(matches),
        scores=None if rankings[0].scores is None else np.concatenate([ranking.scores for ranking in rankings]),
    )


def by_distance(rankings: Sequence[Ranking], k: int) -> Ranking:
    """Return the k nearest hits of lists on a common scale, each item once, where it is nearest."""
    whole = joined(rankings)
    order = np.argsort(whole.distances, kind="stable")
    firsts = np.sort(np.unique(whole.ids[order], return_index=True)[1])
    return whole.take(order[firsts[:k]])


def by_rank(rankings: Sequence[Ranking], k: int, key_of: Callable[[int], str]) -> Ranking:
    """Return the k best hits of lists without a common scale, each item once: see ``fused_places``."""
    lists = [Near(ranking.ids, ranking.distances) for ranking in rankings]
    starts = np.cumsum([0, *(len(near.ids) for near in lists)]).tolist()
    return joined(rankings).take([starts[number] + place for number, place in fused_places(lists, k, key_of)])


def fused_places(lists: Sequence[Near], k: int, key_of: Callable[[int], str]) -> list[tuple[int, int]]:
    """Return the list and the place in it of the k best items of lists in the order of distance, each item once.

    Items that are the nearest in all of their lists come first. The further order is that of reciprocal rank fusion,
    then of keys. Equal distances in a list have equal ranks. If a list lacks an item, perhaps because the item lacks
    the view, the item counts there like the last one.

    An item stands where it ranks best; for equal ranks, where its distance is smaller.
    """
    ranks: dict[int, dict[int, tuple[int, float, int]]] = defaultdict(dict)
    last: dict[int, int] = {}
    for number, near in enumerate(lists):
        distances = near.distances.tolist()
        for place, (item, distance) in enumerate(zip(near.ids.tolist(), distances, strict=True)):
            tied = place > 0 and distance == distances[place - 1]
            last[number] = last[number] if tied else place + 1
            ranks[item][number] = last[number], distance, place

    def order(item: int) -> tuple[bool, float, str]:
        own = {number: rank for number, (rank, _, _) in ranks[item].items()}
        score = sum(1 / (CONSTANT + rank) for rank in (last | own).values())
        return any(rank > 1 for rank in own.values()), -score, key_of(item)

    best = [min(ranks[item].items(), key=lambda of_list: of_list[1][:2]) for item in sorted(ranks, key=order)[:k]]
    return [(number, place) for number, (_, _, place) in best]


def read_hits(
    state: SearchState, strategy: Strategy, rankings: Sequence[Ranking], words: Mapping[int, QueryWords]
) -> list[HitList]:
    """Return rankings as lists of hits, with the content of their items; ``words`` are those of queries, by number.

    Raises NotReadyError if hits have a probability, and a query's view and a target have no threshold, and the errors
    of ``take_room``.
    """
    with stage("read hits"):
        items = state.version.shown({item for ranking in rankings for item in ranking.ids.tolist()})
    lists, axes = [], sorted(state.space.axes)
    probable = strategy if isinstance(strategy, Nearest) and strategy.probabilities else None
    for ranking in rankings:
        contents, count = [items[item] for item in ranking.ids.tolist()], len(ranking.ids)
        take_room(sum([item.size for item in contents]))
        # Most searches have one crossing for all hits, and nothing else.
        crossings, columns = ranking.crossings[:1] * count, dict[str, list[Any]]()
        if ranking.at is not None:
            crossings = [ranking.crossings[at] for at in ranking.at.tolist()]
        if ranking.matches is not None:
            columns["match"] = [None if math.isnan(match) else match for match in ranking.matches.tolist()]
        if ranking.similarities is not None:
            columns["similarity"] = ranking.similarities.tolist()
        if ranking.near is not None:
            names = [target for _, target in ranking.crossings]
            columns["targets"] = [tuple(dict.fromkeys(compress(names, row))) for row in ranking.near.tolist()]
        if ranking.scores is not None:
            columns["scores"] = [dict(zip(axes, row, strict=True)) for row in ranking.scores.tolist()]
        hits, values = [], [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for item, distance, (view, target), of_hit in zip(
            contents, ranking.distances.tolist(), crossings, values or [{}] * count, strict=True
        ):
            if probable is not None:
                threshold = state.version.threshold(state.space, view, target)
                rate = threshold.base_rate if probable.base_rate is None else probable.base_rate
                of_hit = of_hit | {"probability": threshold.probability(distance, rate), "base_rate": rate}
            hits.append(item.hit(distance, target, **of_hit))
        known = words.get(ranking.query, ranking.words)
        lists.append(HitList(ranking.query, ranking.name, tuple(hits), known, is_doubtful=ranking.is_doubtful))
    return lists
