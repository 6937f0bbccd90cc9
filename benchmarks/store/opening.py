"""Opening: how long the first answer of a new process takes, and what the process grows by.

The functions import the timed code, so that imports are timed separately.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.resident_memory import resident
from benchmarks.store.data import DIM, VIEW, K

TINY = "tiny"
"""A collection of a few items: searching it first loads all code, so that what is left is the large one's own."""


def open_collection(home: Path, name: str, queries: NDArray[np.float32]) -> dict[str, float]:
    """Return seconds of imports and of the way from them to the first answer, and bytes that the process grew by."""
    began = time.perf_counter()
    import crossview
    from crossview import Query, SearchRequest

    requests = [SearchRequest([Query(VIEW, vector=row)], space="raw", k=K) for row in queries]
    with crossview.open(TINY, home) as tiny:
        tiny.search(requests[0])
    imports, before = time.perf_counter() - began, resident()
    began = time.perf_counter()
    with crossview.open(name, home) as collection:
        collection.search(requests[0])
        answer, opened = time.perf_counter() - began, resident()
        for request in requests:
            collection.search(request)
        used = resident()
    return {"imports": imports, "answer": answer, "opened": opened - before, "used": used - before}


def open_index(path: Path, queries: NDArray[np.float32]) -> dict[str, float]:
    """Return the same of FAISS's own file of the vectors."""
    began = time.perf_counter()
    import faiss

    faiss.IndexFlatL2(DIM).search(queries[:1], K)
    imports, before = time.perf_counter() - began, resident()
    began = time.perf_counter()
    index: Any = faiss.read_index(str(path))
    index.search(queries[:1], K)
    answer, opened = time.perf_counter() - began, resident()
    for query in queries:
        index.search(query[None], K)
    return {"imports": imports, "answer": answer, "opened": opened - before, "used": resident() - before}
