"""The search service: converts a request, calls the engine once, and converts the result."""
# ruff: noqa: N802 - methods have the names of their rpcs

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from crossview.engine.spaces.answer_size import AnswerTooLargeError, room_for
from crossview.engine.spaces.search import Pages
from crossview.engine.values.changes import ChangesRequest
from crossview.engine.values.duplicate import DuplicatesRequest
from crossview.engine.values.errors import InvalidInputError, collected_warnings
from crossview.engine.values.explanation import ExplainRequest
from crossview.engine.values.query import HitList, SameRequest, SearchRequest, SuggestRequest
from crossview.server.core.cache import OpenCollections
from crossview.server.core.open_pages import FoundDuplicates, from_token, to_token
from crossview.server.wire.convert import to_message, to_value
from crossview.server.wire.convert_search import (
    from_embedding,
    from_hit_lists,
    from_verdict,
    queries_of,
    to_query,
    to_search_request,
)
from crossview.server.wire.names import parse_collection
from crossview.server.wire.pages import page_size
from crossview.server.wire.settings import ServerSettings
from crossview.v1 import changes_pb2, duplicates_pb2, search_pb2

_IN_LOOP_BYTES = 1 << 22
"""Maximum bytes of vectors or codes that the event loop scans, in well under a millisecond."""
_IN_LOOP_HITS, _IN_LOOP_ANSWER = 100, 1 << 17
"""Maximum number of hits, and bytes of their content, that the event loop makes and encodes in as much time."""
TOGETHER, _HITS_TOGETHER = 16, 100
"""Maximum number of waiting searches that one search answers, and maximum ``k`` of each. The engine scans for so few
queries one by one, so that each query finds what it finds alone."""
_INPUTS_TOGETHER: tuple[Literal["vector", "key", "text"], ...] = ("vector", "key", "text")
"""Inputs of the searches that can be answered as one."""
_FREED_AT_ONCE = 1_000
"""Maximum number of hits that are freed while other threads wait."""


