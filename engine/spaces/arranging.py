"""The arrangement of hits beyond their distances: groups, diversity, and the order of a field.

A search ranks the items first, without the content of their hits, because groups can need many more items than it
shows.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.copies import first_copies
from crossview.engine.spaces.examples import as_numbers
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.matching import hits_of
from crossview.engine.spaces.scores import in_order, order_of
from crossview.engine.spaces.target import Neighbor, Target
from crossview.engine.spaces.version import Version
from crossview.engine.values.conditions.filter import field_of
from crossview.engine.values.conditions.tree import Value
from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.hits import Hit, HitList
from crossview.engine.values.query import PER_DUPLICATE, SearchRequest
from crossview.index.base import Ids

Floats = NDArray[np.float64]
Answer = Callable[[Version, SearchRequest], list[HitList]]
"""A function that answers a request without an arrangement."""
GROUPED = ("label", "attribute")
"""The kinds of fields by which hits can be grouped."""
_MORE = 4
"""Factor by which a search looks for more hits until there are enough groups."""
_POOL, MOST_IN_POOL = 5, 1_000
"""Hits among which diversity chooses, for each wanted hit, and at most."""


@dataclass(frozen=True)
class Ranking:
    """Hit lists without the content of their items."""

    lists: Sequence[HitList]
    ids: Mapping[str, int]
    """The items of the hits, by key."""

    @classmethod
    def of(cls, version: Version, request: SearchRequest, answer: Answer) -> "Ranking":
        """Return the lists of an answer."""
        found: dict[str, int] = {}
        return cls(answer(replace(version, found=found), request), found)

    def items(self, hits: Sequence[Hit]) -> Ids:
        """Return the ids of the items of hits, (n,)."""
        return np.array([self.ids[hit.key] for hit in hits], np.int64)

    def read(self, version: Version) -> list[HitList]:
        """Return the lists with the content of the items."""
        return [replace(one, hits=read_hits(version, self.items(one.hits), one.hits)) for one in self.lists]


def read_hits(version: Version, ids: Ids, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with the content of their items, (n,)."""
    near = [Neighbor(item, hit.distance) for item, hit in zip(ids.tolist(), hits, strict=True)]
    (read,) = hits_of(version, "", [near])
    for hit, known in zip(read, hits, strict=True):
        vars(hit).update({name: getattr(known, name) for name in OF_SEARCH})
    return read


OF_SEARCH = ("target", "scores", "match", "probability", "base_rate")
"""The fields of a hit that belong to the search and not to the item."""


def plain(request: SearchRequest) -> SearchRequest:
    """Return a request without its arrangement."""
    sort_by = request.sort_by if request.strategy.lists_items else ""
    return replace(request, sort_by=sort_by, per="", hits_per=1, diversity=0.0)


def is_arranged(request: SearchRequest, axes: Sequence[str]) -> bool:
    """Return whether hits have an order or a choice that a scan of a space with axes does not know."""
    return bool(request.per or request.diversity or _field_order(request, axes))


def _field_order(request: SearchRequest, axes: Sequence[str]) -> str:
    """Return the order of a request by a field of items; "" for another order."""
    return request.sort_by if request.sort_by and order_of(request.sort_by)[0] not in axes else ""


def ranked(
    version: Version, indexed: IndexedSpace, targets: Sequence[Target], request: SearchRequest, answer: Answer
) -> Ranking:
    """Return the arranged lists of a request; ``targets`` are those that it searches."""
    ranking = _grouped(version, request, answer)
    lists = ranking.lists
    if request.diversity:
        lists = [replace(one, hits=_diverse(ranking, indexed, targets, request, one)) for one in lists]
    lists = [replace(one, hits=one.hits[: request.k]) for one in lists]
    if order := _field_order(request, indexed.space.axes):
        lists = [replace(one, hits=_in_order(version, order, ranking, one.hits)) for one in lists]
    elif not request.strategy.lists_items:
        lists = in_order(request.sort_by, lists)
    return replace(ranking, lists=lists)


