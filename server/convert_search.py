"""Searches: requests, hits and the vectors of queries as messages and back."""

from collections.abc import Iterable

import numpy as np

from engine.errors import InvalidInputError
from engine.query import Embedding, Hit, HitList, Query, SearchRequest
from server.convert import from_filter, from_row, to_filter, to_row
from server.names import item_name
from server.pb.crossview.v1 import search_pb2, types_pb2
from server.structs import from_struct, to_struct


def to_search_request(message: search_pb2.SearchRequest) -> SearchRequest:
    """Raises InvalidInputError for a query without an input, and for options: there are none yet."""
    if message.options.fields:
        raise InvalidInputError(f"unknown options: {', '.join(sorted(message.options.fields))}; there are none yet")
    return SearchRequest(
        [to_query(query) for query in message.queries],
        targets=tuple(message.targets),
        k=message.k if message.HasField("k") else SearchRequest.k,
        space=message.space,
        filter=to_filter(message.filter),
        merge=message.merge if message.HasField("merge") else None,
    )


def from_search_request(request: SearchRequest) -> search_pb2.SearchRequest:
    """The message, for any collection; raises InvalidInputError where a query has not exactly one input."""
    return search_pb2.SearchRequest(
        queries=map(from_query, request.queries),
        targets=request.targets,
        k=request.k,
        space=request.space,
        filter=from_filter(request.filter),
        merge=request.merge,
    )


def to_query(message: search_pb2.Query) -> Query:
    """Raises InvalidInputError where the query has no input."""
    kind = message.WhichOneof("input")
    if kind is None:
        raise InvalidInputError("a query needs an input: one of image, text, vector and key")
    if kind == "image":
        return Query(message.view, image=message.image)
    if kind == "text":
        return Query(message.view, text=message.text)
    if kind == "key":
        return Query(message.view, key=message.key)
    return Query(message.view, vector=to_row(message.vector))


def from_query(query: Query) -> search_pb2.Query:
    """Raises InvalidInputError where the query has not exactly one input."""
    if len(query.inputs()) != 1:
        given = " and ".join(query.inputs()) or "none"
        raise InvalidInputError(f"a query needs exactly one of image, text, vector and key, not {given}")
    if query.image is not None:
        return search_pb2.Query(view=query.view, image=query.image)
    if query.text is not None:
        return search_pb2.Query(view=query.view, text=query.text)
    if query.vector is not None:
        return search_pb2.Query(view=query.view, vector=from_row(query.vector))
    return search_pb2.Query(view=query.view, key=query.key or "")


def to_hit_lists(message: search_pb2.SearchResponse) -> list[HitList]:
    """The answer of a search, list by list."""
    return [HitList(found.query, found.target, tuple(map(_to_hit, found.hits))) for found in message.results]


def from_hit_lists(collection: str, results: Iterable[HitList]) -> search_pb2.SearchResponse:
    """The answer of a search in a collection."""
    lists = (
        search_pb2.HitList(
            query=found.query, target=found.target, hits=[_from_hit(collection, hit) for hit in found.hits]
        )
        for found in results
    )
    return search_pb2.SearchResponse(results=lists)


def to_embeddings(message: search_pb2.EmbedResponse) -> list[Embedding]:
    """The vectors of queries."""
    return [_to_embedding(found) for found in message.results]


def from_embeddings(found: Iterable[Embedding]) -> search_pb2.EmbedResponse:
    """The message of the vectors of queries."""
    return search_pb2.EmbedResponse(results=map(_from_embedding, found))


def _to_embedding(message: search_pb2.Embedding) -> Embedding:
    if message.HasField("code"):
        packed = np.frombuffer(message.code.packed, np.uint8)
        return Embedding(message.query, message.target, packed, message.code.bits)
    return Embedding(message.query, message.target, to_row(message.vector))


def _from_embedding(found: Embedding) -> search_pb2.Embedding:
    if found.bits:
        code = types_pb2.Code(packed=found.vector.tobytes(), bits=found.bits)
        return search_pb2.Embedding(query=found.query, target=found.target, code=code)
    return search_pb2.Embedding(
        query=found.query, target=found.target, vector=from_row(found.vector.astype(np.float32))
    )


def _to_hit(message: search_pb2.Hit) -> Hit:
    return Hit(
        key=message.key,
        distance=message.distance,
        target=message.target,
        labels=tuple(message.labels),
        attributes=from_struct(message.attributes),
        text=message.text,
        source=message.source,
    )


def _from_hit(collection: str, hit: Hit) -> search_pb2.Hit:
    return search_pb2.Hit(
        item=item_name(collection, hit.key),
        key=hit.key,
        distance=hit.distance,
        target=hit.target,
        labels=hit.labels,
        attributes=to_struct(hit.attributes),
        text=hit.text,
        source=hit.source,
    )
