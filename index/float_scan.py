"""Exact search of float vectors by FAISS's scans of memory."""

from collections.abc import Mapping
from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import EXACT, Ids, Neighbors, Vectors, check_vectors, in_order
from crossview.index.positions import Positions
from crossview.index.rows import RowNumbers
from crossview.index.scan import Found, Scan
from crossview.index.searcher import Chosen
from crossview.index.stored import StoredIndex

_REFINE_FLOATS = 1 << 24
"""Vector components to copy at once when distances are computed again (64 MiB)."""
MATRIX = 20
"""Number of queries from which on FAISS multiplies matrices; then a bitmap costs more than a copy of the rows."""
_GATHERED = 0.55
"""Share of chosen rows up to which reading them by number is faster than a scan with a bitmap."""
_DENSE, _DENSE_OF_SOME = 0.2, 0.6
"""Share of chosen rows from which on a scan of all rows is faster: for one query, and for fewer than ``MATRIX``."""
_CACHED = 1 << 18
"""Bytes of rows up to which it is faster to copy and scan them, in the processor's cache, than to read by number."""


COMPONENTS = {name: np.dtype(name) for name in ("float32", "float16")}
"""The types in which an index can store components."""
_BYTES = "component"
"""Name of the bytes of a component in a snapshot."""


