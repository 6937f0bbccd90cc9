"""Conversion of search requests, hits, suggested labels and vectors of queries to messages and back."""

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from crossview.engine.values.conditions.filter import EVERY_ITEM
from crossview.engine.values.errors import InvalidInputError, warn_of
from crossview.engine.values.item import Failure
from crossview.engine.values.query import (
    Embedding,
    Hit,
    HitList,
    LabelShare,
    LikeliestClass,
    Query,
    SameRequest,
    SearchRequest,
    SuggestedLabels,
    Suggestions,
    SuggestRequest,
    Verdict,
)
from crossview.engine.values.strategy import StrategyOptions
from crossview.features.base import QueryWords
from crossview.server.wire.convert import from_filter, from_row, to_filter, to_row
from crossview.server.wire.fields import enum_number, to_message, to_value
from crossview.server.wire.names import item_name
from crossview.v1 import search_pb2, types_pb2

_WORDS = {name: search_pb2.SearchRequest.DESCRIPTOR.fields_by_name[name] for name in ("combine", "fuse")}
"""The options of strategies that are one of a few words."""


def to_search_request(message: search_pb2.SearchRequest) -> SearchRequest:
    """Return the request; raise InvalidInputError for options, and for a query without input unless it lists items."""
    if message.options.fields:
        raise InvalidInputError(f"unknown options: {', '.join(sorted(message.options.fields))}; no option exists yet")
    given = {
        field.name for field, _ in message.ListFields()
    }  # most searches set few options, so conversion reads only these
    options = to_value(StrategyOptions, message) if given & StrategyOptions.__annotations__.keys() else {}
    return SearchRequest(
        [to_query(query, listing=bool(message.sort_by or message.feedback)) for query in message.queries],
        k=message.k if message.HasField("k") else SearchRequest.k,
        space=message.space,
        filter=to_filter(message.filter) if message.HasField("filter") else EVERY_ITEM,
        at_least=dict(sorted(message.at_least.items())) if "at_least" in given else None,
        at_most=dict(sorted(message.at_most.items())) if "at_most" in given else None,
        per=message.per,
        hits_per=message.hits_per or SearchRequest.hits_per,
        diversity=message.diversity,
        include_missing=message.include_missing,
        recall=message.recall,
        **options,
    )


def from_search_request(request: SearchRequest) -> search_pb2.SearchRequest:
    """Return the message without its collection; raise InvalidInputError if a query has a wrong number of inputs."""
    goes_on = bool(request.strategy.feedback)
    queries = [
        from_query(query, request.strategy.lists_items or (goes_on and not query.inputs())) for query in request.queries
    ]
    return to_message(
        search_pb2.SearchRequest,
        request,
        queries=queries,
        filter=None if request.filter.is_empty else from_filter(request.filter),
        **vars(request.strategy)
        | {name: enum_number(field, getattr(request.strategy, name, "")) for name, field in _WORDS.items()},
    )


def to_suggest_request(message: search_pb2.SuggestLabelsRequest) -> SuggestRequest:
    """Return the request; raise InvalidInputError for a query without an input."""
    return to_value(
        SuggestRequest,
        message,
        queries=[to_query(query) for query in message.queries],
        k=message.k if message.HasField("k") else SuggestRequest.k,
        min_share=message.min_share if message.HasField("min_share") else SuggestRequest.min_share,
    )


def from_suggest_request(request: SuggestRequest) -> search_pb2.SuggestLabelsRequest:
    """Return the message without its collection; raise InvalidInputError unless each query has exactly one input."""
    return to_message(search_pb2.SuggestLabelsRequest, request, queries=[from_query(one) for one in request.queries])


def to_query(message: search_pb2.Query, listing: bool = False) -> Query:
    """Return the query; raise InvalidInputError if it has no input, unless the search lists items."""
    if message.WhichOneof("input") is None and not listing:
        raise InvalidInputError("a query needs an input: one of image, text, vector, key and label")
    return to_value(
        Query,
        message,
        vector=to_row(message.vector) if message.HasField("vector") else None,
        weight=message.weight if message.HasField("weight") else Query.weight,
    )


