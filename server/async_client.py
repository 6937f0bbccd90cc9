"""The client for programs with an event loop: what is asked often, and by many at once."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Self

import grpc

from crossview.engine.changes.request import Changes, ChangesRequest
from crossview.engine.condition import EVERY_ITEM, Filter
from crossview.engine.item import Failure, ImportReport, Item, ItemUpdate, NewItem, one_or_several
from crossview.engine.query import (
    Embedding,
    HitList,
    Query,
    SameRequest,
    SearchRequest,
    Suggestions,
    SuggestRequest,
    Verdict,
)
from crossview.server.batches import batches, merged
from crossview.server.connection import OPTIONS, check_timeout
from crossview.server.convert import from_filter, from_new_item, from_update, messages_of, to_item, to_report
from crossview.server.convert_changes import from_changes_request, to_changes
from crossview.server.convert_search import (
    from_query,
    from_same_request,
    from_search_request,
    from_suggest_request,
    to_embeddings,
    to_hit_lists,
    to_suggestions,
    to_verdicts,
)
from crossview.server.names import collection_name, item_name
from crossview.server.status import error_in, error_of
from crossview.v1 import collections_pb2 as pb
from crossview.v1 import collections_pb2_grpc, search_pb2, search_pb2_grpc


class AsyncClient:
    """A connection to the server at ``address`` (HOST:PORT); an asynchronous context manager.

    ``timeout`` is as in ``Client``. Calls raise what those of ``Client`` raise, and end on the server when their task
    is cancelled.

    >>> async with AsyncClient("127.0.0.1:50051") as client:  # doctest: +SKIP
    ...     (found,) = await client.collection("flowers").search(SearchRequest([Query("color", key="rose")]))
    """

    def __init__(self, address: str, timeout: float | None = None) -> None:
        self.address, self.timeout = address, check_timeout(timeout)
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self.collections: Any = collections_pb2_grpc.CollectionServiceStub(self._channel)
        self.searches: Any = search_pb2_grpc.SearchServiceStub(self._channel)

    def collection(self, name: str) -> "AsyncCollection":
        """Returns a collection; whether it exists the first call tells."""
        return AsyncCollection(self, name)

    async def call(self, service: Any, method: str, request: Any) -> Any:
        """Calls a method of a service, its failures raised as errors."""
        try:
            return await getattr(service, method)(request, timeout=self.timeout)
        except grpc.RpcError as failure:
            raise error_of(failure, self.address, method, self.timeout) from failure

    async def stream(self, service: Any, method: str, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yields the response to each request of a stream, in order, as it comes."""
        responses = getattr(service, method)(requests, timeout=self.timeout)
        try:
            async for answer in responses:
                if answer.HasField("error"):
                    raise error_in(answer.error)
                yield answer.response
        except grpc.RpcError as failure:
            raise error_of(failure, self.address, method, self.timeout) from failure
        finally:
            responses.cancel()

    async def close(self) -> None:
        """Closes the connection."""
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncCollection:
    """A collection on a server: methods of ``RemoteCollection`` that are awaited."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self._client, self.name = client, name
        self._resource = collection_name(name)

    async def search(self, request: SearchRequest) -> list[HitList]:
        """Nearest items of every query in every target."""
        return to_hit_lists(await self._client.call(self._client.searches, "Search", self._message(request)))

    async def search_stream(self, requests: Iterable[SearchRequest]) -> AsyncIterator[list[HitList]]:
        """Yields the answer to each of many searches, in order: one stream costs less than as many calls."""

        async def messages() -> AsyncIterator[search_pb2.SearchRequest]:
            for request in requests:
                yield self._message(request)

        async for response in self._client.stream(self._client.searches, "StreamSearch", messages()):
            yield to_hit_lists(response)

    async def suggest(self, request: SuggestRequest) -> Suggestions:
        """Labels for every query, by vote of the nearest labelled items."""
        message = from_suggest_request(request)
        message.parent = self._resource
        return to_suggestions(await self._client.call(self._client.searches, "SuggestLabels", message))

    async def same(self, request: SameRequest) -> list[Verdict | Failure]:
        """Whether the two of each pair are the same, or why one was left out."""
        message = from_same_request(request)
        message.parent = self._resource
        return to_verdicts(await self._client.call(self._client.searches, "Same", message))

    async def changes(self, request: ChangesRequest) -> Changes:
        """What changed between successive pictures, and which changes are important."""
        message = from_changes_request(request)
        message.parent = self._resource
        return to_changes(await self._client.call(self._client.searches, "FindChanges", message))

    async def embed(self, queries: Sequence[Query], *, targets: Sequence[str] = (), space: str = "") -> list[Embedding]:
        """The vector of every query for every target."""
        request = search_pb2.EmbedRequest(
            parent=self._resource, queries=map(from_query, queries), targets=one_or_several(targets), space=space
        )
        return to_embeddings(await self._client.call(self._client.searches, "Embed", request))

    async def item(self, key: str) -> Item:
        """One item."""
        request = pb.GetItemRequest(name=item_name(self.name, key))
        return to_item(await self._client.call(self._client.collections, "GetItem", request))

    async def count(self, filter: Filter = EVERY_ITEM) -> int:
        """How many items pass the filter."""
        request = pb.CountItemsRequest(parent=self._resource, filter=from_filter(filter))
        return int((await self._client.call(self._client.collections, "CountItems", request)).items)

    async def import_stream(self, items: Iterable[NewItem]) -> AsyncIterator[ImportReport]:
        """Adds or updates items, and yields a report for each batch that is on disk; see ``RemoteCollection``."""
        failures: list[Failure] = []

        async def requests() -> AsyncIterator[pb.ImportItemsRequest]:
            for batch in batches(messages_of(items, from_new_item, failures), pb.NewItem.ByteSize):
                yield pb.ImportItemsRequest(parent=self._resource, items=batch)

        async for response in self._client.stream(self._client.collections, "StreamImportItems", requests()):
            yield to_report(response)
        if failures:
            yield ImportReport(failures=tuple(failures))

    async def import_items(self, items: Iterable[NewItem]) -> ImportReport:
        """Adds or updates items; one report for all."""
        return merged([report async for report in self.import_stream(items)])

    async def update_items(self, updates: Iterable[ItemUpdate]) -> ImportReport:
        """Changes labels, attributes and texts of items, in batches below the message limit."""
        failures: list[Failure] = []
        reports = []
        for batch in batches(messages_of(updates, from_update, failures), pb.ItemUpdate.ByteSize):
            request = pb.UpdateItemsRequest(parent=self._resource, updates=batch)
            reports.append(to_report(await self._client.call(self._client.collections, "UpdateItems", request)))
        return merged([*reports, ImportReport(failures=tuple(failures))])

    async def delete_items(self, keys: Sequence[str]) -> int:
        """Deletes those that exist, and returns how many."""
        request = pb.DeleteItemsRequest(parent=self._resource, keys=one_or_several(keys))
        return int((await self._client.call(self._client.collections, "DeleteItems", request)).deleted)

    def _message(self, request: SearchRequest) -> search_pb2.SearchRequest:
        message = from_search_request(request)
        message.parent = self._resource
        return message
