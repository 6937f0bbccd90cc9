"""The scripts of the searches of a collection on a server."""

from collections.abc import Iterable, Sequence

from crossview.engine.values.changes import Changes, ChangesRequest
from crossview.engine.values.duplicate import Duplicates, DuplicatesRequest
from crossview.engine.values.explanation import ExplainRequest, Explanation
from crossview.engine.values.item import (
    Failure,
    one_or_several,
)
from crossview.engine.values.query import (
    Embedding,
    HitList,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
)
from crossview.server.client.script import Exchange, Script, Stubs, ask, pages_of
from crossview.server.wire.convert import to_message, to_value
from crossview.server.wire.convert_search import (
    from_query,
    from_search_request,
    to_duplicates,
    to_embedding,
    to_hit_lists,
    to_verdict,
)
from crossview.server.wire.names import collection_name
from crossview.v1 import changes_pb2, duplicates_pb2, search_pb2


class SearchScript:
    """The scripts of the methods that search a collection and change nothing."""

    def __init__(self, stubs: Stubs, name: str) -> None:
        self._searches = stubs.searches
        self.name = name
        self.resource: str = collection_name(name)

    def search(self, request: SearchRequest) -> Script[list[HitList]]:
        """Return the nearest items of every query in every target."""
        return to_hit_lists((yield from ask(self._searches.Search, self._search_message(request))))

    def search_page(self, request: SearchRequest, size: int, token: str = "") -> Script[tuple[list[HitList], str]]:
        """Return a page of all hits of a search, and the token of the next page, "" after the last."""
        message = search_pb2.SearchRequest(parent=self.resource) if token else self._search_message(request)
        message.page_size, message.page_token = size, token
        response = yield from ask(self._searches.Search, message)
        return to_hit_lists(response), response.next_page_token

    def search_stream(self, requests: Iterable[SearchRequest]) -> Exchange[list[HitList]]:
        """Yield the answer to each search, in order; one stream costs less than separate calls."""
        messages = map(self._search_message, requests)
        return Exchange(self._searches.StreamSearch, messages, to_hit_lists)

    def explain(self, request: ExplainRequest) -> Script[list[Explanation]]:
        """Return why items have their places in the lists of a search."""
        message = to_message(search_pb2.ExplainRequest, request, parent=self.resource)
        response = yield from ask(self._searches.Explain, message)
        return [to_value(Explanation, one) for one in response.explanations]

    def suggest(self, request: SuggestRequest) -> Script[Suggestions]:
        """Return labels for every query, by vote of the nearest labelled items."""
        message = to_message(search_pb2.SuggestLabelsRequest, request, parent=self.resource)
        return to_value(Suggestions, (yield from ask(self._searches.SuggestLabels, message)))

    def same(self, request: SameRequest) -> Script[list[Verdict | Failure]]:
        """Return for each pair whether its two queries are the same, or why it was left out."""
        message = to_message(search_pb2.SameRequest, request, parent=self.resource)
        return [to_verdict(one) for one in (yield from ask(self._searches.Same, message)).results]

    def changes(self, request: ChangesRequest) -> Script[Changes]:
        """Return the changes between successive pictures, and which of them are important."""
        message = to_message(changes_pb2.FindChangesRequest, request, parent=self.resource)
        return to_value(Changes, (yield from ask(self._searches.FindChanges, message)))

    def duplicates(self, request: DuplicatesRequest) -> Script[Duplicates]:
        """Return the groups of pictures that show the same photograph, and the bursts."""
        message = to_message(duplicates_pb2.FindDuplicatesRequest, request, parent=self.resource)
        return to_duplicates((yield from pages_of(self._searches.FindDuplicates, message)))

    def embed(
        self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = ""
    ) -> Script[list[Embedding]]:
        """Return the vector of every query for every target."""
        request = search_pb2.EmbedRequest(
            parent=self.resource, queries=map(from_query, queries), targets=one_or_several(targets), space=space
        )
        return [to_embedding(one) for one in (yield from ask(self._searches.Embed, request)).results]

    def _search_message(self, request: SearchRequest) -> search_pb2.SearchRequest:
        message = from_search_request(request)
        message.parent = self.resource
        return message
