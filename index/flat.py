"""Exact search by FAISS: a flat L2 index under an id map."""

from pathlib import Path
from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from index.base import Ids, Neighbors, Vectors, check_k, check_vectors, in_order
from index.faiss_index import FaissIndex
from index.snapshot import SnapshotError, read_snapshot

_REFINE_FLOATS = 1 << 24
"""Vector components gathered at once when distances are recomputed (64 MiB)."""


class FlatIndex(FaissIndex):
    """An ``Index`` over ``IDMap2,Flat``.

    FAISS ranks by squared distances that it expands as |q|^2 - 2qx + |x|^2 in float32, which loses the small ones;
    the distances of what it found are therefore computed again from the vectors.
    """

    _kind = "flat-l2"

    def __init__(self, dim: int) -> None:
        super().__init__(faiss.IndexIDMap2(faiss.IndexFlatL2(dim)))

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self._index.d)

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors, shape (n, dim), under new ids, shape (n,)."""
        new = self._new(ids)
        rows = check_vectors(vectors, self.dim, len(new))
        if len(new):
            self._index.add_with_ids(rows, new)

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        queries = check_vectors(vectors, self.dim)
        _, ids = self._nearest(queries, check_k(k), only)
        return in_order(ids, self.distances(queries, ids))

    def distances(self, queries: Vectors, ids: Ids) -> NDArray[np.float32]:
        """Return the distances of each query to its ids, both of shape (queries, k); infinity where an id is -1."""
        distances = np.full(ids.shape, np.inf, np.float32)
        step = max(1, _REFINE_FLOATS // max(1, self.dim))
        for query, row, out in zip(queries, ids, distances, strict=True):
            for start in range(0, len(row), step):
                part = row[start : start + step]
                present = part >= 0
                difference = self._reconstruct(part[present]).astype(np.float64) - query
                out[start : start + step][present] = np.sqrt(np.einsum("nd,nd->n", difference, difference))
        return distances

    def get(self, ids: ArrayLike) -> Vectors:
        """Return the vectors of the ids; KeyError names an absent one."""
        return self._reconstruct(self._present(ids))

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        payload, meta = read_snapshot(path, cls._kind)
        index = cls.__new__(cls)
        try:
            index._index = faiss.deserialize_index(np.frombuffer(payload, np.uint8))
        except RuntimeError as error:
            raise SnapshotError(f"{path} cannot be read: {error}") from error
        return index, meta

    def _serialized(self) -> NDArray[np.uint8]:
        data: NDArray[np.uint8] = faiss.serialize_index(self._index)
        return data

    def _reconstruct(self, ids: Ids) -> Vectors:
        if not len(ids):
            return np.empty((0, self.dim), np.float32)
        vectors: Vectors = self._index.reconstruct_batch(ids)
        return vectors
