"""The search service: one request, one call of the engine, one answer."""

import grpc

from engine.errors import InvalidInputError
from server.cache import OpenCollections
from server.convert import from_embeddings, from_hit_lists, to_filter, to_query
from server.names import parse_collection
from server.pb.crossview.v1 import search_pb2, search_pb2_grpc

DEFAULT_K = 10


class SearchService(search_pb2_grpc.SearchServiceServicer):
    """Answers searches in the collections of a server."""

    def __init__(self, collections: OpenCollections) -> None:
        self.collections = collections

    def Search(  # noqa: N802 - the name of the rpc
        self, request: search_pb2.SearchRequest, context: grpc.ServicerContext
    ) -> search_pb2.SearchResponse:
        """Nearest items of every query in every target."""
        name = parse_collection(request.collection)
        if not request.queries:
            raise InvalidInputError("a search needs at least one query")
        if request.options.fields:
            raise InvalidInputError(f"unknown options: {', '.join(sorted(request.options.fields))}; there are none yet")
        with self.collections.use(name) as collection:
            results = collection.search(
                [to_query(query) for query in request.queries],
                targets=tuple(request.targets),
                k=request.k if request.HasField("k") else DEFAULT_K,
                space=request.space,
                filter=to_filter(request.filter),
                merge=request.merge,
            )
        return from_hit_lists(name, results)

    def Embed(  # noqa: N802 - the name of the rpc
        self, request: search_pb2.EmbedRequest, context: grpc.ServicerContext
    ) -> search_pb2.EmbedResponse:
        """What a space makes of every query for every target."""
        with self.collections.use(parse_collection(request.collection)) as collection:
            queries = [to_query(query) for query in request.queries]
            return from_embeddings(collection.embed(queries, targets=tuple(request.targets), space=request.space))
