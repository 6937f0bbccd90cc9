"""Arrangements of hits: groups, such as copies of a picture, diversity, and the order of a field or score."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.checks import normal
from crossview.engine.catalog.fingerprints import StoredPicture
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.examples import as_numbers
from crossview.engine.spaces.rankings import Floats, Ranking
from crossview.engine.spaces.scores import order_of
from crossview.engine.spaces.target import Target
from crossview.engine.spaces.version import SearchState, Version
from crossview.engine.values.conditions.filter import field_of
from crossview.engine.values.conditions.tree import Value
from crossview.engine.values.errors import NotFoundError
from crossview.engine.values.query import PER_DUPLICATE, SearchRequest
from crossview.features.errors import ImageError
from crossview.features.fingerprint import ORIENTATIONS, packed_fingerprints
from crossview.index.base import Ids

GROUPED = ("label", "attribute")
"""The kinds of fields by which hits can be grouped."""
_MORE = 4
"""Factor by which a search looks for more hits until there are enough groups."""
_POOL, MOST_IN_POOL = 5, 1_000
"""Hits among which diversity chooses, for each wanted hit, and at most."""
_NEAR = 4
"""Number of differing bits of 64, in the best orientation, up to which pictures are copies: among the 499,500 pairs of
the photographs of Corel, none is as near. Edited and cropped copies can be farther."""
MOST_COMPARED = 10_000
"""Maximum number of hits of a search without copies: each is compared with all before it."""
Codes = NDArray[np.uint8]


def is_arranged(request: SearchRequest, axes: Sequence[str]) -> bool:
    """Return whether hits have groups, diversity, or the order of a field that is not an axis of the space."""
    order = order_of(request.strategy.sort_by)[0]
    return bool(request.per or request.diversity or (order and order not in axes))


def arranged(
    state: SearchState,
    request: SearchRequest,
    targets: Sequence[Target],
    scan: Callable[[int], list[Ranking]],
) -> list[Ranking]:
    """Return the lists of a request; ``scan`` returns lists of so many hits in the order in which they are found.

    ``targets`` are those that the request searches, in which diversity compares hits.
    """
    k, sort_by = request.k, request.strategy.sort_by
    count = max(k, min(MOST_IN_POOL, _POOL * k)) if request.diversity else k
    lists = _grouped(state.version, request, count, scan) if request.per else scan(count)
    if request.diversity:
        lists = [_diverse(ranking, state, targets, request) for ranking in lists]
    if sort_by and not request.strategy.lists_items:
        lists = [_in_order(ranking, state, sort_by) for ranking in lists]
    return lists


def _grouped(
    version: Version, request: SearchRequest, count: int, scan: Callable[[int], list[Ranking]]
) -> list[Ranking]:
    """Return lists without the hits beyond the limit of their groups, as long as the request needs."""
    fetched = count * _MORE
    while True:
        checkpoint()
        lists = scan(fetched)
        limited = [ranking.take(_firsts_of_groups(version, request, ranking.ids)) for ranking in lists]
        if all(len(some.ids) >= count or len(every.ids) < fetched for some, every in zip(limited, lists, strict=True)):
            return [some.take(slice(count)) for some in limited]
        fetched *= _MORE


def _firsts_of_groups(version: Version, request: SearchRequest, ids: Ids) -> list[int]:
    """Return the places of the hits that have no value, or one that fewer than ``hits_per`` hits before have."""
    if request.per == PER_DUPLICATE:
        with version.read() as tx:
            values: Mapping[int, tuple[Value, ...]] = {
                item: (first,) for item, first in first_copies(tx, ids.tolist()).items()
            }
    else:
        values = version.values(field_of(request.per), ids)
    counts, places = Counter[tuple[type, Value]](), list[int]()
    for place, item in enumerate(ids.tolist()):
        own = {(type(value), value) for value in values.get(item, ())}
        if all(counts[value] < request.hits_per for value in own):
            counts.update(own)
            places.append(place)
    return places


def _in_order(ranking: Ranking, state: SearchState, sort_by: str) -> Ranking:
    """Return the hits in the order of a score or a field; NotFoundError if no item of the collection has the field."""
    name, sign = order_of(sort_by)
    if name in state.space.axes and ranking.scores is not None:
        column = ranking.scores[:, sorted(state.space.axes).index(name)]
        return ranking.take(np.argsort(-sign * column, kind="stable"))
    field = field_of(name)
    if not state.version.has_values(field):
        raise NotFoundError(
            f"hits cannot be sorted by {name!r}: no item has this attribute, and the space no such score"
        )
    return ranking.take(state.version.order(field, ranking.ids, sign > 0))


def _diverse(ranking: Ranking, state: SearchState, targets: Sequence[Target], request: SearchRequest) -> Ranking:
    """Return k hits, each a compromise between relevance and distance to the hits before it: maximal marginal
    relevance (Carbonell and Goldstein, SIGIR 1998)."""
    ids = ranking.ids
    if not len(ids):
        return ranking
    apart = _apart(state, [target for target in targets if str(target) == ranking.name] or targets, ids)
    # Relevance falls from 1 to 0 by distance, or by rank if the list is not in the order of distances.
    distances = ranking.distances
    if (np.diff(distances) < 0).any() or distances[0] == distances[-1]:
        distances = np.arange(len(ids), dtype=np.float64)
    relevance = (distances[-1] - distances) / max(distances[-1] - distances[0], 1e-12)
    places, nearest = [0], apart[0].copy()
    while len(places) < min(request.k, len(ids)):
        gain = (1 - request.diversity) * relevance + request.diversity * nearest
        gain[places] = -np.inf
        places.append(int(gain.argmax()))
        nearest = np.minimum(nearest, apart[places[-1]])
    return ranking.take(places)


def _apart(state: SearchState, targets: Sequence[Target], ids: Ids) -> Floats:
    """Return the distances between items, (n, n), from 0 to 1: the mean over targets, each divided by its greatest."""
    total, count = np.zeros((len(ids), len(ids))), np.zeros((len(ids), len(ids)))
    for target in targets:
        index = state.indexed.indexes[target].index
        having = np.flatnonzero(np.isin(ids, index.ids()))
        if not len(having):
            continue
        vectors = as_numbers(target, index.get(ids[having])).astype(np.float64)
        squares = np.einsum("nd,nd->n", vectors, vectors)
        gaps = np.sqrt(np.maximum(squares[:, None] + squares - 2 * vectors @ vectors.T, 0))
        total[np.ix_(having, having)] += gaps / (gaps.max() or 1.0)
        count[np.ix_(having, having)] += 1
    return np.where(count > 0, total / np.maximum(count, 1), 1.0)


def first_copies(tx: Transaction, ids: Sequence[int]) -> dict[int, int]:
    """Return, for each picture among items in their order, the first of them that it is a copy of, or itself.

    Judgements of pairs come before fingerprints. Items without a picture are left out.
    """
    pictures = {picture.id: picture for picture in tx.fingerprints.pictures(ids)}
    codes, judged = _codes(tx, pictures), _judged(tx, pictures)
    firsts = _Firsts(len(codes), judged)
    copies = dict[int, int]()
    for item in ids:
        checkpoint()
        if item in codes:
            copies[item] = firsts.of(item, codes[item], pictures[item].content_hash)
    return copies


class _Firsts:
    """The first pictures of their copies so far, in their order."""

    def __init__(self, most: int, judged: Mapping[tuple[int, int], bool]) -> None:
        self._judged, self._partners = judged, defaultdict[int, list[int]](list)
        for first, second in judged:
            self._partners[second].append(first)
        self._items, self._places = list[int](), dict[int, int]()
        self._of_content: dict[str, list[int]] = defaultdict(list)
        self._turned = np.empty((most, len(ORIENTATIONS)), np.uint64)

    def of(self, item: int, codes: Codes, content: str) -> int:
        """Return the first picture of which an item with fingerprints, (8, 8), is a copy; add the item if none is."""
        turned = codes.view(np.uint64)[:, 0]
        apart = np.bitwise_count(self._turned[: len(self._items)] ^ turned[0])
        places = {*np.flatnonzero((apart <= _NEAR).any(axis=1)).tolist(), *self._of_content[content]}
        places |= {self._places[other] for other in self._partners[item] if other in self._places}
        for first in (self._items[place] for place in sorted(places)):
            if self._judged.get((first, item), True):
                return first
        self._places[item] = place = len(self._items)
        self._turned[place] = turned
        self._items.append(item)
        if content:
            self._of_content[content].append(place)
        return item


def _codes(tx: Transaction, pictures: dict[int, StoredPicture]) -> dict[int, Codes]:
    """Return the fingerprints of pictures, (8, 8) each; those that are not stored are made from the thumbnails."""
    packed = {item: picture.codes for item, picture in pictures.items() if picture.codes}
    for item, jpeg in tx.fingerprints.thumbnails(pictures.keys() - packed.keys()):
        try:
            packed[item] = packed_fingerprints(jpeg)
        except ImageError:
            continue  # a picture that cannot be read is in no group
    return {item: np.frombuffer(code, np.uint8).reshape(len(ORIENTATIONS), -1) for item, code in packed.items()}


def _judged(tx: Transaction, pictures: dict[int, StoredPicture]) -> dict[tuple[int, int], bool]:
    """Return the judgements that count on pairs of pictures, in both orders."""
    ids = {normal(picture.key): picture.id for picture in pictures.values()}
    judgements = {}
    for judgement in tx.pair_judgements.all():
        if judgement.first in ids and judgement.second in ids:
            first, second = ids[judgement.first], ids[judgement.second]
            judgements[first, second] = judgements[second, first] = judgement.same
    return judgements
