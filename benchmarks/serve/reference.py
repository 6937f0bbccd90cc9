"""The reference: as little as a server in Python can do for the same request, in a process of its own.

``python -m benchmarks.serve.reference ITEMS SEED``: parses the request, searches raw FAISS with one thread, and answers
ten hits of key, distance and label from plain lists. Codes are the signs of random projections, as ours are.
``/bench/Echo`` answers with what it gets, the limit of the transport.
"""

import asyncio
import sys

import faiss
import grpc
import numpy as np

from benchmarks.serve.data import BITS, CODES, drawn
from benchmarks.store.data import DIM, VIEW, K, keys
from crossview.v1 import search_pb2 as pb

ECHO = "/bench/Echo"


async def serve(items: int, seed: int) -> None:
    faiss.omp_set_num_threads(1)
    data = drawn(items, seed)
    names, labels = keys(0, items), data.first.tolist()
    directions = np.random.default_rng(seed).standard_normal((DIM, BITS), np.float32)
    vectors, codes = faiss.IndexFlatL2(DIM), faiss.IndexBinaryFlat(BITS)
    vectors.add(data.vectors)
    codes.add(np.packbits(data.vectors @ directions > 0, axis=1))

    async def search(request: pb.SearchRequest, _: object) -> pb.SearchResponse:
        row = np.array(request.queries[0].vector.values, np.float32)[None]
        if request.space == CODES:
            distances, places = codes.search(np.packbits(row @ directions > 0, axis=1), K)
        else:
            distances, places = vectors.search(row, K)
            distances = np.sqrt(distances)
        hits = zip(places[0].tolist(), distances[0].tolist(), strict=True)
        messages = [pb.Hit(key=names[place], distance=distance, labels=[labels[place]]) for place, distance in hits]
        return pb.SearchResponse(results=[pb.HitList(target=VIEW, hits=messages)])

    async def echo(request: bytes, _: object) -> bytes:
        return request

    parse, write = pb.SearchRequest.FromString, pb.SearchResponse.SerializeToString
    searches = {"Search": grpc.unary_unary_rpc_method_handler(search, parse, write)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler("crossview.v1.SearchService", searches),
            grpc.method_handlers_generic_handler("bench", {"Echo": grpc.unary_unary_rpc_method_handler(echo)}),
        ]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:])))
