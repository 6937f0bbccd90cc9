"""A minimal server around inverted lists of FAISS: ``python -m benchmarks.serve.lists DATA LISTS PROBES``.

It parses the request, searches with one thread, and answers ten hits of key and distance from a list. It prints its
address. DATA is the folder of the drawn items.
"""

import asyncio
import sys
from pathlib import Path

import faiss
import grpc
import numpy as np

from benchmarks.scale.data import DIM, Data, K
from crossview.v1 import search_pb2 as pb


async def serve(data: Data, lists: int, probes: int) -> None:
    """Answer ``Search`` until the process ends."""
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(DIM), DIM, lists)
    rows = data.rows(0, data.count)
    index.train(rows)
    index.add(rows)
    index.nprobe = probes
    faiss.omp_set_num_threads(1)
    keys = [f"{number:08d}" for number in range(data.count)]

    async def search(request: pb.SearchRequest, _: object) -> pb.SearchResponse:
        squares, places = index.search(np.array(request.queries[0].vector.values, np.float32)[None], K)
        pairs = zip(places[0].tolist(), np.sqrt(squares[0]).tolist(), strict=True)
        hits = [pb.Hit(key=keys[place], distance=distance) for place, distance in pairs]
        return pb.SearchResponse(results=[pb.HitList(target=request.queries[0].view, hits=hits)])

    parse, write = pb.SearchRequest.FromString, pb.SearchResponse.SerializeToString
    methods = {"Search": grpc.unary_unary_rpc_method_handler(search, parse, write)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("crossview.v1.SearchService", methods)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(Data(Path(sys.argv[1])), *map(int, sys.argv[2:])))
