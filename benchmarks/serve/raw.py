"""Upper bounds of a server, in process: raw FAISS on the vectors, and extraction of the pictures."""

import itertools
import threading
import time
from pathlib import Path

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.serve.data import JOINED, PICTURES, TOGETHER, drawn
from benchmarks.store.data import DIM, K
from crossview.engine.collections.home import Home
from crossview.engine.values.query import Query
from crossview.v1 import search_pb2 as pb


def search_vectors(items: int, seed: int, threads: int, seconds: float) -> float:
    """Return the queries a second that threads search, each one at a time."""
    data = drawn(items, seed)
    index = faiss.IndexFlatL2(DIM)
    index.add(data.vectors)
    end = time.perf_counter() + seconds
    counts = np.zeros(threads, np.int64)

    def search(thread: int) -> None:
        faiss.omp_set_num_threads(1)
        for row in itertools.cycle(data.queries):
            if time.perf_counter() > end:
                return
            index.search(row[None], K)
            counts[thread] += 1

    running = [threading.Thread(target=search, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return float(counts.sum() / seconds)


def extract(home: Path, requests: tuple[bytes, ...], seconds: float, first: int) -> float:
    """Return the pictures a second that this process describes by the three views, from the ``first`` one on."""
    images = [pb.SearchRequest.FromString(request).queries[0].image for request in requests]
    with Home(home).open(PICTURES) as collection, threadpool_limits(1):
        collection.embed([Query(JOINED, image=images[0])], space=TOGETHER)
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            collection.embed([Query(JOINED, image=images[(first + count) % len(images)])], space=TOGETHER)
            count += 1
        return count / (time.perf_counter() - began)
