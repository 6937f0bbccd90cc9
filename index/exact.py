"""The exact twins of the indexes: plain NumPy, slow and evidently correct. They check the answers of every other
index."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import (
    EXACT,
    Codes,
    Ids,
    Index,
    Neighbors,
    SearchCapabilities,
    check_codes,
    check_ids,
    check_k,
    check_vectors,
    in_order,
)
from crossview.index.positions import Selection
from crossview.index.snapshot import Column, read_snapshot, write_snapshot


class ExactIndex(Index):
    """An ``Index`` that computes every Euclidean distance, in float64."""

    _kind: ClassVar[str] = "exact"

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._ids: Ids = np.empty(0, np.int64)
        self._vectors = self._none()

    @property
    def capabilities(self) -> SearchCapabilities:
        """Exact, with any filter."""
        return SearchCapabilities()

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._dim

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return np.sort(self._ids)

    def changed(self, removed: ArrayLike, ids: ArrayLike, vectors: ArrayLike) -> Self:
        """Return this index without some ids, and with vectors under others, shape (n,)."""
        new, gone = check_ids(ids), check_ids(removed)
        rows = self._check(vectors, len(new))
        mask = ~np.isin(self._ids, np.concatenate([gone, new]))
        other = copy.copy(self)
        other._ids = np.concatenate([self._ids[mask], new])
        other._vectors = np.concatenate([self._vectors[mask], rows])
        return other

    def selection(self, ids: ArrayLike) -> Selection:
        """Return a filter of the ids."""
        return Selection(np.sort(check_ids(ids)), self)

    def search(
        self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None, effort: int = EXACT
    ) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only``, or among all."""
        only = only.ids if isinstance(only, Selection) else only
        k = check_k(k)
        allowed = np.ones(len(self), bool) if only is None else np.isin(self._ids, check_ids(only))
        ids, rows = self._ids[allowed], self._vectors[allowed]
        distances = self._distances(self._check(vectors), rows)
        return in_order(np.tile(ids, (len(distances), 1)), distances, k)

    def get(self, ids: ArrayLike) -> Any:
        """Return the vectors of the ids; KeyError names an absent one."""
        wanted = check_ids(ids)
        if (absent := np.setdiff1d(wanted, self._ids)).size:
            raise KeyError(int(absent[0]))
        order = np.argsort(self._ids)
        return self._vectors[order[np.searchsorted(self._ids, wanted, sorter=order)]]

    def blocks(self) -> Iterator[tuple[Ids, Any]]:
        """Yield all ids and vectors at once."""
        yield self._ids, self._vectors

    @property
    def waste(self) -> float:
        """Always 0."""
        return 0.0

    @property
    def worth_compacting(self) -> bool:
        """Always false."""
        return False

    def compacted(self) -> Self:
        """Return this index."""
        return self

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return int(self._ids.nbytes + self._vectors.nbytes)

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        arrays = {"ids": self._ids, "rows": self._vectors}
        columns = {name: Column(array.dtype, array.shape, [array]) for name, array in arrays.items()}
        write_snapshot(path, self._kind, {"dim": self.dim, "rows": len(self)}, meta, columns)

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        with read_snapshot(path, cls._kind) as snapshot:
            index, count = cls(snapshot.shape["dim"]), snapshot.shape["rows"]
            index._ids = snapshot.array("ids", np.int64, (count,))
            index._vectors = snapshot.array("rows", index._vectors.dtype, (count, index._vectors.shape[1]))
        return index, snapshot.meta

    def _none(self) -> Any:
        return np.empty((0, self._dim), np.float32)

    def _check(self, vectors: ArrayLike, count: int | None = None) -> Any:
        return check_vectors(vectors, self._dim, count)

    def _distances(self, queries: Any, rows: Any) -> NDArray[np.float32]:
        """Return all distances, shape (queries, rows)."""
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