def from_query(query: Query, listing: bool = False) -> search_pb2.Query:
    """Return the message; raise InvalidInputError unless the query has exactly one input (none in a listing)."""
    if len(query.inputs()) != (0 if listing else 1):
        given = " and ".join(query.inputs()) or "none"
        raise InvalidInputError(f"a query needs exactly one of image, text, vector, key and label, not {given}")
    vector = None if query.vector is None else from_row(query.vector)
    return to_message(search_pb2.Query, query, vector=vector, weight=None if query.weight == 1 else query.weight)


def to_hit_lists(message: search_pb2.SearchResponse) -> list[HitList]:
    """Return the results of a search, list by list; warn of what the response warns of."""
    for text in message.warnings:
        warn_of(text)
    return [
        to_value(
            HitList,
            one,
            hits=tuple(to_value(Hit, hit) for hit in one.hits),
            words=to_value(QueryWords, one.words) if one.HasField("words") else None,
        )
        for one in message.results
    ]


def from_hit_lists(
    collection: str, results: Iterable[HitList], warnings: Sequence[str] = ()
) -> search_pb2.SearchResponse:
    """Return the response to a search in a collection."""
    response = search_pb2.SearchResponse(warnings=warnings)
    for one in results:
        words = None if one.words is None else to_message(search_pb2.QueryWords, one.words)
        hits = response.results.add(query=one.query, target=one.target, words=words, total=one.total).hits
        for hit in one.hits:
            message = hits.add()
            message.MergeFromString(_encoded(collection, hit))
            message.distance, message.target = hit.distance, hit.target
            if hit.scores:
                message.scores.update(hit.scores)
            if hit.match is not None:
                message.match = hit.match
            if hit.probability is not None and hit.base_rate is not None:
                message.probability, message.base_rate = hit.probability, hit.base_rate
    return response


_CACHE_BYTES = 1 << 26
"""Maximum bytes of the cache of encoded items, which holds those of the largest answer."""


