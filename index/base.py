"""The protocol every index satisfies, and the checks they share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]
Codes = NDArray[np.uint8]
"""Binary codes, packed as by ``np.packbits``: shape (n, bytes), the first bit highest, zeros behind the last."""


class Neighbors(NamedTuple):
    """The nearest vectors of each query, nearest first; equal distances in the order of their ids."""

    ids: Ids
    """Shape (queries, k); -1 where there are fewer than k."""
    distances: NDArray[np.float32]
    """Shape (queries, k); Euclidean, not squared, or the number of differing bits; infinity where fewer than k."""


class Index(Protocol):
    """Vectors under non-negative int64 ids: floats searched by Euclidean, or binary codes by Hamming distance.

    Float vectors have shape (n, dim). Binary ones are ``Codes`` of dim bits, uint8 of shape (n, ceil(dim / 8)), and of
    equally distant ones the k nearest are those with the smallest ids.

    Every method raises ValueError for arrays of the wrong shape, vectors that are not finite, codes that are
    not uint8 or have a bit set behind the last, and negative, repeated or (in ``add``) already present ids; the index
    is then unchanged.
    """

    @property
    def dim(self) -> int:
        """Dimension of the vectors: components, or bits of a code."""

    def __len__(self) -> int: ...

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add vectors under new ids, shape (n,)."""

    def remove(self, ids: ArrayLike) -> int:
        """Remove ids, ignoring absent ones; return how many were present."""

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""

    def get(self, ids: ArrayLike) -> Vectors | Codes:
        """Return the vectors of the ids; KeyError names an absent one."""

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically; ``meta`` (JSON) travels with it."""

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta; SnapshotError if it is damaged or of another kind."""


def check_ids(ids: ArrayLike) -> Ids:
    """Return ids as a one-dimensional int64 array of distinct non-negative numbers, or raise ValueError."""
    array = np.asarray(ids)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(f"ids must be a one-dimensional array of integers, not {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    if array.size and array.min() < 0:
        raise ValueError(f"ids must not be negative: {array.min()}")
    ordered = np.sort(array)
    if (ordered[1:] == ordered[:-1]).any():
        raise ValueError("ids must be distinct")
    return array


def check_vectors(vectors: ArrayLike, dim: int, count: int | None = None) -> Vectors:
    """Return vectors as a contiguous finite float32 array of shape (count, dim), or raise ValueError."""
    array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[1] != dim:
        raise ValueError(f"vectors must have shape (n, {dim}), not {array.shape}")
    if count is not None and len(array) != count:
        raise ValueError(f"{count} ids but {len(array)} vectors")
    if not np.isfinite(array).all():
        raise ValueError("vectors must be finite")
    return array


def check_codes(codes: ArrayLike, dim: int, count: int | None = None) -> Codes:
    """Return codes as a contiguous uint8 array of shape (count, ceil(dim / 8)), or raise ValueError."""
    array = np.ascontiguousarray(codes)
    if array.dtype != np.uint8:
        raise ValueError(f"codes must be uint8, packed as by np.packbits, not {array.dtype}")
    if array.ndim != 2 or array.shape[1] != -(-dim // 8):
        raise ValueError(f"codes of {dim} bits must have shape (n, {-(-dim // 8)}), not {array.shape}")
    if count is not None and len(array) != count:
        raise ValueError(f"{count} ids but {len(array)} codes")
    if dim % 8 and (array[:, -1] & (0xFF >> dim % 8)).any():
        raise ValueError(f"codes of {dim} bits must have zeros behind them")
    return array


def check_k(k: int) -> int:
    """Return k, or raise ValueError when it is below 1."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return int(k)


def in_order(ids: Ids, distances: NDArray[np.float32]) -> Neighbors:
    """Sort each row by distance, then by id, so that every index answers ties alike; absent ones (-1) come last."""
    order = np.lexsort((ids, distances), axis=1)
    return Neighbors(np.take_along_axis(ids, order, 1), np.take_along_axis(distances, order, 1))


def pad(found: Sequence[int] | Ids, distances: NDArray[np.float32], k: int) -> tuple[Ids, NDArray[np.float32]]:
    """Extend one row of neighbours to k with id -1 at infinity."""
    missing = k - len(found)
    ids = np.concatenate([np.asarray(found, np.int64), np.full(missing, -1, np.int64)])
    return ids, np.concatenate([distances, np.full(missing, np.inf, np.float32)])
