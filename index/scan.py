"""Scans: searchers that compare a query with all rows, one chunk after another, and the distances of all rows."""

from abc import abstractmethod
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Codes, Vectors
from crossview.index.chunk import Chunk
from crossview.index.positions import Positions
from crossview.index.rows import RowNumbers
from crossview.index.searcher import Chosen, RowSearcher

CORES = faiss.omp_get_max_threads()
_PARALLEL_WORK = 1 << 26
"""Number of components, or bytes of codes, below which a search stays on its own thread: starting and joining a team of
threads costs more, above all if the cores are busy."""
SPARE = 8
"""Rows to search for beyond the expected number, if a search drops some of the rows that it finds."""

Found = tuple[NDArray[Any], NDArray[np.int64]]
"""Distances as FAISS returns them, ascending, and positions or numbers of rows, both of shape (queries, k)."""


class Scan(RowSearcher):
    """A searcher that scans; subclasses state how to scan one chunk."""

    @abstractmethod
    def _scan(self, queries: NDArray[Any], rows: NDArray[Any], k: int) -> Found:
        """Return the k nearest of at least k rows; among equal distances, the first rows."""

    @abstractmethod
    def _among(self, queries: NDArray[Any], rows: NDArray[Any], chosen: Positions, k: int) -> Found:
        """Return the k nearest of at least k chosen rows."""

    @abstractmethod
    def _dense(self, queries: int) -> float:
        """Return the share of chosen rows from which on it is fastest to scan all rows and drop the others."""

    def _nearest(
        self, queries: NDArray[Any], k: int, chunks: tuple[Chunk, ...], chosen: Chosen
    ) -> list[tuple[NDArray[Any], RowNumbers]]:
        """Return the k nearest chosen rows of each chunk, or all if there are fewer."""
        # FAISS divides a search by queries, so one query needs no team.
        small = len(queries) == 1 or queries.size * self.rows.live < _PARALLEL_WORK
        faiss.omp_set_num_threads(1 if small else CORES)
        per_chunk = []
        for chunk, positions, start in zip(chunks, chosen, self.rows.offsets, strict=False):
            if positions is None:
                distances, where = self._scan(queries, chunk.rows, min(k, len(chunk)))
            elif positions.count:
                distances, where = self._of_some(queries, chunk.rows, positions, min(k, positions.count))
            else:
                continue
            per_chunk.append((distances, where + start if start else where))
        return per_chunk

    def _of_some(self, queries: NDArray[Any], rows: NDArray[Any], chosen: Positions, k: int) -> Found:
        """Return the k nearest of some rows: search these alone, or all rows and drop the others if these are few."""
        if chosen.share < self._dense(len(queries)):
            return self._among(queries, rows, chosen, k)
        others = chosen.length - chosen.count
        distances, where = self._scan(queries, rows, k + min(others, SPARE + int(1.5 * k * others / chosen.count)))
        inside = chosen.include(where)
        each, order = np.arange(len(queries))[:, None], np.argsort(~inside, axis=1, kind="stable")[:, :k]
        distances, where = distances[each, order], where[each, order]
        short = ~inside[each, order].all(axis=1)
        if short.any():  # the rows near these queries are not chosen
            distances[short], where[short] = self._among(queries[short], rows, chosen, k)
        return distances, where


def euclidean(query: Vectors, rows: Vectors) -> NDArray[np.float32]:
    """Return the Euclidean distance of a query, (D,), to each row, (n, D)."""
    distances, rows = np.empty(len(rows), np.float32), np.ascontiguousarray(rows, np.float32)
    if len(rows):
        arrays = [faiss.swig_ptr(array) for array in (distances, np.ascontiguousarray(query, np.float32), rows)]
        faiss.fvec_L2sqr_ny(*arrays, rows.shape[1], len(rows))
    return np.sqrt(distances, out=distances)


def hamming(query: Codes, rows: Codes) -> NDArray[np.float32]:
    """Return the number of bits in which a code, (bytes,), differs from each of the codes, (n, bytes)."""
    rows = np.ascontiguousarray(rows)
    word = np.uint64 if rows.shape[1] % 8 == 0 else np.uint8
    away = np.bitwise_count(rows.view(word) ^ np.ascontiguousarray(query).view(word))
    distances: NDArray[np.float32] = away.sum(axis=1, dtype=np.int32).astype(np.float32)
    return distances