class _EncodedItems(dict[tuple[str, Hashable], bytes]):
    """A cache of encoded items, limited to _CACHE_BYTES."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def keep(self, place: tuple[str, Hashable], encoded: bytes) -> None:
        """Add an item; empty the cache first if it is full."""
        if self._bytes + len(encoded) > _CACHE_BYTES:
            self._empty()
        self[place] = encoded
        self._bytes += len(encoded) + _ENTRY_BYTES

    def _empty(self) -> None:
        """Remove the items one by one, because to clear 100,000 at once would stop all other threads."""
        self._bytes = 0
        with suppress(KeyError):  # other threads add and remove too
            while True:
                self.popitem()


_ENTRY_BYTES = 300
"""Approximate overhead of an entry of the cache, in bytes."""
_encoded_items = _EncodedItems()


def _encoded(collection: str, hit: Hit) -> bytes:
    """Return the encoded part that all hits of an item share; cached, because many searches find the same items."""
    place = collection, hit.stored
    found = _encoded_items.get(place)
    if found is None:
        name = item_name(collection, hit.key)
        unset = {
            "distance": 0.0,
            "target": "",
            "scores": {},
            "match": None,
            "probability": None,
            "base_rate": None,
        }  # these fields belong to the hit, not to the item
        found = to_message(search_pb2.Hit, hit, item=name, **unset).SerializeToString()
        if hit.stored is not None:
            _encoded_items.keep(place, found)
    return found


def to_suggestions(message: search_pb2.SuggestLabelsResponse) -> Suggestions:
    """Return the suggested labels of queries."""

    def shares(found: Iterable[search_pb2.LabelShare]) -> tuple[LabelShare, ...]:
        return tuple(to_value(LabelShare, one) for one in found)

    def likeliest(one: search_pb2.SuggestedLabels) -> LikeliestClass | None:
        return to_value(LikeliestClass, one.likeliest) if one.HasField("likeliest") else None

    results = [
        to_value(SuggestedLabels, one, labels=shares(one.labels), others=shares(one.others), likeliest=likeliest(one))
        for one in message.results
    ]
    return to_value(Suggestions, message, results=tuple(results))


def from_suggestions(suggestions: Suggestions) -> search_pb2.SuggestLabelsResponse:
    """Return the message of the suggested labels of queries."""

    def shares(found: Iterable[LabelShare]) -> list[search_pb2.LabelShare]:
        return [to_message(search_pb2.LabelShare, one) for one in found]

    def likeliest(one: SuggestedLabels) -> search_pb2.LikeliestClass | None:
        return to_message(search_pb2.LikeliestClass, one.likeliest) if one.likeliest else None

    results = [
        to_message(
            search_pb2.SuggestedLabels,
            one,
            labels=shares(one.labels),
            others=shares(one.others),
            likeliest=likeliest(one),
        )
        for one in suggestions.results
    ]
    return to_message(search_pb2.SuggestLabelsResponse, suggestions, results=results)


def to_same_request(message: search_pb2.SameRequest) -> SameRequest:
    """Return the request; raise InvalidInputError for a query without an input."""
    pairs = [(to_query(one.first), to_query(one.second)) for one in message.pairs]
    rate = message.base_rate if message.HasField("base_rate") else SameRequest.base_rate
    return to_value(SameRequest, message, pairs=pairs, base_rate=rate)


def from_same_request(request: SameRequest) -> search_pb2.SameRequest:
    """Return the message without its collection; raise InvalidInputError unless each query has exactly one input."""
    pairs = [search_pb2.SamePair(first=from_query(one), second=from_query(other)) for one, other in request.pairs]
    return to_message(search_pb2.SameRequest, request, pairs=pairs)


def to_verdicts(message: search_pb2.SameResponse) -> list[Verdict | Failure]:
    """Return the verdict on each pair, or the reason why the pair was left out."""
    return [
        to_value(Failure, one.left_out) if one.HasField("left_out") else to_value(Verdict, one)
        for one in message.results
    ]


def from_verdicts(verdicts: Iterable[Verdict | Failure]) -> search_pb2.SameResponse:
    """Return the message of the verdicts on pairs."""
    return search_pb2.SameResponse(results=map(_from_verdict, verdicts))


def _from_verdict(one: Verdict | Failure) -> search_pb2.Verdict:
    if isinstance(one, Failure):
        return search_pb2.Verdict(left_out=to_message(types_pb2.Failure, one))
    return to_message(search_pb2.Verdict, one)


def to_embeddings(message: search_pb2.EmbedResponse) -> list[Embedding]:
    """Return the vectors of queries."""
    return [_to_embedding(one) for one in message.results]


def from_embeddings(embeddings: Iterable[Embedding]) -> search_pb2.EmbedResponse:
    """Return the message of the vectors of queries."""
    return search_pb2.EmbedResponse(results=map(_from_embedding, embeddings))


def _to_embedding(message: search_pb2.Embedding) -> Embedding:
    if message.HasField("code"):
        packed = np.frombuffer(message.code.packed, np.uint8)
        return Embedding(message.query, message.target, packed, message.code.bits)
    return Embedding(message.query, message.target, to_row(message.vector))


def _from_embedding(embedding: Embedding) -> search_pb2.Embedding:
    if embedding.bits:
        code = types_pb2.Code(packed=embedding.vector.tobytes(), bits=embedding.bits)
        return search_pb2.Embedding(query=embedding.query, target=embedding.target, code=code)
    return search_pb2.Embedding(
        query=embedding.query, target=embedding.target, vector=from_row(embedding.vector.astype(np.float32))
    )


def queries_of(request: Any) -> list[Any]:
    """Return the queries of a request to the search service; a pair has two."""
    if isinstance(request, search_pb2.SameRequest):
        return [query for pair in request.pairs for query in (pair.first, pair.second)]
    return list(request.queries)
