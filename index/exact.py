"""The exact twins: plain NumPy, slow and obviously right. They are the oracles of every other index."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from index.base import Codes, Ids, Neighbors, check_codes, check_ids, check_k, check_vectors, pad
from index.snapshot import SnapshotError, read_snapshot, write_snapshot


class ExactIndex:
    """An ``Index`` that computes every Euclidean distance, in float64."""

    _kind: ClassVar[str] = "exact"

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._ids: Ids = np.empty(0, np.int64)
        self._vectors = self._none()

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._dim

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return np.sort(self._ids)

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors under new ids, shape (n,)."""
        new = check_ids(ids)
        rows = self._check(vectors, len(new))
        if (present := np.intersect1d(new, self._ids)).size:
            raise ValueError(f"id {present[0]} is already present")
        self._ids = np.concatenate([self._ids, new])
        self._vectors = np.concatenate([self._vectors, rows])

    def remove(self, ids: ArrayLike) -> int:
        """Remove ids, ignoring absent ones; return how many were present."""
        removed = np.isin(self._ids, check_ids(ids))
        self._ids, self._vectors = self._ids[~removed], self._vectors[~removed]
        return int(removed.sum())

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        k = check_k(k)
        allowed = np.ones(len(self), bool) if only is None else np.isin(self._ids, check_ids(only))
        ids, rows = self._ids[allowed], self._vectors[allowed]
        distances = self._distances(self._check(vectors), rows)
        order = [np.lexsort((ids, row))[:k] for row in distances]
        padded = [pad(ids[o], row[o], k) for o, row in zip(order, distances, strict=True)]
        return Neighbors(
            np.array([p[0] for p in padded], np.int64).reshape(-1, k),
            np.array([p[1] for p in padded], np.float32).reshape(-1, k),
        )

    def get(self, ids: ArrayLike) -> Any:
        """Return the vectors of the ids; KeyError names an absent one."""
        wanted = check_ids(ids)
        if (absent := np.setdiff1d(wanted, self._ids)).size:
            raise KeyError(int(absent[0]))
        order = np.argsort(self._ids)
        return self._vectors[order[np.searchsorted(self._ids, wanted, sorter=order)]]

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        buffer = io.BytesIO()
        np.savez(buffer, dim=self._dim, ids=self._ids, vectors=self._vectors)
        write_snapshot(path, self._kind, buffer.getbuffer(), meta)

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        payload, meta = read_snapshot(path, cls._kind)
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
                index = cls(int(arrays["dim"]))
                index._ids, index._vectors = arrays["ids"], arrays["vectors"]
        except (ValueError, KeyError, OSError) as error:
            raise SnapshotError(f"{path} cannot be read: {error}") from error
        return index, meta

    def _none(self) -> Any:
        return np.empty((0, self._dim), np.float32)

    def _check(self, vectors: ArrayLike, count: int | None = None) -> Any:
        return check_vectors(vectors, self._dim, count)

    def _distances(self, queries: Any, rows: Any) -> NDArray[np.float32]:
        """All distances, shape (queries, rows)."""
        differences = queries[:, None, :].astype(np.float64) - rows[None, :, :].astype(np.float64)
        distances: NDArray[np.float32] = np.sqrt((differences**2).sum(axis=2)).astype(np.float32)
        return distances


class ExactBinaryIndex(ExactIndex):
    """An ``Index`` of binary codes that counts the differing bits of every pair."""

    _kind = "exact-hamming"

    def _none(self) -> Codes:
        return np.empty((0, -(-self._dim // 8)), np.uint8)

    def _check(self, vectors: ArrayLike, count: int | None = None) -> Codes:
        return check_codes(vectors, self._dim, count)

    def _distances(self, queries: Codes, rows: Codes) -> NDArray[np.float32]:
        differing = np.unpackbits(queries[:, None, :] ^ rows[None, :, :], axis=2)
        distances: NDArray[np.float32] = differing.sum(axis=2).astype(np.float32)
        return distances
