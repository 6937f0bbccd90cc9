"""The nearest neighbours of every row of a set in the same set or another: exact, or by cells if there are many."""

import math
from collections.abc import Callable

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Neighbors, Vectors, check_vectors

EXACT = 20_000
"""Number of known rows up to which a scan finds the neighbours."""
_PROBES, _TRAINED = 4, 39  # with fewer training rows a cell, FAISS warns
"""Number of cells that a search visits, and number of rows for each cell that k-means learns the cells from."""
_BLOCK = 4_096


def all_neighbors(
    rows: Vectors, known_rows: Vectors, k: int, *, report: Callable[[int, int], None] | None = None
) -> Neighbors:
    """Return the k nearest of the known rows, shape (m, d), for each row, shape (n, d), by their places.

    Beyond ``EXACT`` known rows it visits, for each row, the cells around it (an inverted file: Jégou, Douze and Schmid,
    PAMI 2011): near copies of a row are in the same cell or the next, and farther neighbours may be missed. Equal
    arguments give equal results. What ``report``, a function of the rows done and of all rows, raises ends the work.

    Raises ValueError for arrays of different widths, and for values that are not finite.
    """
    known_rows = check_vectors(known_rows, known_rows.shape[1], None)
    rows = check_vectors(rows, known_rows.shape[1], None)
    k = min(k, len(known_rows))
    index = _cells(known_rows) if len(known_rows) > EXACT else faiss.IndexFlatL2(known_rows.shape[1])
    index.add(known_rows)
    ids, squares = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), np.float32)
    for start in range(0, len(rows) if k else 0, _BLOCK):
        block = slice(start, start + _BLOCK)
        squares[block], ids[block] = index.search(rows[block], k)
        if report is not None:
            report(min(len(rows), start + _BLOCK), len(rows))
    distances: NDArray[np.float32] = np.sqrt(np.where(ids >= 0, np.maximum(squares, 0), np.inf))
    return Neighbors(ids, distances)


def _cells(rows: Vectors) -> faiss.IndexIVFFlat:
    """Return an empty inverted file whose cells suit the rows."""
    count = 2 * math.isqrt(len(rows))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(rows.shape[1]), rows.shape[1], count)
    draws = np.random.default_rng(0)
    index.train(rows[draws.choice(len(rows), min(len(rows), _TRAINED * count), replace=False)])
    index.nprobe = _PROBES
    return index
