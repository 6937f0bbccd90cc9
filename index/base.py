"""The protocols of searchers and indexes, and the checks that they share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.positions import Selection

__all__ = ["EXACT", "Codes", "Ids", "Index", "Neighbors", "SearchCapabilities", "Searcher", "Selection", "Vectors"]

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]
Codes = NDArray[np.uint8]
"""Binary codes, packed as by ``np.packbits``: shape (n, bytes), the first bit highest, zeros behind the last."""
EXACT = 0
"""The effort of a search that misses no neighbour."""
_FIRST_WITHIN = 64
"""Number of neighbours that a search within a radius requests first."""


class Neighbors(NamedTuple):
    """Neighbours of each query, nearest first; equal distances in the order of their ids."""

    ids: Ids
    """Shape (queries, k); -1 if there are fewer than k."""
    distances: NDArray[np.float32]
    """Shape (queries, k); Euclidean, not squared, or the number of differing bits; infinity if there are fewer."""


@dataclass(frozen=True)
class SearchCapabilities:
    """The abilities of a searcher, which its users may rely on."""

    exact: bool = True
    """Whether a search without an effort always finds the nearest. Otherwise it may miss some, but all distances are
    true."""
    filters: Literal["ids", "none"] = "ids"
    """The filters that a search accepts: any set of ids, or none. With ``none``, ``only`` raises ValueError."""


class Searcher(Protocol):
    """The protocol of searchers, which find neighbours for one target.

    A searcher need not have its vectors in this process: it can represent a remote engine.

    Float vectors have shape (n, dim). Binary codes of dim bits are ``Codes``, uint8 of shape (n, ceil(dim / 8)); among
    equally distant codes, those with the smallest ids are nearest.

    Every method raises ValueError for arrays of the wrong shape, vectors that are not finite, codes that are not uint8
    or have a bit set after the last, and negative or repeated ids.
    """

    @property
    def capabilities(self) -> SearchCapabilities:
        """The abilities of this searcher."""

    @property
    def dim(self) -> int:
        """Dimension of the vectors: components, or bits of a code."""

    def __len__(self) -> int: ...

    def search(
        self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None, effort: int = EXACT
    ) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only``, or among all.

        An effort above 0 is one of ``efforts``: the greater it is, the fewer neighbours the search misses. It still
        finds k if there are k.
        """

    def efforts(self, k: int, share: float = 1.0) -> Sequence[int]:
        """Return the efforts to choose from for k neighbours among a share of the vectors, ascending.

        Empty if every search is as exact as it can be.

        The unit depends on the kind of index: lists to probe, candidates to compare, vectors to re-rank.
        """
        return ()

    def selection(self, ids: ArrayLike) -> Selection:
        """Return a filter for ``search``; absent ids are ignored. It is fast for this searcher and valid for others."""

    def within(self, vectors: ArrayLike, radius: float, only: ArrayLike | Selection | None = None) -> Neighbors:
        """Return all neighbours of each query up to a distance, as many columns as the longest list needs.

        An exact searcher finds all of them. This implementation searches for more and more neighbours; a searcher whose
        engine has a search of this kind overrides it.
        """
        if not radius >= 0:
            raise ValueError(f"the radius must be at least 0, not {radius}")
        k, most = _FIRST_WITHIN, max(1, len(self))
        nearest = self.search(vectors, min(k, most), only)
        while k < most and (nearest.distances[:, -1] <= radius).any():
            k *= 4
            nearest = self.search(vectors, min(k, most), only)
        inside = (nearest.distances <= radius) & (nearest.ids >= 0)
        width = int(inside.sum(axis=1).max(initial=0))
        ids, distances = np.where(inside, nearest.ids, -1), np.where(inside, nearest.distances, np.float32(np.inf))
        return Neighbors(ids[:, :width], distances[:, :width])


class Index(Searcher, Protocol):
    """The protocol of indexes: searchers over vectors under non-negative int64 ids in this process.

    An index is a value. It never changes, and any thread may search it at any time. ``changed`` returns another index
    that shares its memory with this one, in a time that depends only on the change.
    """

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""

    def changed(self, removed: ArrayLike, ids: ArrayLike, vectors: ArrayLike) -> Self:
        """Return an index without ``removed``, absent ones ignored, and with vectors under ids, shape (n,).

        Ids that are present, or among the removed, are replaced. It is fastest if ids are greater than all before.
        """

    def get(self, ids: ArrayLike) -> Any:
        """Return the vectors of the ids; KeyError names an absent one."""

    def is_correlated(self, only: Selection) -> bool:
        """Return whether a filter depends on the vectors, so that its matches are near each other, and searches for
        them need more effort than among as many vectors drawn by chance."""
        return False

    def blocks(self) -> Iterator[tuple[Ids, Any]]:
        """Yield ids, shape (n,), and their vectors in blocks, each id once, in the order of storage."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the index, as ``IndexSpec`` states them; those that have their default may be missing."""
        return {}

    @property
    def waste(self) -> float:
        """The share of rows, from 0 to 1, that ``compacted`` would drop, move or prepare; after it, below 0.07."""

    @property
    def worth_compacting(self) -> bool:
        """Whether ``compacted`` makes searches so much faster that it pays."""

    def compacted(self) -> Self:
        """Return an index of the same ids and vectors with nearly no waste, in a time that grows with size."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use; parts that other versions share count in full."""

    def read_bytes(self, effort: int = EXACT) -> int:
        """Return roughly the bytes that a search without a filter reads."""
        return self.nbytes

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
    """Return ids in ascending order: the same array if it ascends, as is usual and fast to check."""
    return ids if (ids[1:] > ids[:-1]).all() else np.sort(ids)


def check_vectors(vectors: ArrayLike, dim: int, count: int | None = None) -> Vectors:
    """Return vectors as a contiguous finite float32 array of shape (count, dim), or raise ValueError."""
    array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[1] != dim:
        raise ValueError(f"vectors must have shape (n, {dim}), not {array.shape}")
    if count is not None and len(array) != count:
        raise ValueError(f"{count} ids but {len(array)} vectors")
    if not np.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():  # the sum can overflow
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
        raise ValueError(f"codes of {dim} bits must have zeros after the last bit")
    return array


def check_k(k: int) -> int:
    """Return k, or raise ValueError if it is below 1."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return int(k)


def in_order(ids: Ids, distances: NDArray[np.float32], k: int) -> Neighbors:
    """Return the k first of each row by distance, then by id, so that all indexes order ties equally, filled up to
    k."""
    if len(ids) == 1:  # indexing one axis is several times as fast as indexing two
        order = np.lexsort((ids[0], distances[0]))[:k]
        return filled_up(ids[:, order], distances[:, order], k)
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    rows = np.arange(len(ids))[:, None]
    return filled_up(ids[rows, order], distances[rows, order], k)


def filled_up(ids: Ids, distances: NDArray[np.float32], k: int) -> Neighbors:
    """Return neighbours in their order, filled up to k with id -1 at infinity."""
    if (missing := k - ids.shape[1]) > 0:
        ids = np.concatenate([ids, np.full((len(ids), missing), -1, ids.dtype)], axis=1)
        empty = np.full((len(ids), missing), np.inf, distances.dtype)
        distances = np.concatenate([distances, empty], axis=1)  # several times as fast as np.pad
    return Neighbors(ids, distances)
