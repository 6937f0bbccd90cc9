"""Collections on a server, with the methods of ``engine.collections.collection.Collection``, blocking or awaited."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack, cast, overload

from crossview.engine.runtime.progress import Progress
from crossview.engine.values.any_collection import AnyCollection
from crossview.engine.values.audit import Audit, AuditRequest
from crossview.engine.values.changes import Changes, ChangesRequest
from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.duplicate import Duplicates, DuplicatesRequest
from crossview.engine.values.evaluation import Evaluation, EvaluationRequest
from crossview.engine.values.explanation import ExplainRequest, Explanation
from crossview.engine.values.hits import HitLists
from crossview.engine.values.info import CollectionInfo, SpaceInfo, collection_html
from crossview.engine.values.item import DEFAULT_INDEXING, Failure, ImportReport, IndexOptions, one_or_several
from crossview.engine.values.markup import Markup
from crossview.engine.values.notebook import SAMPLE, shown
from crossview.engine.values.query import (
    HITS_A_PAGE,
    Embedding,
    HitList,
    OneQuery,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
    check_size,
    request_of,
)
from crossview.engine.values.recipe import Recipe
from crossview.server.client.convert_jobs import from_training
from crossview.server.client.detached import DetachedCollection
from crossview.server.client.remote_items import RemoteItems, RemoteViews, counted
from crossview.server.client.remote_jobs import run_job
from crossview.server.client.remote_judgements import RemoteDuplicateJudgements, RemoteFeedback, RemoteQuestions
from crossview.server.client.remote_spaces import RemoteMaps, RemoteSpaces, RemoteStorage
from crossview.server.client.script import (
    AsyncRunner,
    C,
    CollectionScripts,
    Exchange,
    Runner,
    Script,
    ask,
    call,
    earlier_names,
    local,
    pages_of,
    stream,
)
from crossview.server.wire.convert import to_collection, to_message, to_space, to_value
from crossview.server.wire.convert_conditions import from_filter
from crossview.server.wire.convert_search import (
    from_query,
    from_search_request,
    to_duplicates,
    to_embedding,
    to_hit_lists,
    to_verdict,
)
from crossview.v1 import audit_pb2, changes_pb2, duplicates_pb2, search_pb2
from crossview.v1 import collections_pb2 as pb


class BaseCollection(CollectionScripts[C]):
    """The methods of a collection on a server, with and without an event loop."""

    EARLIER: ClassVar[Mapping[str, str]] = earlier_names(
        "list_items=items item=items.get keys=items.keys counts=items.counts facets=items.facets "
        "attribute_names=items.attribute_names deleted_pictures=items.deleted thumbnail=items.thumbnail "
        "thumbnails=items.thumbnails import_items=items.put import_stream=items.put_stream update_items=items.update "
        "annotate=items.annotate put_vectors=items.put_vectors index_vectors=items.index_vectors "
        "delete_items=items.delete follow_files=items.follow_files embed_items=items.embed neighbors=items.neighbors "
        "list_views=views add_view=views.add fit_views=views.fit delete_view=views.delete list_spaces=spaces "
        "space=spaces.get extend=spaces.extend assign=spaces.assign activate=spaces.activate reindex=spaces.reindex "
        "calibrate=spaces.calibrate delete_space=spaces.delete list_maps=maps map=maps.get make_map=maps.make "
        "map_points=maps.points delete_map=maps.delete findings=storage.findings"
    )

    def __init__(self, connection: C, name: str) -> None:
        super().__init__(connection, name)
        self.items: RemoteItems[C] = RemoteItems(connection, name)
        self.views: RemoteViews[C] = RemoteViews(connection, name)
        self.spaces: RemoteSpaces[C] = RemoteSpaces(connection, name)
        self.maps: RemoteMaps[C] = RemoteMaps(connection, name)
        self.storage: RemoteStorage[C] = RemoteStorage(connection, name)
        self.questions: RemoteQuestions[C] = RemoteQuestions(connection, name)
        self.feedback: RemoteFeedback[C] = RemoteFeedback(connection, name)
        self.duplicate_judgements: RemoteDuplicateJudgements[C] = RemoteDuplicateJudgements(connection, name)

    def __repr__(self) -> str:
        return f"<crossview collection {self.name!r} on the server at {self.connection.address}>"

    def detached(self) -> DetachedCollection[C]:
        """Return this collection with long methods that return their job at once."""
        return DetachedCollection(self.connection, self.name)

    @call
    def info(self) -> Script[CollectionInfo]:
        """Return the description of the collection."""
        request = pb.GetCollectionRequest(name=self.resource)
        return to_collection((yield from ask(self.stubs.collections.GetCollection, request)))

    @call
    def count(self, filter: FilterForm = EVERY_ITEM) -> Script[int]:
        """Return how many items pass the filter."""
        request = pb.CountItemsRequest(parent=self.resource, filter=from_filter(filter))
        return (yield from counted(self.stubs, request)).items

    @local
    def index(
        self: "BaseCollection[Runner]",
        paths: Sequence[Path | str],
        options: IndexOptions = DEFAULT_INDEXING,
        *,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Send the pictures below paths of this machine; the server ignores ``options.workers``."""
        from crossview.server.client.remote_index import index

        return index(cast(AnyCollection, self), paths, options, progress)

    @call
    def train(
        self,
        recipe: Recipe,
        *,
        space: str | None = None,
        activate: bool | None = None,
        progress: Progress | None = None,
        request_id: str = "",
    ) -> Script[SpaceInfo]:
        """Fit a learner and place every item; if the caller stops waiting, the server cancels the training."""
        request = from_training(self.name, recipe, space, activate)
        return to_space((yield from run_job(self.stubs, self.stubs.collections.Train, request, progress, request_id)))

    @call
    def evaluate(self, request: EvaluationRequest, *, progress: Progress | None = None) -> Script[Evaluation]:
        """Measure retrieval on items that the spaces were not trained on."""
        message = to_message(pb.EvaluateRequest, request, parent=self.resource)
        return to_value(
            Evaluation, (yield from run_job(self.stubs, self.stubs.collections.Evaluate, message, progress))
        )

    @call
    def audit(self, request: AuditRequest | None = None, *, progress: Progress | None = None) -> Script[Audit]:
        """Return what makes searches worse or figures too good; a server opens no files, and reports no progress."""
        message = to_message(audit_pb2.GetAuditRequest, request or AuditRequest(), name=self.resource)
        return to_value(Audit, (yield from ask(self.stubs.collections.GetAudit, message)))

    @call
    def _search(self, request: SearchRequest) -> Script[list[HitList]]:
        """Return the nearest items of every query in every target."""
        return to_hit_lists((yield from ask(self.stubs.searches.Search, self._search_message(request))))

    @call
    def _search_page(self, request: SearchRequest, size: int, token: str = "") -> Script[tuple[list[HitList], str]]:
        """Return a page of all hits of a search, and the token of the next page, "" after the last."""
        message = search_pb2.SearchRequest(parent=self.resource) if token else self._search_message(request)
        message.page_size, message.page_token = size, token
        response = yield from ask(self.stubs.searches.Search, message)
        return to_hit_lists(response), response.next_page_token

    @stream
    def search_stream(self, requests: Iterable[SearchRequest]) -> Exchange[list[HitList]]:
        """Yield the answer to each search, in order; one stream costs less than separate calls."""
        messages = map(self._search_message, requests)
        return Exchange(self.stubs.searches.StreamSearch, messages, to_hit_lists)

    @call
    def explain(self, request: ExplainRequest) -> Script[list[Explanation]]:
        """Return why items have their places in the lists of a search."""
        message = to_message(search_pb2.ExplainRequest, request, parent=self.resource)
        response = yield from ask(self.stubs.searches.Explain, message)
        return [to_value(Explanation, explanation) for explanation in response.explanations]

    @call
    def suggest(self, request: SuggestRequest) -> Script[Suggestions]:
        """Return labels for every query, by vote of the nearest labelled items."""
        message = to_message(search_pb2.SuggestLabelsRequest, request, parent=self.resource)
        return to_value(Suggestions, (yield from ask(self.stubs.searches.SuggestLabels, message)))

    @call
    def same(self, request: SameRequest) -> Script[list[Verdict | Failure]]:
        """Return for each pair whether its two queries are the same, or why it was left out."""
        message = to_message(search_pb2.SameRequest, request, parent=self.resource)
        return [to_verdict(result) for result in (yield from ask(self.stubs.searches.Same, message)).results]

    @call
    def changes(self, request: ChangesRequest) -> Script[Changes]:
        """Return the changes between successive pictures, and which of them are important."""
        message = to_message(changes_pb2.FindChangesRequest, request, parent=self.resource)
        return to_value(Changes, (yield from ask(self.stubs.searches.FindChanges, message)))

    @call
    def duplicates(self, request: DuplicatesRequest) -> Script[Duplicates]:
        """Return the groups of pictures that show the same photograph, and the bursts."""
        message = to_message(duplicates_pb2.FindDuplicatesRequest, request, parent=self.resource)
        return to_duplicates((yield from pages_of(self.stubs.searches.FindDuplicates, message)))

    @call
    def embed(
        self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = ""
    ) -> Script[list[Embedding]]:
        """Return the vector of every query for every target."""
        request = search_pb2.EmbedRequest(
            parent=self.resource, queries=map(from_query, queries), targets=one_or_several(targets), space=space
        )
        return [to_embedding(result) for result in (yield from ask(self.stubs.searches.Embed, request)).results]

    def _search_message(self, request: SearchRequest) -> search_pb2.SearchRequest:
        message = from_search_request(request)
        message.parent = self.resource
        return message


