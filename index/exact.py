"""The exact twin: plain NumPy in float64, slow and obviously right. It is the oracle of every other index."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from index.base import Ids, Neighbors, Vectors, check_ids, check_k, check_vectors, in_order, pad
from index.snapshot import SnapshotError, read_snapshot, write_snapshot

_KIND = "exact"


class ExactIndex:
    """An ``Index`` that computes every distance."""

    def __init__(self, dim: int) -> None:
        self._ids: Ids = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, dim), np.float32)

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self._vectors.shape[1])

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return np.sort(self._ids)

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors, shape (n, dim), under new ids, shape (n,)."""
        new = check_ids(ids)
        rows = check_vectors(vectors, self.dim, len(new))
        if (present := np.intersect1d(new, self._ids)).size:
            raise ValueError(f"id {present[0]} is already present")
        self._ids = np.concatenate([self._ids, new])
        self._vectors = np.concatenate([self._vectors, rows])

    def remove(self, ids: ArrayLike) -> int:
        """Remove ids, ignoring absent ones; return how many were present."""
        gone = np.isin(self._ids, check_ids(ids))
        self._ids, self._vectors = self._ids[~gone], self._vectors[~gone]
        return int(gone.sum())

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        k = check_k(k)
        allowed = np.ones(len(self), bool) if only is None else np.isin(self._ids, check_ids(only))
        ids, rows = self._ids[allowed], self._vectors[allowed]
        distances = _distances(check_vectors(vectors, self.dim), rows)
        order = [np.lexsort((ids, row))[:k] for row in distances]
        padded = [pad(ids[o], row[o], k) for o, row in zip(order, distances, strict=True)]
        return Neighbors(
            np.array([p[0] for p in padded], np.int64).reshape(-1, k),
            np.array([p[1] for p in padded], np.float32).reshape(-1, k),
        )

    def range(self, vectors: ArrayLike, radius: float) -> list[Neighbors]:
        """Return, for each query, all vectors at distance <= radius."""
        distances = _distances(check_vectors(vectors, self.dim), self._vectors)
        inside = [np.flatnonzero(row <= np.float32(radius)) for row in distances]
        return [
            in_order(self._ids[found][None], row[found][None]) for found, row in zip(inside, distances, strict=True)
        ]

    def get(self, ids: ArrayLike) -> Vectors:
        """Return the vectors of the ids; KeyError names an absent one."""
        wanted = check_ids(ids)
        if (absent := np.setdiff1d(wanted, self._ids)).size:
            raise KeyError(int(absent[0]))
        order = np.argsort(self._ids)
        return self._vectors[order[np.searchsorted(self._ids, wanted, sorter=order)]]

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        buffer = io.BytesIO()
        np.savez(buffer, ids=self._ids, vectors=self._vectors)
        write_snapshot(path, _KIND, buffer.getbuffer(), meta)

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        payload, meta = read_snapshot(path, _KIND)
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
                index = cls(arrays["vectors"].shape[1])
                index._ids, index._vectors = arrays["ids"], arrays["vectors"]
        except (ValueError, KeyError, OSError) as error:
            raise SnapshotError(f"{path} cannot be read: {error}") from error
        return index, meta


def _distances(queries: Vectors, rows: Vectors) -> NDArray[np.float32]:
    differences = queries[:, None, :].astype(np.float64) - rows[None, :, :].astype(np.float64)
    distances: NDArray[np.float32] = np.sqrt((differences**2).sum(axis=2)).astype(np.float32)
    return distances
