"""One search: inputs to rows, rows to probes, probes to neighbours, neighbours to hits; and the embeddings alone."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from engine.catalog.catalog import Transaction
from engine.catalog.joined import joined_view
from engine.catalog.lookup import check_filter
from engine.errors import InvalidInputError, NotReadyError
from engine.query import Embedding, Hit, HitList, Query, SearchRequest, check_base_rate
from engine.spaces.answer_size import take_room
from engine.spaces.fusion import fuse
from engine.spaces.indexed import IndexedSpace
from engine.spaces.item_embeddings import ITEMS_AT_ONCE, ItemEmbeddings
from engine.spaces.loaded import LoadedSpaces
from engine.spaces.neighbor import Neighbor
from engine.spaces.query_rows import check_inputs, query_rows
from engine.spaces.scores import check_axes, check_scores, in_order
from engine.spaces.space import Space, Vectors
from engine.spaces.target import Target, on_common_scale
from engine.spaces.version import StaleError, Version
from engine.spaces.versions import TargetsOf, Versions
from engine.spaces.weighting import check_notions, check_weights, nearest_by_weights, shown
from index.base import Selection

_OVERFETCH = 3
"""Hits searched for in every target for each one wanted, before lists are merged."""

_PAGE_BYTES = 1 << 23
"""Memory that the rows or the vectors of a page take at most, where one item does not take more."""

Probes = Mapping[Target, Vectors]
Own = Sequence[int | None]
Only = Callable[[Target], Selection] | None
Hits = tuple[Hit, ...]
_NO_SCORES: Mapping[int, Mapping[str, float]] = {}


def check_queries(queries: Sequence[Query], k: int = 1, listing: bool = False) -> None:
    """Raise InvalidInputError for what no collection could answer; queries of a ``listing`` have no input."""
    if k < 1:
        raise InvalidInputError(f"k must be at least 1, not {k}")
    if not queries:
        raise InvalidInputError("a search needs at least one query")
    for number, query in enumerate(queries):
        if len(query.inputs()) != (0 if listing else 1):
            inputs = "an image, a text, a vector, an item key and a label"
            raise InvalidInputError(f"query {number}: give exactly one of {inputs}")


def check_request(request: SearchRequest) -> None:
    """Raise InvalidInputError for what no collection could answer."""
    check_queries(request.queries, request.k, request.listing)
    check_weights(request)
    check_scores(request)
    if request.probabilities and (request.weights or request.moved or request.listing):
        raise InvalidInputError(
            "how probable it is that two are the same is told by their distance in one target: leave out weights, more "
            "and less, and give a query"
        )
    if request.base_rate is not None:
        check_base_rate(request.base_rate)
        if not request.probabilities:
            raise InvalidInputError("a base rate is what probabilities go by: ask for --probabilities as well")
    if request.filter:
        check_filter(request.filter)


def targets_of(queries: Sequence[Query], names: Sequence[str], weighted: bool = False) -> TargetsOf:
    """Return what gives the targets that queries are matched against in a space, after what they ask was checked.

    ``weighted`` ones are notions.
    """

    def targets(version: Version, space: Space) -> list[Target]:
        if weighted:
            check_notions(space)
        groups = by_view(queries)
        for view, numbers in groups.items():
            check_inputs(version, view, queries, numbers)
        return list(dict.fromkeys(target for view in groups for target in space.targets_for(view, names)))

    return targets


def no_targets(queries: Sequence[Query]) -> TargetsOf:
    """Return what gives no targets, because nothing is searched, after what the queries ask was checked."""

    def targets(version: Version, space: Space) -> list[Target]:
        for view, numbers in by_view(queries).items():
            check_inputs(version, view, queries, numbers)
        return []

    return targets


def answer(version: Version, indexed: IndexedSpace, loaded: LoadedSpaces, request: SearchRequest) -> list[HitList]:
    """Return the hit lists, query by query and target by target.

    Raises InvalidInputError, NotFoundError, NotReadyError, ImageError for a picture that cannot be read, or StaleError
    where the search has to begin again with the next version.
    """
    check_axes(indexed.space.axes, indexed.space.name, request)
    only = partial(version.selection, request.filter, indexed) if request.filter else None
    if request.at_least or request.at_most:
        only = partial(_bounded, indexed, request, only)
    if request.listing:
        return _listed(version, indexed, request, only)
    lists: dict[int, list[HitList]] = {}
    for numbers, probes, own in _probes(version, indexed.space, loaded, request.queries, request.names):
        found = (_weighted if request.weights else _by_target)(version, indexed, request, probes, own, only)
        for number, apart in zip(numbers, found, strict=True):
            lists[number] = [HitList(number, name, hits) for name, hits in apart]
    ordered = in_order(request, [one for number in range(len(request.queries)) for one in lists[number]])
    if request.probabilities:
        _add_probabilities(version, indexed.space, request, ordered)
    return ordered


def _add_probabilities(version: Version, space: Space, request: SearchRequest, found: Sequence[HitList]) -> None:
    """Write into fresh hits how probable it is that they and their query are the same.

    Raises NotReadyError where no threshold of the query's view and a hit's target is known.
    """
    for one in found:
        view = request.queries[one.query].view
        for hit in one.hits:
            threshold = version.threshold(space, view, hit.target)
            rate = threshold.base_rate if request.base_rate is None else request.base_rate
            vars(hit).update(probability=threshold.probability(hit.distance, rate), base_rate=rate)


def _probes(
    version: Version, space: Space, loaded: LoadedSpaces, queries: Sequence[Query], names: Sequence[str]
) -> Iterator[tuple[list[int], Probes, Own]]:
    """Yield the vectors of queries that are described alike by target, with the queries' numbers and own items."""
    for view, numbers in by_view(queries).items():
        by_class = [number for number in numbers if queries[number].label is not None]
        others = [number for number in numbers if queries[number].label is None] if by_class else numbers
        if by_class:
            labels = [queries[number].label or "" for number in by_class]
            yield by_class, space.probe_classes(view, labels, names), [None] * len(labels)
        if others:
            asked = query_rows(version, loaded, view, queries, others)
            yield others, space.probe(view, asked.rows, names), asked.own


