"""Exact search of float vectors by FAISS's scans of memory."""

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import Ids, Neighbors, Vectors, check_k, check_vectors, in_order
from crossview.index.positions import Positions, Selection
from crossview.index.rows import RowNumbers
from crossview.index.stored import Found, StoredIndex

_REFINE_FLOATS = 1 << 24
"""Vector components gathered at once when distances are recomputed (64 MiB)."""
_MATRIX = 20
"""Queries from which on FAISS multiplies matrices, where a bitmap costs more than a copy of the rows."""
_GATHERED = 0.55
"""Share of rows up to which reading them by number is faster than a scan under a bitmap."""
_DENSE, _DENSE_OF_SOME = 0.2, 0.6
"""Share of rows from which on a scan of all is faster than one of these, of one query and of fewer than ``_MATRIX``."""
_CACHED = 1 << 18
"""Bytes of rows that are faster copied, and scanned in the processor's cache, than read by number."""


class FlatIndex(StoredIndex):
    """An ``Index`` of float vectors that scans them.

    For 20 queries and more FAISS expands squared distances as |q|^2 - 2qx + |x|^2 in float32, which loses the small
    ones; the distances of what it found are therefore computed again from the vectors.
    """

    _kind = "flat-l2"

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        queries, k = check_vectors(vectors, self.dim), check_k(k)
        found = self._nearest(queries, k, self._rows.chunks, self._chosen(only))
        if not found:
            return in_order(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32), k)
        numbers = found[0][1]
        if len(found) > 1:
            order = np.argsort(np.concatenate([distances for distances, _ in found], 1), 1, kind="stable")[:, :k]
            numbers = np.take_along_axis(np.concatenate([rows for _, rows in found], 1), order, 1)
        ids = self._rows.ids_of(numbers.ravel()).reshape(numbers.shape)
        return in_order(ids, self._distances(queries, numbers), k)

    def distances(self, queries: Vectors, ids: Ids) -> NDArray[np.float32]:
        """Return the distances of each query to its ids, both of shape (queries, k); infinity where an id is -1."""
        numbers = self._rows.numbers(ids.ravel()).reshape(ids.shape)
        distances = self._distances(queries, np.maximum(numbers, 0)) if len(self) else np.empty(ids.shape, np.float32)
        distances[numbers < 0] = np.inf
        return distances

    def _distances(self, queries: Vectors, numbers: RowNumbers) -> NDArray[np.float32]:
        """The distances of each query to some rows, shape (queries, k), in float64 but for the last step."""
        flat, width = numbers.ravel(), numbers.shape[1]
        distances = np.empty(flat.shape, np.float32)
        step = max(1, _REFINE_FLOATS // max(1, self.dim))
        for start in range(0, len(flat), step):
            part = flat[start : start + step]
            asked = queries if len(queries) == 1 else queries[np.arange(start, start + len(part)) // width]
            difference = self._rows.take(part) - asked.astype(np.float64)
            distances[start : start + step] = np.sqrt(np.vecdot(difference, difference))
        return distances.reshape(numbers.shape)

    def _none(self) -> Vectors:
        return np.empty((0, self.dim), np.float32)

    def _check(self, vectors: ArrayLike, count: int | None = None) -> Vectors:
        return check_vectors(vectors, self.dim, count)

    def _dense(self, queries: int) -> float:
        return _DENSE if queries == 1 else _DENSE_OF_SOME if queries < _MATRIX else 0.95

    def _scan(self, queries: Vectors, rows: Vectors, k: int) -> Found:
        distances, positions = _by_faiss(queries, rows, k, None)
        return (distances, positions) if positions[:, -1:].min(initial=0) >= 0 else _by_numpy(queries, rows, k)

    def _among(self, queries: Vectors, rows: Vectors, chosen: Positions, k: int) -> Found:
        if len(queries) < _MATRIX and chosen.share > _GATHERED:
            bits = chosen.bits
            found = _by_faiss(queries, rows, k, faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits)))
            if found[1][:, -1:].min(initial=0) >= 0:
                return found
        numbers = chosen.numbers
        if len(queries) == 1 and len(numbers) * rows.itemsize * rows.shape[1] > _CACHED:
            return _by_number(queries, rows, numbers.astype(np.int64), k)
        distances, positions = self._scan(queries, rows.take(numbers, 0), k)
        return distances, numbers.astype(np.int64)[positions]


def _by_faiss(queries: Vectors, rows: Vectors, k: int, selector: faiss.IDSelector | None) -> Found:
    """The k nearest rows; at the end -1 where squared distances are beyond float32."""
    distances, positions = np.empty((len(queries), k), np.float32), np.empty((len(queries), k), np.int64)
    faiss.knn_L2sqr(
        faiss.swig_ptr(queries),
        faiss.swig_ptr(rows),
        rows.shape[1],
        len(queries),
        len(rows),
        k,
        faiss.swig_ptr(distances),
        faiss.swig_ptr(positions),
        None,
        selector,
    )
    return distances, positions


def _by_number(query: Vectors, rows: Vectors, numbers: NDArray[np.int64], k: int) -> Found:
    """The k nearest of some rows, of one query."""
    squares = np.empty(len(numbers), np.float32)
    arrays = [faiss.swig_ptr(array) for array in (squares, query, rows, numbers)]
    faiss.fvec_L2sqr_by_idx(*arrays, rows.shape[1], 1, len(numbers))
    nearest = np.sort(np.argpartition(squares, k - 1)[:k])
    nearest = nearest[np.argsort(squares[nearest], kind="stable")]
    return squares[None, nearest], numbers[None, nearest]


def _by_numpy(queries: Vectors, rows: Vectors, k: int) -> Found:
    """The k nearest rows, by squared distances in float64."""
    squares = np.array([((rows - query.astype(np.float64)) ** 2).sum(axis=1) for query in queries])
    positions = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squares, positions, 1), positions