def _grouped(version: Version, request: SearchRequest, answer: Answer) -> Ranking:
    """Return a ranking whose lists lack the hits beyond the limit of their groups, as long as the request needs."""
    wanted = max(request.k, min(MOST_IN_POOL, _POOL * request.k)) if request.diversity else request.k
    fetched = wanted * (_MORE if request.per else 1)
    while True:
        checkpoint()
        ranking = Ranking.of(version, replace(plain(request), k=fetched), answer)
        if not request.per:
            return ranking
        lists = [replace(one, hits=_first_of_groups(version, request, ranking, one.hits)) for one in ranking.lists]
        if all(
            len(kept.hits) >= wanted or len(one.hits) < fetched for kept, one in zip(lists, ranking.lists, strict=True)
        ):
            return replace(ranking, lists=[replace(one, hits=one.hits[:wanted]) for one in lists])
        fetched *= _MORE


def _first_of_groups(
    version: Version, request: SearchRequest, ranking: Ranking, hits: Sequence[Hit]
) -> tuple[Hit, ...]:
    """Return the hits of which fewer than ``hits_per`` hits before have a common value; all without a value."""
    ids = ranking.items(hits)
    values = _values(version, request.per, ids)
    counts, kept = Counter[tuple[type, Value]](), list[Hit]()
    for item, hit in zip(ids.tolist(), hits, strict=True):
        own = {(type(value), value) for value in values.get(item, ())}
        if all(counts[value] < request.hits_per for value in own):
            counts.update(own)
            kept.append(hit)
    return tuple(kept)


def _values(version: Version, per: str, ids: Ids) -> Mapping[int, tuple[Value, ...]]:
    """Return the values by which items, (n,) in the order of their hits, are grouped."""
    if per != PER_DUPLICATE:
        return version.values(field_of(per), ids)
    with version.read() as tx:
        return {item: (first,) for item, first in first_copies(tx, ids.tolist()).items()}


def _in_order(version: Version, sort_by: str, ranking: Ranking, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits in the order of a field; NotFoundError if no item of the collection has the field."""
    name, sign = order_of(sort_by)
    field = field_of(name)
    if not version.has_values(field):
        raise NotFoundError(
            f"hits cannot be sorted by {name!r}: no item has this attribute, and the space no such score"
        )
    return tuple([hits[place] for place in version.order(field, ranking.items(hits), sign > 0).tolist()])


def _diverse(
    ranking: Ranking, indexed: IndexedSpace, targets: Sequence[Target], request: SearchRequest, found: HitList
) -> tuple[Hit, ...]:
    """Return k hits, each a compromise between relevance and distance to the hits before it: maximal marginal
    relevance (Carbonell and Goldstein, SIGIR 1998)."""
    hits = found.hits
    if not hits:
        return hits
    own = [target for target in targets if str(target) == found.target] or targets
    apart = _apart(indexed, own, ranking.items(hits))
    relevance = _relevance(hits)
    chosen, nearest = [0], apart[0].copy()
    while len(chosen) < min(request.k, len(hits)):
        gain = (1 - request.diversity) * relevance + request.diversity * nearest
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
        nearest = np.minimum(nearest, apart[chosen[-1]])
    return tuple([hits[place] for place in chosen])


def _relevance(hits: Sequence[Hit]) -> Floats:
    """Return the relevance of hits in their order, from 1 for the first to 0 for the last: by distance, or by rank if
    the list is not in the order of distances."""
    distances = np.array([hit.distance for hit in hits])
    if (np.diff(distances) < 0).any() or distances[0] == distances[-1]:
        distances = np.arange(len(hits), dtype=np.float64)
    relevance: Floats = (distances[-1] - distances) / max(distances[-1] - distances[0], 1e-12)
    return relevance


def _apart(indexed: IndexedSpace, targets: Sequence[Target], ids: Ids) -> Floats:
    """Return the distances between items, (n, n), from 0 to 1: the mean over targets, each divided by its greatest."""
    total, count = np.zeros((len(ids), len(ids))), np.zeros((len(ids), len(ids)))
    for target in targets:
        index = indexed.indexes[target].index
        having = np.flatnonzero(np.isin(ids, index.ids()))
        if not len(having):
            continue
        vectors = as_numbers(target, index.get(ids[having])).astype(np.float64)
        squares = np.einsum("nd,nd->n", vectors, vectors)
        gaps = np.sqrt(np.maximum(squares[:, None] + squares - 2 * vectors @ vectors.T, 0))
        total[np.ix_(having, having)] += gaps / (gaps.max() or 1.0)
        count[np.ix_(having, having)] += 1
    return np.where(count > 0, total / np.maximum(count, 1), 1.0)
