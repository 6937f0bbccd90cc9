"""The protocol every index satisfies, and the checks they share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.positions import Selection

__all__ = ["Codes", "Ids", "Index", "Neighbors", "Selection", "Vectors"]

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

    An index is a value. It never changes, and any thread may search it at any time; ``changed`` makes another one that
    shares what it stores with this one, in a time that depends on the change alone.

    Float vectors have shape (n, dim). Binary ones are ``Codes`` of dim bits, uint8 of shape (n, ceil(dim / 8)), and of
    equally distant ones the k nearest are those with the smallest ids.

    Every method raises ValueError for arrays of the wrong shape, vectors that are not finite, codes that are
    not uint8 or have a bit set behind the last, and negative or repeated ids.
    """

    @property
    def dim(self) -> int:
        """Dimension of the vectors: components, or bits of a code."""

    def __len__(self) -> int: ...

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""

    def changed(self, removed: ArrayLike, ids: ArrayLike, vectors: ArrayLike) -> Self:
        """Return an index without ``removed``, absent ones ignored, and with vectors under ids, shape (n,).

        Ids that are present, or among the removed, are replaced. It is fastest where ids are greater than all before.
        """

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""

    def selection(self, ids: ArrayLike) -> Selection:
        """Return a filter for ``search``, absent ids ignored: fast for this index, and as good for all others."""

    def get(self, ids: ArrayLike) -> Vectors | Codes:
        """Return the vectors of the ids; KeyError names an absent one."""

    @property
    def waste(self) -> float:
        """From 0 to 1: the share of rows that ``compacted`` would drop, move or prepare anew; after it, below 0.07."""

    @property
    def worth_compacting(self) -> bool:
        """Whether searches gain enough by ``compacted`` to pay for it."""

    def compacted(self) -> Self:
        """Return an index of the same ids and vectors with nearly no waste, which takes a time that grows with size."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use; what other versions share is counted in full."""

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
    ordered = ascending(array)
    if len(ordered) and ordered[0] < 0:
        raise ValueError(f"ids must not be negative: {ordered[0]}")
    if (ordered[1:] == ordered[:-1]).any():
        raise ValueError("ids must be distinct")
    return array


def ascending(ids: Ids) -> Ids:
    """Return ids in order; themselves where they are, which costs little to see and is the rule."""
    return ids if (ids[1:] > ids[:-1]).all() else np.sort(ids)


def check_vectors(vectors: ArrayLike, dim: int, count: int | None = None) -> Vectors:
    """Return vectors as a contiguous finite float32 array of shape (count, dim), or raise ValueError."""
    array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[1] != dim:
        raise ValueError(f"vectors must have shape (n, {dim}), not {array.shape}")
    if count is not None and len(array) != count:
        raise ValueError(f"{count} ids but {len(array)} vectors")
    if not np.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():  # the sum of large ones overflows
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


def in_order(ids: Ids, distances: NDArray[np.float32], k: int) -> Neighbors:
    """Return the k first of each row by distance, then by id, so that all indexes answer ties alike; -1 fills up."""
    if len(ids) == 1:  # indices of one axis are taken several times as fast as those of two
        order = np.lexsort((ids[0], distances[0]))[:k]
        return filled_up(ids[:, order], distances[:, order], k)
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    rows = np.arange(len(ids))[:, None]
    return filled_up(ids[rows, order], distances[rows, order], k)


def filled_up(ids: Ids, distances: NDArray[np.float32], k: int) -> Neighbors:
    """Return neighbours in their order, with id -1 at infinity where a row has fewer than k."""
    if (missing := k - ids.shape[1]) > 0:
        ids = np.pad(ids, ((0, 0), (0, missing)), constant_values=-1)
        distances = np.pad(distances, ((0, 0), (0, missing)), constant_values=np.inf)
    return Neighbors(ids, distances)