def _weighted(
    version: Version, indexed: IndexedSpace, request: SearchRequest, probes: Probes, own: Own, only: Only
) -> list[list[tuple[str, Hits]]]:
    """Return the one list of every query by weighted notions, and how hits name these."""
    indexes = {target: indexed.indexes[target].index for target in probes}
    nearest = nearest_by_weights(indexes, probes, tuple(request.weights.values()), own, request.k, only)
    name = shown(request.weights)
    return [[(name, hits)] for hits in _hits(version, name, nearest)]


def _by_target(
    version: Version, indexed: IndexedSpace, request: SearchRequest, probes: Probes, own: Own, only: Only
) -> list[list[tuple[str, Hits]]]:
    """Return the lists of every query by target, or where they are merged the one list, named ""."""
    comparable, k = on_common_scale(probes.keys()), request.k
    merged = comparable if request.merge is None else request.merge
    wanted = k * _OVERFETCH if merged and not comparable else k
    if request.moved:
        nearest = {target: _moved(indexed, request, target, probes[target], own, wanted, only) for target in probes}
    else:
        nearest = neighbours(indexed, probes, own, wanted, only)
    found = {
        target: _hits(version, str(target), lists, _scores(indexed, target, lists)) for target, lists in nearest.items()
    }
    apart = [[(str(target), hits[row]) for target, hits in found.items()] for row in range(len(own))]
    if not merged:
        return apart
    join = _nearest if comparable else fuse
    return [[("", join([HitList(0, name, hits) for name, hits in lists], k))] for lists in apart]


def _moved(
    indexed: IndexedSpace, request: SearchRequest, target: Target, vectors: Vectors, own: Own, k: int, only: Only
) -> list[list[Neighbor]]:
    """Return the k nearest items of every query of a target, moved along the axes that a request names."""
    index, chosen = indexed.indexes[target].index, None if only is None else only(target)
    return indexed.space.axes_of(target).nearest(request, index, vectors, own, k, chosen)


def _bounded(indexed: IndexedSpace, request: SearchRequest, only: Only, target: Target) -> Selection:
    """Return which items of a target are within a request's bounds of scores, of those that ``only`` chooses."""
    index, chosen = indexed.indexes[target].index, None if only is None else only(target)
    return indexed.space.axes_of(target).bounded(request, index, chosen)


def _listed(version: Version, indexed: IndexedSpace, request: SearchRequest, only: Only) -> list[HitList]:
    """Return the first items of every target by the score that a request sorts by."""
    lists = []
    for number, query in enumerate(request.queries):
        for target in indexed.space.targets_for(query.view, request.names):
            index, chosen = indexed.indexes[target].index, None if only is None else only(target)
            first = [indexed.space.axes_of(target).first(request, index, chosen)]
            (hits,) = _hits(version, str(target), first, _scores(indexed, target, first))
            lists.append(HitList(number, str(target), hits))
    return lists


def _scores(
    indexed: IndexedSpace, target: Target, lists: Sequence[Sequence[Neighbor]]
) -> Mapping[int, Mapping[str, float]]:
    """Return the scores of the items in some lists of a target, by id; none in a space without axes."""
    if not indexed.space.axes:
        return {}
    return indexed.space.axes_of(target).scores_of(indexed.indexes[target].index, lists)


