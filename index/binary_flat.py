"""Exact search of binary codes by FAISS's scans of memory."""

from collections.abc import Sequence

import faiss
import numpy as np
from numpy.typing import ArrayLike

from crossview.index.base import Codes, Ids, Neighbors, check_codes, check_k, filled_up, in_order
from crossview.index.positions import Positions, Selection
from crossview.index.stored import Found, StoredIndex

_COUNTED = 1024
"""Most neighbours of one query that are found by counting, which begins sooner than a heap but has room for as many at
every distance."""


class BinaryFlatIndex(StoredIndex):
    """An ``Index`` of binary codes that scans them.

    FAISS keeps the first in memory of equally distant codes, so these are scanned in the order of their ids.
    """

    _kind = "flat-hamming"
    _tolerated = 0.1  # strays are slower to scan

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        return self._of_chosen(check_codes(vectors, self.dim), check_k(k), self._chosen(only))

    def _of_chosen(self, queries: Codes, k: int, chosen: Sequence[Positions | None]) -> Neighbors:
        """The k nearest among the chosen rows of each chunk."""
        found = self._nearest(queries, k, self._rows.main, chosen)
        if self._rows.stray:
            found += self._nearest_strays(queries, k, chosen[len(self._rows.main) :])
        if not found:
            return in_order(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32), k)
        if len(found) == 1:
            (distances, numbers), order = found[0], filled_up
        else:
            distances, numbers = (np.concatenate(parts, 1) for parts in zip(*found, strict=True))
            order = in_order
        ids = self._rows.ids_of(numbers.ravel()).reshape(numbers.shape)
        return order(ids, distances.astype(np.float32), k)

    def _nearest_strays(self, queries: Codes, k: int, chosen: Sequence[Positions | None]) -> list[Found]:
        """The k nearest of each chunk of strays, or all where there are fewer."""
        found = []
        chunks, starts = self._rows.stray, self._rows.offsets[len(self._rows.main) :]
        for chunk, positions, start in zip(chunks, chosen, starts, strict=False):
            numbers = np.arange(len(chunk)) if positions is None else positions.numbers.astype(np.int64)
            if len(numbers):
                distances, where = _by_numpy(queries, chunk.rows[numbers], chunk.ids[numbers], min(k, len(numbers)))
                found.append((distances, numbers[where] + start))
        return found

    def _none(self) -> Codes:
        return np.empty((0, -(-self.dim // 8)), np.uint8)

    def _check(self, vectors: ArrayLike, count: int | None = None) -> Codes:
        return check_codes(vectors, self.dim, count)

    def _dense(self, queries: int) -> float:
        return 0.35 if queries == 1 else 0.9  # a copy of rows is for all queries

    def _scan(self, queries: Codes, rows: Codes, k: int) -> Found:
        distances, positions = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.int64)
        arrays = faiss.swig_ptr(queries), faiss.swig_ptr(rows)
        if len(queries) == 1 and k <= _COUNTED:
            found = faiss.swig_ptr(distances), faiss.swig_ptr(positions)
            faiss.hammings_knn_mc(*arrays, 1, len(rows), k, rows.shape[1], *found)
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


def _by_numpy(queries: Codes, rows: Codes, ids: Ids, k: int) -> Found:
    """The k nearest rows, of equally distant ones those with the smallest ids, which need not ascend."""
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