class SearchService:
    """The service that searches the collections of a server."""

    def __init__(self, collections: OpenCollections, settings: ServerSettings) -> None:
        self.collections = collections
        self._settings = settings

    def Search(self, request: search_pb2.SearchRequest, context: None) -> search_pb2.SearchResponse:
        """Return the nearest items of every query in every target."""
        if request.page_size or request.page_token:
            return self._page(request)
        self._check(request, _k(request))
        name = parse_collection(request.parent)
        with (
            self.collections.use(name) as collection,
            room_for(self._settings.answer_bytes),
            collected_warnings() as warnings,
        ):
            lists = collection.search(to_search_request(request))
            response = from_hit_lists(name, lists, warnings)
            _free(lists)
            return response

    def _page(self, request: search_pb2.SearchRequest) -> search_pb2.SearchResponse:
        """Return a page of all hits of a search; the last page closes them."""
        name, size = parse_collection(request.parent), page_size(request.page_size)
        with self.collections.use(name) as collection, collected_warnings() as warnings:
            if request.page_token:
                pages_id, first = from_token(request.page_token)
                pages = self.collections.pages.get(name, pages_id)
            else:
                self._check(request)
                pages, first = collection.open_pages(to_search_request(request)), 0
                pages_id = self.collections.pages.add(name, pages)
            lists = self._fitting(pages, first, size)
            last = first + sum(len(hit_list.hits) for hit_list in lists)
            if last >= len(pages):
                self.collections.pages.end(pages_id)
        response = from_hit_lists(name, lists, warnings)
        response.next_page_token = to_token(pages_id, last) if last < len(pages) else ""
        return response

    def _fitting(self, pages: Pages, first: int, size: int) -> list[HitList]:
        """Return a page with the hits that fit into a response, at least one; AnswerTooLargeError if it does not."""
        while True:
            try:
                with room_for(self._settings.answer_bytes):
                    return pages.page(first, size)
            except AnswerTooLargeError:
                if size == 1:
                    raise
                size = (size + 1) // 2

    def suits_loop(self, request: search_pb2.SearchRequest) -> bool:
        """Return whether the event loop may answer a search: rows, pages and long conditions would hold it up."""
        if request.page_size or request.page_token or request.HasField("filter"):
            return False
        return all(query.WhichOneof("input") == "vector" for query in request.queries)

    def searches_in_loop(self, requests: list[search_pb2.SearchRequest]) -> list[search_pb2.SearchResponse] | None:
        """Return the responses of ``Search`` to requests with the same ``alike`` key, or to one request.

        None if a search takes longer than starting a thread; together, they may take the time that they would take one
        after another. If one fails, all fail.
        """
        first, count = requests[0], len(requests)
        self._check(first, _k(first))
        with self.collections.if_open(parse_collection(first.parent)) as collection:
            if collection is None:
                return None
            queries, bytes_read = sum(len(request.queries) for request in requests), count * _IN_LOOP_BYTES
            if collection.memory.least_bytes(first.space) * queries > bytes_read:
                return None
            with suppress(AnswerTooLargeError), room_for(count * _IN_LOOP_ANSWER):
                lists = collection.memory.search(_joined(requests), bytes_read, count * _IN_LOOP_HITS)
                return None if lists is None else _apart(requests, lists)
        return None

    def by_model(self, request: Any) -> bool:
        """Return whether a model may run on texts of a request, as for a collection that is not open."""
        views = {query.view for query in queries_of(request) if query.text}
        if not views:
            return False
        with self.collections.if_open(parse_collection(request.parent)) as collection:
            return collection is None or collection.memory.runs_models_on_texts(views)

    def alike(self, request: search_pb2.SearchRequest) -> Hashable | None:
        """Return the key that searches share if one search can answer them; None for a search to answer alone.

        The key is the request without the input of its only query, including unknown fields. So searches that differ
        in any other field, even in one of a later version, are never answered as one.
        """
        if len(request.queries) != 1 or request.k > _HITS_TOGETHER or _by_examples(request):
            return None
        if request.page_size or request.page_token:
            return None
        input_name = request.queries[0].WhichOneof("input")
        if input_name not in _INPUTS_TOGETHER:
            return None
        rest = search_pb2.SearchRequest()
        rest.CopyFrom(request)
        rest.queries[0].ClearField(input_name)
        return rest.SerializeToString(deterministic=True)

    def search_together(self, requests: list[search_pb2.SearchRequest]) -> list[search_pb2.SearchResponse]:
        """Return the responses of ``Search`` to requests with the same ``alike`` key; if one fails, all fail."""
        with (
            self.collections.use(parse_collection(requests[0].parent)) as collection,
            room_for(self._settings.answer_bytes),
            collected_warnings() as warnings,
        ):
            lists = collection.search(_joined(requests))
        return _apart(requests, lists, warnings)

    def Embed(self, request: search_pb2.EmbedRequest, context: None) -> search_pb2.EmbedResponse:
        """Return the vector of every query for every target."""
        self._check(request)
        name = parse_collection(request.parent)
        with self.collections.use(name) as collection, room_for(self._settings.answer_bytes):
            queries = [to_query(query) for query in request.queries]
            embeddings = collection.embed(queries, targets=tuple(request.targets), space=request.space)
            return search_pb2.EmbedResponse(results=map(from_embedding, embeddings))

    def SuggestLabels(
        self, request: search_pb2.SuggestLabelsRequest, context: None
    ) -> search_pb2.SuggestLabelsResponse:
        """Return labels for every query, by vote of the nearest labelled items."""
        self._check(request, _k(request))
        with self.collections.use(parse_collection(request.parent)) as collection:
            suggestions = collection.suggest(to_value(SuggestRequest, request))
            return to_message(search_pb2.SuggestLabelsResponse, suggestions)

    def Same(self, request: search_pb2.SameRequest, context: None) -> search_pb2.SameResponse:
        """Return for each pair whether its two queries are the same."""
        self._check_count(2 * len(request.pairs))
        with self.collections.use(parse_collection(request.parent)) as collection:
            verdicts = collection.same(to_value(SameRequest, request))
            return search_pb2.SameResponse(results=map(from_verdict, verdicts))

    def FindChanges(self, request: changes_pb2.FindChangesRequest, context: None) -> changes_pb2.FindChangesResponse:
        """Return the changes between successive pictures, and which of them are important."""
        with self.collections.use(parse_collection(request.parent)) as collection:
            changes = collection.changes(to_value(ChangesRequest, request))
            return to_message(changes_pb2.FindChangesResponse, changes)

    def FindDuplicates(
        self, request: duplicates_pb2.FindDuplicatesRequest, context: None
    ) -> duplicates_pb2.FindDuplicatesResponse:
        """Return a page of the groups of pictures that show the same photograph; the last page forgets them."""
        name, size, open_pages = parse_collection(request.parent), page_size(request.page_size), self.collections.found
        if request.page_token:
            pages_id, first = from_token(request.page_token)
            duplicates = open_pages.get(name, pages_id).duplicates
        else:
            with self.collections.use(name) as collection:
                duplicates = collection.duplicates(to_value(DuplicatesRequest, request))
            first = 0
            pages_id = open_pages.add(name, FoundDuplicates(duplicates)) if len(duplicates.groups) > size else ""
        page = replace(duplicates, groups=duplicates.groups[first : first + size])
        response = to_message(duplicates_pb2.FindDuplicatesResponse, page)
        if first + size < len(duplicates.groups):
            response.next_page_token = to_token(pages_id, first + size)
        else:
            open_pages.end(pages_id)
        return response

    def Explain(self, request: search_pb2.ExplainRequest, context: None) -> search_pb2.ExplainResponse:
        """Return why items have their places in the lists of a search."""
        self._check(request.search, _k(request.search))
        name = parse_collection(request.parent)
        with self.collections.use(name) as collection, room_for(self._settings.answer_bytes):
            explanations = collection.explain(to_value(ExplainRequest, request))
            return search_pb2.ExplainResponse(
                explanations=[to_message(search_pb2.Explanation, explanation) for explanation in explanations]
            )

    def _check(self, request: Any, k: int = 1) -> None:
        """Raise InvalidInputError for a request above the limits, before the engine allocates its answer."""
        queries, limits = len(request.queries), self._settings
        self._check_count(queries)
        hits = queries * max(k, 1) * max(len(request.targets), 1)
        if hits > limits.hits:
            raise InvalidInputError(
                f"one request may ask for {limits.hits:,} hits, not {hits:,} (queries x k x targets): lower k, or send "
                "fewer queries at a time"
            )

    def _check_count(self, queries: int) -> None:
        most = self._settings.queries
        if queries > most:
            raise InvalidInputError(f"one request may have at most {most:,} queries, not {queries:,}: send fewer")


