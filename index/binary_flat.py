"""Exact search of binary codes by FAISS's scans of memory."""

from typing import ClassVar

import faiss
import numpy as np
from numpy.typing import ArrayLike

from crossview.index.base import EXACT, Codes, Ids, Neighbors, check_codes, filled_up, in_order
from crossview.index.positions import Positions
from crossview.index.scan import Found, Scan
from crossview.index.searcher import Chosen, RowSearcher
from crossview.index.stored import StoredIndex

_COUNTED = 1024
"""Maximum number of neighbours that one query finds by counting. This starts faster than a heap, but needs room for so
many neighbours at each distance."""


class HammingSearcher(Scan):
    """A searcher that scans binary codes for the nearest by Hamming distance."""

    tolerated_waste: ClassVar[float] = 0.1  # lower than for vectors, because NumPy scans strays, which is slower

    def search(self, queries: Codes, k: int, chosen: Chosen | None, effort: int = EXACT) -> Neighbors:
        """Return the k nearest rows of each checked query among the chosen ones, or among all that are alive."""
        if chosen is None:
            chosen = self.rows.alive
        # Among equally distant codes FAISS keeps the first in memory, so it scans only rows in the order of their ids.
        per_chunk = self._nearest(queries, k, self.rows.main, chosen)
        if self.rows.stray:
            per_chunk += self._nearest_strays(queries, k, chosen[len(self.rows.main) :])
        if not per_chunk:
            return in_order(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32), k)
        if len(per_chunk) == 1:
            (distances, numbers), order = per_chunk[0], filled_up
        else:
            distances, numbers = (np.concatenate(parts, 1) for parts in zip(*per_chunk, strict=True))
            order = in_order
        ids = self.rows.ids_of(numbers.ravel()).reshape(numbers.shape)
        return order(ids, distances.astype(np.float32), k)

    def _nearest_strays(self, queries: Codes, k: int, chosen: Chosen) -> list[Found]:
        """Return the k nearest of each chunk of strays, or all if there are fewer."""
        per_chunk = []
        chunks, starts = self.rows.stray, self.rows.offsets[len(self.rows.main) :]
        for chunk, positions, start in zip(chunks, chosen, starts, strict=False):
            numbers = np.arange(len(chunk)) if positions is None else positions.numbers.astype(np.int64)
            if len(numbers):
                distances, where = _by_numpy(queries, chunk.rows[numbers], chunk.ids[numbers], min(k, len(numbers)))
                per_chunk.append((distances, numbers[where] + start))
        return per_chunk

    def no_rows(self) -> Codes:
        """Return no codes."""
        return np.empty((0, -(-self.dim // 8)), np.uint8)

    def checked(self, vectors: ArrayLike, count: int | None = None) -> Codes:
        """Return codes as contiguous rows, or raise ValueError."""
        return check_codes(vectors, self.dim, count)

    def _dense(self, queries: int) -> float:
        return 0.35 if queries == 1 else 0.9  # all queries share one copy of the rows

    def _scan(self, queries: Codes, rows: Codes, k: int) -> Found:
        distances, positions = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.int64)
        arrays = faiss.swig_ptr(queries), faiss.swig_ptr(rows)
        if len(queries) == 1 and k <= _COUNTED:
            pointers = faiss.swig_ptr(distances), faiss.swig_ptr(positions)
            faiss.hammings_knn_mc(*arrays, 1, len(rows), k, rows.shape[1], *pointers)
            return distances, positions
        heaps = faiss.int_maxheap_array_t()
        heaps.nh, heaps.k = len(queries), k
        heaps.ids, heaps.val = faiss.swig_ptr(positions), faiss.swig_ptr(distances)
        faiss.hammings_knn_hc(heaps, *arrays, len(rows), rows.shape[1], 1)
        return distances, positions

    def _among(self, queries: Codes, rows: Codes, chosen: Positions, k: int) -> Found:
        numbers = chosen.numbers
        distances, positions = self._scan(queries, rows.take(numbers, 0), k)
        return distances, numbers.astype(np.int64)[positions]


class BinaryFlatIndex(StoredIndex):
    """An ``Index`` of binary codes that scans them."""

    _kind = "flat-hamming"
    _searcher_type: ClassVar[type[RowSearcher]] = HammingSearcher


def _by_numpy(queries: Codes, rows: Codes, ids: Ids, k: int) -> Found:
    """Return the k nearest rows; among equal distances those with the smallest ids, which need not ascend."""
    distances, positions = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.int64)
    word = np.uint64 if rows.shape[1] % 8 == 0 else np.uint8
    words = rows.view(word)
    for number, query in enumerate(queries.view(word)):
        away = np.bitwise_count(words ^ query).sum(axis=1, dtype=np.int32)
        last = np.searchsorted(np.cumsum(np.bincount(away)), k)
        near = np.flatnonzero(away <= last)
        near = near[np.lexsort((ids[near], away[near]))[:k]]
        distances[number], positions[number] = away[near], near
    return distances, positions
