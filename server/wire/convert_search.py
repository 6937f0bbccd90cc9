"""Conversion of searches, and of what they find, to messages and back, where their fields differ."""

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from crossview.engine.values.duplicate import DuplicateGroup, Duplicates
from crossview.engine.values.errors import InvalidInputError, warn_of
from crossview.engine.values.explanation import Contribution
from crossview.engine.values.item import Failure
from crossview.engine.values.query import Embedding, Hit, HitList, Query, SearchRequest, Verdict
from crossview.features.base import QueryWords
from crossview.server.wire.convert_conditions import from_filter, from_row, to_row
from crossview.server.wire.fields import Form, to_message, to_value
from crossview.server.wire.names import item_name
from crossview.v1 import duplicates_pb2, search_pb2, types_pb2


def to_search_request(message: search_pb2.SearchRequest) -> SearchRequest:
    """Return the request; raise InvalidInputError for options, and for a query without input unless it lists items."""
    if message.options.fields:
        raise InvalidInputError(f"unknown options: {', '.join(sorted(message.options.fields))}; no option exists yet")
    listing = bool(message.sort_by or message.feedback)
    return to_value(
        SearchRequest,
        message,
        queries=[to_query(query, listing) for query in message.queries],
        at_least=dict(sorted(message.at_least.items())),
        at_most=dict(sorted(message.at_most.items())),
    )


def from_search_request(request: SearchRequest) -> search_pb2.SearchRequest:
    """Return the message without its collection; raise InvalidInputError if a query has a wrong number of inputs."""
    listing = request.strategy.lists_items
    queries = [from_query(query, listing or bool(request.feedback and not query.inputs())) for query in request.queries]
    condition = None if request.filter.is_empty else from_filter(request.filter)
    return to_message(search_pb2.SearchRequest, request, queries=queries, filter=condition)


def to_query(message: search_pb2.Query, listing: bool = False) -> Query:
    """Return the query; raise InvalidInputError if it has no input, unless the search lists items."""
    if message.WhichOneof("input") is None and not listing:
        raise InvalidInputError("a query needs an input: one of image, text, vector, key and label")
    return to_value(Query, message)


def from_query(query: Query, listing: bool = False) -> search_pb2.Query:
    """Return the message; raise InvalidInputError unless the query has exactly one input (none in a listing)."""
    if len(query.inputs()) != (0 if listing else 1):
        inputs = " and ".join(query.inputs()) or "none"
        raise InvalidInputError(f"a query needs exactly one of image, text, vector, key and label, not {inputs}")
    return to_message(search_pb2.Query, query, weight=None if query.weight == Query.weight else query.weight)


def to_hit_lists(message: search_pb2.SearchResponse) -> list[HitList]:
    """Return the results of a search, list by list; warn of what the response warns of."""
    for text in message.warnings:
        warn_of(text)
    return [to_value(HitList, result) for result in message.results]


def from_hit_lists(
    collection: str, results: Iterable[HitList], warnings: Sequence[str] = ()
) -> search_pb2.SearchResponse:
    """Return the response to a search in a collection."""
    response = search_pb2.SearchResponse(warnings=warnings)
    for result in results:
        words = None if result.words is None else to_message(search_pb2.QueryWords, result.words)
        hit_list = response.results.add(query=result.query, target=result.target, words=words, total=result.total)
        hit_list.is_doubtful, hits = result.is_doubtful, hit_list.hits
        for hit in result.hits:
            message = hits.add()
            message.MergeFromString(_encoded(collection, hit))
            message.distance, message.target = hit.distance, hit.target
            if hit.scores:
                message.scores.update(hit.scores)
            message.targets.extend(hit.targets)
            if hit.match is not None:
                message.match = hit.match
            if hit.similarity is not None:
                message.similarity = hit.similarity
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
    encoded = _encoded_items.get(place)
    if encoded is None:
        name = item_name(collection, hit.key)
        unset = {
            "distance": 0.0,
            "target": "",
            "scores": {},
            "match": None,
            "similarity": None,
            "targets": (),
            "probability": None,
            "base_rate": None,
        }  # these fields belong to the hit, not to the item
        encoded = to_message(search_pb2.Hit, hit, item=name, **unset).SerializeToString()
        if hit.stored is not None:
            _encoded_items.keep(place, encoded)
    return encoded


def to_verdict(message: search_pb2.Verdict) -> Verdict | Failure:
    """Return the verdict on a pair, or the reason why the pair was left out."""
    return to_value(Failure, message.left_out) if message.HasField("left_out") else to_value(Verdict, message)


def from_verdict(verdict: Verdict | Failure) -> search_pb2.Verdict:
    """Return the message of the verdict on a pair."""
    if isinstance(verdict, Failure):
        return search_pb2.Verdict(left_out=to_message(types_pb2.Failure, verdict))
    return to_message(search_pb2.Verdict, verdict)


def to_embedding(message: search_pb2.Embedding) -> Embedding:
    """Return the vector or code of a query."""
    if message.HasField("code"):
        packed = np.frombuffer(message.code.packed, np.uint8)
        return Embedding(message.query, message.target, packed, message.code.bits)
    return Embedding(message.query, message.target, to_row(message.vector))


def from_embedding(embedding: Embedding) -> search_pb2.Embedding:
    """Return the message of the vector or code of a query."""
    if embedding.bits:
        code = types_pb2.Code(packed=embedding.vector.tobytes(), bits=embedding.bits)
        return search_pb2.Embedding(query=embedding.query, target=embedding.target, code=code)
    return search_pb2.Embedding(
        query=embedding.query, target=embedding.target, vector=from_row(embedding.vector.astype(np.float32))
    )


def _to_contribution(message: search_pb2.Contribution) -> Contribution:
    has_bits = message.bits > 0 and message.HasField("distance")
    return to_value(Contribution, message, differing_bits=tuple(message.differing_bits) if has_bits else None)


def to_duplicates(pages: list[duplicates_pb2.FindDuplicatesResponse]) -> Duplicates:
    """Return the duplicates of all pages."""
    groups = tuple(to_value(DuplicateGroup, group) for page in pages for group in page.groups)
    return to_value(Duplicates, pages[0], groups=groups)


def queries_of(request: Any) -> list[Any]:
    """Return the queries of a request to the search service; a pair has two."""
    if isinstance(request, search_pb2.SameRequest):
        return [query for pair in request.pairs for query in (pair.first, pair.second)]
    return list(request.queries)


SEARCH_FORMS = {
    "crossview.v1.QueryWords": Form(partial(to_value, QueryWords), partial(to_message, search_pb2.QueryWords)),
    "crossview.v1.Query": Form(to_query, from_query),
    "crossview.v1.SamePair": Form(
        lambda pair: (to_query(pair.first), to_query(pair.second)),
        lambda pair: search_pb2.SamePair(first=from_query(pair[0]), second=from_query(pair[1])),
    ),
    "crossview.v1.SearchRequest": Form(to_search_request, from_search_request),
    "crossview.v1.Contribution": Form(_to_contribution, partial(to_message, search_pb2.Contribution)),
}