def _by_examples(request: search_pb2.SearchRequest) -> bool:
    """Return whether all queries of a search ask one question."""
    return bool(request.combine or request.with_examples or request.feedback)


def _joined(requests: list[search_pb2.SearchRequest]) -> SearchRequest:
    """Return the search of one request, or of several that differ only in the input of their only query."""
    first = to_search_request(requests[0])
    queries = [to_query(request.queries[0]) for request in requests[1:]]
    return replace(first, queries=[*first.queries, *queries]) if queries else first


def _apart(
    requests: list[search_pb2.SearchRequest], results: list[HitList], warnings: Sequence[str] = ()
) -> list[search_pb2.SearchResponse]:
    """Return the response to each of the requests of ``_joined`` from the lists of their search."""
    name = parse_collection(requests[0].parent)
    if len(requests) == 1:
        return [from_hit_lists(name, results, warnings)]
    lists: list[list[HitList]] = [[] for _ in requests]
    for result in results:
        lists[result.query].append(replace(result, query=0))
    return [from_hit_lists(name, own, warnings) for own in lists]


def _k(request: search_pb2.SearchRequest | search_pb2.SuggestLabelsRequest) -> int:
    """Return the number of hits for each query [default: that of the engine's request]."""
    default = SearchRequest.k if isinstance(request, search_pb2.SearchRequest) else SuggestRequest.k
    return request.k if request.HasField("k") else default


def _free(lists: list[HitList]) -> None:
    """Free hits in parts: freeing 100,000 at once would stop all other threads for a tenth of a second."""
    hits = [hit for hit_list in lists for hit in hit_list.hits]
    lists.clear()
    while hits:
        del hits[-_FREED_AT_ONCE:]
