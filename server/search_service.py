"""The search service: one request, one call of the engine, one response."""

import grpc

from server.cache import OpenCollections
from server.convert_search import (
    from_embeddings,
    from_hit_lists,
    from_suggestions,
    to_query,
    to_search_request,
    to_suggest_request,
)
from server.names import parse_collection
from server.pb.crossview.v1 import search_pb2, search_pb2_grpc


class SearchService(search_pb2_grpc.SearchServiceServicer):
    """Answers searches in the collections of a server."""

    def __init__(self, collections: OpenCollections) -> None:
        self.collections = collections

    def Search(  # noqa: N802 - the name of the rpc
        self, request: search_pb2.SearchRequest, context: grpc.ServicerContext
    ) -> search_pb2.SearchResponse:
        """Nearest items of every query in every target."""
        name = parse_collection(request.collection)
        with self.collections.use(name) as collection:
            return from_hit_lists(name, collection.search(to_search_request(request)))

    def Embed(  # noqa: N802 - the name of the rpc
        self, request: search_pb2.EmbedRequest, context: grpc.ServicerContext
    ) -> search_pb2.EmbedResponse:
        """The vector of every query for every target."""
        with self.collections.use(parse_collection(request.collection)) as collection:
            queries = [to_query(query) for query in request.queries]
            return from_embeddings(collection.embed(queries, targets=tuple(request.targets), space=request.space))

    def SuggestLabels(  # noqa: N802 - the name of the rpc
        self, request: search_pb2.SuggestLabelsRequest, context: grpc.ServicerContext
    ) -> search_pb2.SuggestLabelsResponse:
        """Labels for every query, by vote of the nearest labelled items."""
        with self.collections.use(parse_collection(request.collection)) as collection:
            return from_suggestions(collection.suggest(to_suggest_request(request)))