def answer_at_hand(
    versions: Versions, loaded: LoadedSpaces, request: SearchRequest, most_bytes: int, most_hits: int
) -> list[HitList] | None:
    """Return the hit lists where all that it takes is in memory; see ``Collection.search_at_hand``."""
    if request.filter or any(query.vector is None for query in request.queries):
        return None
    check_request(request)
    found = versions.at_hand(request.space)
    if found is None:
        return None
    version, space = found
    try:
        targets = targets_of(request.queries, request.names, bool(request.weights))(version, space.space)
        indexes = [space.indexes[target].index for target in targets if target in space.indexes]
        scanned, hits = sum(one.nbytes for one in indexes), request.k * len(targets)
        if len(indexes) < len(targets) or len(request.queries) * scanned > most_bytes:
            return None
        if len(request.queries) * hits > most_hits:
            return None
        return answer(version, space, loaded, request)
    except StaleError:
        return None


def neighbours(
    indexed: IndexedSpace,
    probes: Mapping[Target, Vectors],
    own: Sequence[int | None],
    k: int,
    only: Callable[[Target], Selection] | None,
) -> dict[Target, list[list[Neighbor]]]:
    """Return, by target, the k nearest items of every query, of those that ``only`` chooses, without its own item."""
    lists = {}
    for target, vectors in probes.items():
        index = indexed.indexes[target].index
        most = min(k + any(one is not None for one in own), max(1, len(index)))
        found = index.search(vectors, most, None if only is None else only(target))
        lists[target] = [
            [Neighbor(*pair) for pair in zip(ids, distances, strict=True) if pair[0] not in (-1, query)][:k]
            for ids, distances, query in zip(found.ids.tolist(), found.distances.tolist(), own, strict=True)
        ]
    return lists


def embed(
    version: Version, space: Space, loaded: LoadedSpaces, queries: Sequence[Query], targets: Sequence[str]
) -> list[Embedding]:
    """Return what a space makes of queries, query by query and target by target; errors as in ``answer``."""
    space.check_revisions(version.views)
    found: dict[int, list[Embedding]] = defaultdict(list)
    for numbers, probes, _ in _probes(version, space, loaded, queries, targets):
        for target, vectors in probes.items():
            bits = target.dim if target.codes else 0
            for number, vector in zip(numbers, vectors, strict=True):  # floats to re-rank by stand behind a code
                found[number].append(Embedding(number, str(target), vector[: target.code_bytes], bits))
    return [one for number in range(len(queries)) for one in found[number]]


def embed_items(tx: Transaction, space: Space, view: str, target: str, after: str, limit: int) -> ItemEmbeddings:
    """Return one page; see ``Collection.embed_items``."""
    if limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")
    space.check_revisions(tx.views.all())
    chosen, record = target_of(space, view, target), joined_view(tx, view)
    if not after and not len(record.ids(tx)):
        raise NotReadyError(f"no item of collection {tx.name()!r} has a row of view {view!r}: index some first")
    size = max(1, min(limit, ITEMS_AT_ONCE, _PAGE_BYTES // (4 * max(record.dim, chosen.dim))))
    keys = tx.items.keys_after(after, size)
    found = record.rows(tx, keys)
    places = {item: place for place, item in enumerate(found.ids.tolist())}
    having = [item for item in keys if item in places]
    vectors = space.probe(view, found.rows[[places[item] for item in having]], [str(chosen)], items=True)[chosen]
    return ItemEmbeddings(
        space=space.name,
        generation=space.generation,
        keys=tuple(keys[item] for item in having),
        vectors=vectors[:, : chosen.code_bytes],  # floats to re-rank by stand behind a code
        bits=chosen.dim if chosen.codes else 0,
        after=next(reversed(keys.values())) if len(keys) == size else "",
    )


def target_of(space: Space, view: str, name: str) -> Target:
    """Return the target of a name, by default the view itself."""
    if name:
        return space.targets_for(view, [name])[0]
    found = {str(target): target for target in space.targets_for(view) if target.view == view}
    if view not in found:
        raise InvalidInputError(
            f"space {space.name!r} has several metrics of view {view!r}: choose the target, of {', '.join(found)}"
        )
    return found[view]


def by_view(queries: Sequence[Query]) -> dict[str, list[int]]:
    """Return the positions of queries by their view."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, query in enumerate(queries):
        groups[query.view].append(number)
    return groups


def _hits(
    version: Version,
    target: str,
    lists: Sequence[Sequence[Neighbor]],
    scores: Mapping[int, Mapping[str, float]] = _NO_SCORES,
) -> list[Hits]:
    """Return the hits of every query, with the scores of their items."""
    items = version.shown({item for found in lists for item, _ in found})
    take_room(sum([items[item].size for found in lists for item, _ in found]))
    if not scores:
        return [tuple([items[item].hit(distance, target) for item, distance in found]) for found in lists]
    return [tuple([items[item].hit(distance, target, scores[item]) for item, distance in found]) for found in lists]


def _nearest(lists: Sequence[HitList], k: int) -> tuple[Hit, ...]:
    """Merge by distance; a key appears once, where it is nearest."""
    best: dict[str, Hit] = {}
    for hit in sorted((hit for one in lists for hit in one.hits), key=lambda hit: hit.distance):
        best.setdefault(hit.key, hit)
    return tuple(best.values())[:k]
