"""Binary codes, and the float vectors that put the nearest codes in order."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import (
    EXACT,
    Codes,
    Ids,
    Index,
    Neighbors,
    SearchCapabilities,
    Vectors,
    check_codes,
    check_k,
    check_vectors,
    in_order,
)
from crossview.index.flat import FlatIndex
from crossview.index.multi_index import AutoBinaryIndex
from crossview.index.positions import Selection
from crossview.index.snapshot import read_snapshot, write_snapshot

_CODES, _FLOATS = "codes.", "floats."
"""Prefixes of the arrays in a snapshot."""


def with_floats(codes: Codes, floats: Vectors) -> Codes:
    """Return rows of a ``RerankedIndex``, (n, b + 4 d): the bytes of codes, (n, b), then of float32 vectors, (n, d)."""
    return np.hstack([codes, np.ascontiguousarray(floats, np.float32).view(np.uint8)])


class RerankedIndex(Index):
    """An ``Index`` of codes of dim bits, each with a float vector: rows as by ``with_floats``.

    A search finds the ``factor`` x k nearest codes, the candidates, and returns the k of them whose float vectors are
    nearest by Euclidean distance. It is exact if ``factor`` x k reaches the number of codes; otherwise it may miss near
    vectors, but all distances are true.
    """

    _kind = "reranked"

    def __init__(self, dim: int, floats: int, factor: int) -> None:
        """Start empty, for codes of ``dim`` bits and vectors of ``floats`` components."""
        if factor < 1:
            raise ValueError(f"the factor must be at least 1, not {factor}")
        self.factor = factor
        self._codes, self._floats = AutoBinaryIndex(dim), FlatIndex(floats)

    @property
    def capabilities(self) -> SearchCapabilities:
        """Not exact: a near vector with a distant code is not a candidate."""
        return SearchCapabilities(exact=False)

    @property
    def dim(self) -> int:
        """Bits of a code."""
        return self._codes.dim

    def __len__(self) -> int:
        return len(self._codes)

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return self._codes.ids()

    def changed(self, removed: ArrayLike, ids: ArrayLike, vectors: ArrayLike) -> Self:
        """Return this index without some ids, and with rows under others, shape (n,)."""
        codes, floats = self._parts(vectors)
        return self._with(self._codes.changed(removed, ids, codes), self._floats.changed(removed, ids, floats))

    def selection(self, ids: ArrayLike) -> Selection:
        """Return a filter of the ids, prepared for this version."""
        return self._codes.selection(ids)

    def search(
        self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None, effort: int = EXACT
    ) -> Neighbors:
        """Return the k nearest candidates of each query, among the ids in ``only`` or among all."""
        codes, floats = self._parts(vectors)
        candidates = max(check_k(k), min(self.factor * k, len(self)))
        ids = self._codes.search(codes, candidates, only).ids
        return in_order(ids, self._floats.distances(floats, ids), k)

    def get(self, ids: ArrayLike) -> Codes:
        """Return the rows of the ids; KeyError names an absent one."""
        return with_floats(self._codes.get(ids), self._floats.get(ids))

    def blocks(self) -> Iterator[tuple[Ids, Codes]]:
        """Yield the ids and the codes, without their float vectors."""
        yield from self._codes.blocks()

    @property
    def waste(self) -> float:
        """The share of rows that ``compacted`` would drop, move or prepare: of codes or of vectors, the larger one."""
        return max(self._codes.waste, self._floats.waste)

    @property
    def worth_compacting(self) -> bool:
        """Whether ``compacted`` makes searches so much faster that it pays."""
        return self._codes.worth_compacting or self._floats.worth_compacting

    def compacted(self) -> Self:
        """Return this index with nearly no waste; ids and answers stay."""
        return self._with(self._codes.compacted(), self._floats.compacted())

    @property
    def nbytes(self) -> int:
        """Bytes in use; parts that other versions share count in full."""
        return self._codes.nbytes + self._floats.nbytes

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        shape = {"dim": self.dim, "floats": self._floats.dim, "factor": self.factor, "rows": len(self)}
        parts = ((_CODES, self._codes.columns()), (_FLOATS, self._floats.columns()))
        columns = {prefix + name: column for prefix, part in parts for name, column in part.items()}
        write_snapshot(path, self._kind, shape, meta, columns)

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        with read_snapshot(path, cls._kind) as snapshot:
            shape, index = snapshot.shape, cls.__new__(cls)
            RerankedIndex.__init__(index, shape["dim"], shape["floats"], shape["factor"])
            index._codes = AutoBinaryIndex.read(snapshot, shape["dim"], shape["rows"], _CODES)
            index._floats = FlatIndex.read(snapshot, shape["floats"], shape["rows"], _FLOATS)
        return index, snapshot.meta

    def _with(self, codes: AutoBinaryIndex, floats: FlatIndex) -> Self:
        other = copy.copy(self)
        other._codes, other._floats = codes, floats
        return other

    def _parts(self, rows: ArrayLike) -> tuple[Codes, NDArray[np.float32]]:
        """Return the codes and the float vectors of rows, or raise ValueError."""
        array, width = np.asarray(rows), -(-self.dim // 8)
        if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != width + 4 * self._floats.dim:
            raise ValueError(
                f"rows of codes and vectors must be uint8 of shape (n, {width + 4 * self._floats.dim}), "
                f"not {array.dtype} of shape {array.shape}"
            )
        floats = np.ascontiguousarray(array[:, width:]).view(np.float32)
        return check_codes(array[:, :width], self.dim), check_vectors(floats, self._floats.dim)
