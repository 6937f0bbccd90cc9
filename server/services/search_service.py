"""The search service: one request, one call of the engine, one response."""
# ruff: noqa: N802 - methods bear the names of their rpcs

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from crossview.engine.errors import InvalidInputError
from crossview.engine.query import HitList, SearchRequest, SuggestRequest
from crossview.engine.spaces.answer_size import AnswerTooLargeError, room_for
from crossview.server.cache import OpenCollections
from crossview.server.settings import ServerSettings
from crossview.server.wire.convert_changes import from_changes, to_changes_request
from crossview.server.wire.convert_search import (
    from_embeddings,
    from_hit_lists,
    from_suggestions,
    from_verdicts,
    to_query,
    to_same_request,
    to_search_request,
    to_suggest_request,
)
from crossview.server.wire.names import parse_collection
from crossview.v1 import changes_pb2, search_pb2

_AT_HAND_BYTES = 1 << 22
"""Bytes of vectors or codes that are scanned in well under a millisecond."""
_AT_HAND_HITS, _AT_HAND_ANSWER = 100, 1 << 17
"""Hits, and bytes of what they show, that are made and encoded in as much time."""
TOGETHER, _HITS_TOGETHER = 16, 100
_INPUTS_TOGETHER: tuple[Literal["vector", "key", "text"], ...] = ("vector", "key", "text")
"""Searches that are answered as one where they wait at the same time, so few that each is scanned for by itself, and
finds what it would find alone; the most hits that one of them asks for; and by what it asks."""


class SearchService:
    """Answers searches in the collections of a server."""

    def __init__(self, collections: OpenCollections, settings: ServerSettings) -> None:
        self.collections = collections
        self._settings = settings

    def Search(self, request: search_pb2.SearchRequest, context: None) -> search_pb2.SearchResponse:
        """Return the nearest items of every query in every target."""
        self._check(request, _k(request))
        name = parse_collection(request.parent)
        with self.collections.use(name) as collection, room_for(self._settings.answer_bytes):
            return from_hit_lists(name, collection.search(to_search_request(request)))

    def search_at_hand(self, request: search_pb2.SearchRequest) -> search_pb2.SearchResponse | None:
        """Return the response of ``Search`` if that takes less time than handing it to a thread, else None."""
        self._check(request, _k(request))
        name = parse_collection(request.parent)
        with self.collections.at_hand(name) as collection:
            if (
                collection is None
                or collection.memory.least_bytes(request.space) * len(request.queries) > _AT_HAND_BYTES
            ):
                return None
            with suppress(AnswerTooLargeError), room_for(_AT_HAND_ANSWER):
                found = collection.memory.search(to_search_request(request), _AT_HAND_BYTES, _AT_HAND_HITS)
                return None if found is None else from_hit_lists(name, found)
        return None

    def alike(self, request: search_pb2.SearchRequest) -> Hashable | None:
        """Return the common part of searches that one search can answer; None for one that is better answered alone.

        It is the request without the input of its only query, unknown fields included: searches that differ in
        anything else, also in a field that is added later, are never answered as one.
        """
        if len(request.queries) != 1 or request.k > _HITS_TOGETHER:
            return None
        given = request.queries[0].WhichOneof("input")
        if given not in _INPUTS_TOGETHER:
            return None
        rest = search_pb2.SearchRequest()
        rest.CopyFrom(request)
        rest.queries[0].ClearField(given)
        return rest.SerializeToString(deterministic=True)

    def search_together(self, requests: list[search_pb2.SearchRequest]) -> list[search_pb2.SearchResponse]:
        """Return the response of ``Search`` for each of some ``alike`` requests; one that fails makes all fail."""
        asked = [to_search_request(request) for request in requests]
        name = parse_collection(requests[0].parent)
        with self.collections.use(name) as collection, room_for(self._settings.answer_bytes):
            found = collection.search(replace(asked[0], queries=[one.queries[0] for one in asked]))
        lists: list[list[HitList]] = [[] for _ in requests]
        for one in found:
            lists[one.query].append(replace(one, query=0))
        return [from_hit_lists(name, own) for own in lists]

    def Embed(self, request: search_pb2.EmbedRequest, context: None) -> search_pb2.EmbedResponse:
        """Return the vector of every query for every target."""
        self._check(request)
        with self.collections.use(parse_collection(request.parent)) as collection:
            queries = [to_query(query) for query in request.queries]
            return from_embeddings(collection.embed(queries, targets=tuple(request.targets), space=request.space))

    def SuggestLabels(
        self, request: search_pb2.SuggestLabelsRequest, context: None
    ) -> search_pb2.SuggestLabelsResponse:
        """Return labels for every query, by vote of the nearest labelled items."""
        self._check(request, _k(request))
        with self.collections.use(parse_collection(request.parent)) as collection:
            return from_suggestions(collection.suggest(to_suggest_request(request)))

    def Same(self, request: search_pb2.SameRequest, context: None) -> search_pb2.SameResponse:
        """Return whether the two of each pair are the same."""
        self._check_count(2 * len(request.pairs))
        with self.collections.use(parse_collection(request.parent)) as collection:
            return from_verdicts(collection.same(to_same_request(request)))

    def FindChanges(self, request: changes_pb2.FindChangesRequest, context: None) -> changes_pb2.FindChangesResponse:
        """Return the changes between successive pictures, and which of them are important."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            return from_changes(collection.changes(to_changes_request(request)))

    def _check(self, request: Any, k: int = 1) -> None:
        """Raise InvalidInputError for a request that is larger than a server answers, before allocating its answer."""
        queries, most = len(request.queries), self._settings
        self._check_count(queries)
        hits = queries * max(k, 1) * max(len(request.targets), 1)
        if hits > most.hits:
            raise InvalidInputError(
                f"one request may ask for {most.hits:,} hits, not {hits:,} (queries x k x targets): lower k, or send "
                "fewer queries at a time"
            )

    def _check_count(self, queries: int) -> None:
        most = self._settings.queries
        if queries > most:
            raise InvalidInputError(f"{queries:,} queries are more than one request may have: send {most:,}")


def _k(request: search_pb2.SearchRequest | search_pb2.SuggestLabelsRequest) -> int:
    """Return the number of hits that a query wants."""
    default = SearchRequest.k if isinstance(request, search_pb2.SearchRequest) else SuggestRequest.k
    return request.k if request.HasField("k") else default
