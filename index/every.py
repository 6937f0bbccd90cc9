"""All distances of one query to rows, for searches that need more than the nearest."""

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Codes, Vectors


def euclidean(query: Vectors, rows: Vectors) -> NDArray[np.float32]:
    """Return the Euclidean distance of a query, (D,), to each row, (n, D)."""
    found, rows = np.empty(len(rows), np.float32), np.ascontiguousarray(rows, np.float32)
    if len(rows):
        arrays = [faiss.swig_ptr(array) for array in (found, np.ascontiguousarray(query, np.float32), rows)]
        faiss.fvec_L2sqr_ny(*arrays, rows.shape[1], len(rows))
    return np.sqrt(found, out=found)


def hamming(query: Codes, rows: Codes) -> NDArray[np.float32]:
    """Return the number of bits in which a code, (bytes,), differs from each of the codes, (n, bytes)."""
    rows = np.ascontiguousarray(rows)
    word = np.uint64 if rows.shape[1] % 8 == 0 else np.uint8
    away = np.bitwise_count(rows.view(word) ^ np.ascontiguousarray(query).view(word))
    found: NDArray[np.float32] = away.sum(axis=1, dtype=np.int32).astype(np.float32)
    return found