class FlatSearcher(Scan):
    """A searcher that scans float vectors for the nearest by Euclidean distance."""

    def __init__(self, dim: int, vectors: str = "float32") -> None:
        self._dtype = COMPONENTS[vectors]
        super().__init__(dim)

    def search(self, queries: Vectors, k: int, chosen: Chosen | None, effort: int = EXACT) -> Neighbors:
        """Return the k nearest rows of each checked query among the chosen ones, or among all that are alive."""
        per_chunk = self._nearest(queries, k, self.rows.chunks, self.rows.alive if chosen is None else chosen)
        if not per_chunk:
            return in_order(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32), k)
        numbers = per_chunk[0][1]
        if len(per_chunk) > 1:
            order = np.argsort(np.concatenate([distances for distances, _ in per_chunk], 1), 1, kind="stable")[:, :k]
            numbers = np.take_along_axis(np.concatenate([rows for _, rows in per_chunk], 1), order, 1)
        ids = self.rows.ids_of(numbers.ravel()).reshape(numbers.shape)
        # For 20 queries and more, FAISS expands squared distances as |q|^2 - 2qx + |x|^2 in float32, which loses small
        # distances. Compute them again from the vectors.
        return in_order(ids, self.distances_of_rows(queries, numbers), k)

    def distances(self, queries: Vectors, ids: Ids) -> NDArray[np.float32]:
        """Return the distances of each query to its ids, both of shape (queries, k); infinity for an id of -1."""
        numbers = self.rows.numbers(ids.ravel()).reshape(ids.shape)
        some = self.rows.live > 0
        distances = self.distances_of_rows(queries, np.maximum(numbers, 0)) if some else np.empty(ids.shape, np.float32)
        distances[numbers < 0] = np.inf
        return distances

    def distances_of_rows(self, queries: Vectors, numbers: RowNumbers) -> NDArray[np.float32]:
        """Return the distances of each query to some rows, shape (queries, k), in float64 except for the last step."""
        flat, width = numbers.ravel(), numbers.shape[1]
        distances = np.empty(flat.shape, np.float32)
        step = max(1, _REFINE_FLOATS // max(1, self.dim))
        for start in range(0, len(flat), step):
            part = flat[start : start + step]
            repeated = queries if len(queries) == 1 else queries[np.arange(start, start + len(part)) // width]
            difference = self.rows.take(part) - repeated.astype(np.float64)
            distances[start : start + step] = np.sqrt(np.vecdot(difference, difference))
        return distances.reshape(numbers.shape)

    def no_rows(self) -> Vectors:
        """Return no vectors."""
        return np.empty((0, self.dim), self._dtype)

    def checked(self, vectors: ArrayLike, count: int | None = None) -> Vectors:
        """Return vectors as contiguous queries, or raise ValueError."""
        return check_vectors(vectors, self.dim, count)

    def stored(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return checked vectors as rows; ValueError if a component is too large for their type."""
        if self._dtype == np.float32:
            return vectors
        with np.errstate(over="ignore"):
            rows = vectors.astype(self._dtype)
        if not np.isfinite(rows).all():
            raise ValueError(f"components above {np.finfo(self._dtype).max:g} do not fit into {self._dtype}")
        return rows

    def restored(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows as vectors of float32."""
        return rows.astype(np.float32, copy=False)

    def _dense(self, queries: int) -> float:
        return _DENSE if queries == 1 else _DENSE_OF_SOME if queries < MATRIX else 0.95

    def _scan(self, queries: Vectors, rows: NDArray[Any], k: int) -> Found:
        rows = self.restored(rows)
        distances, positions = _by_faiss(queries, rows, k, None)
        return (distances, positions) if positions[:, -1:].min(initial=0) >= 0 else _by_numpy(queries, rows, k)

    def _among(self, queries: Vectors, rows: NDArray[Any], chosen: Positions, k: int) -> Found:
        whole = rows.dtype == np.float32  # FAISS reads single rows of no other type
        if whole and len(queries) < MATRIX and chosen.share > _GATHERED:
            bits = chosen.bits
            nearest = _by_faiss(queries, rows, k, faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits)))
            if nearest[1][:, -1:].min(initial=0) >= 0:
                return nearest
        numbers = chosen.numbers
        if whole and len(queries) == 1 and len(numbers) * rows.itemsize * rows.shape[1] > _CACHED:
            return _by_number(queries, rows, numbers.astype(np.int64), k)
        distances, positions = self._scan(queries, rows.take(numbers, 0), k)
        return distances, numbers.astype(np.int64)[positions]


class FloatIndex(StoredIndex):
    """The base class of indexes of float vectors, which store components with 4 or 2 bytes."""

    def __init__(self, dim: int, vectors: str = "float32") -> None:
        """Start empty; ``vectors`` is ``float32``, or ``float16``, which rounds components to 11 bits."""
        if vectors not in COMPONENTS:
            raise ValueError(f"vectors are stored as {' or '.join(COMPONENTS)}, not as {vectors!r}")
        self.vectors = vectors
        self._searcher = self._searcher_type(dim, vectors)  # type: ignore[call-arg]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The type of the components of stored vectors."""
        return {"vectors": self.vectors}

    def _shape(self) -> dict[str, int]:
        return {**super()._shape(), _BYTES: COMPONENTS[self.vectors].itemsize}

    @classmethod
    def _empty_for(cls, shape: Mapping[str, int], dim: int) -> Self:
        return cls(dim, "float16" if shape.get(_BYTES) == COMPONENTS["float16"].itemsize else "float32")


def _by_faiss(queries: Vectors, rows: Vectors, k: int, selector: faiss.IDSelector | None) -> Found:
    """Return the k nearest rows; -1 at the end if squared distances exceed float32."""
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
    """Return the k nearest of some rows for one query."""
    squares = np.empty(len(numbers), np.float32)
    arrays = [faiss.swig_ptr(array) for array in (squares, query, rows, numbers)]
    faiss.fvec_L2sqr_by_idx(*arrays, rows.shape[1], 1, len(numbers))
    nearest = np.sort(np.argpartition(squares, k - 1)[:k])
    nearest = nearest[np.argsort(squares[nearest], kind="stable")]
    return squares[None, nearest], numbers[None, nearest]


def _by_numpy(queries: Vectors, rows: Vectors, k: int) -> Found:
    """Return the k nearest rows by squared distances in float64."""
    squares = np.array([((rows - query.astype(np.float64)) ** 2).sum(axis=1) for query in queries])
    positions = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squares, positions, 1), positions