class RemoteCollection(BaseCollection[Runner]):
    """A collection on a server, with the methods of ``engine.Collection``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @shown
    def _repr_html_(self) -> Markup:
        return collection_html(self.info(), self.items(limit=SAMPLE, sample=SAMPLE), self.items.thumbnail)

    @overload
    def search(self, request: SearchRequest) -> list[HitList]: ...

    @overload
    def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...

    def search(self, request: SearchRequest | None = None, **query: Any) -> list[HitList]:
        """Return the nearest items of every query in every target; see ``Collection.search``."""
        hits = self._search(request_of(request, cast(OneQuery, query)))
        return HitLists(some.illustrated(self.items.thumbnail) for some in hits)

    @overload
    def search_pages(self, request: SearchRequest, size: int = HITS_A_PAGE) -> Iterator[list[HitList]]: ...

    @overload
    def search_pages(self, *, size: int = HITS_A_PAGE, **query: Unpack[OneQuery]) -> Iterator[list[HitList]]: ...

    def search_pages(
        self, request: SearchRequest | None = None, size: int = HITS_A_PAGE, **query: Any
    ) -> Iterator[list[HitList]]:
        """Yield all hits of a search, ``size`` at a time; see ``Collection.search_pages``."""
        search, token = request_of(request, cast(OneQuery, query)), ""
        check_size(size)
        while True:
            hits, token = self._search_page(search, size, token)
            yield HitLists(some.illustrated(self.items.thumbnail) for some in hits)
            if not token:
                return

    def close(self) -> None:
        """Do nothing: the collection stays open on the server."""


class AsyncCollection(BaseCollection[AsyncRunner]):
    """A collection on a server: the methods of ``RemoteCollection``, awaited, also those of ``items`` and the others.

    Methods call ``progress`` in the event loop; ``index``, ``items.annotate`` and ``items.index_vectors``, which read
    files, call it in a thread.
    """

    @overload
    async def search(self, request: SearchRequest) -> list[HitList]: ...

    @overload
    async def search(self, **query: Unpack[OneQuery]) -> list[HitList]: ...

    async def search(self, request: SearchRequest | None = None, **query: Any) -> list[HitList]:
        """Return the nearest items of every query in every target; see ``Collection.search``."""
        return await self._search(request_of(request, cast(OneQuery, query)))

    @overload
    def search_pages(self, request: SearchRequest, size: int = HITS_A_PAGE) -> AsyncIterator[list[HitList]]: ...

    @overload
    def search_pages(self, *, size: int = HITS_A_PAGE, **query: Unpack[OneQuery]) -> AsyncIterator[list[HitList]]: ...

    async def search_pages(
        self, request: SearchRequest | None = None, size: int = HITS_A_PAGE, **query: Any
    ) -> AsyncIterator[list[HitList]]:
        """Yield all hits of a search, ``size`` at a time; see ``Collection.search_pages``."""
        search, token = request_of(request, cast(OneQuery, query)), ""
        check_size(size)
        while True:
            hits, token = await self._search_page(search, size, token)
            yield hits
            if not token:
                return
