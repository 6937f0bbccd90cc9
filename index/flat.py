"""Exact search of many float vectors in two stages: a scan of 8-bit components, then true distances of the nearest."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import EXACT, Ids, Vectors
from crossview.index.based import Found
from crossview.index.faiss_base import FaissBase, FaissSearcher, whole_blocks
from crossview.index.float_scan import MATRIX, FlatSearcher, FloatIndex
from crossview.index.searcher import Chosen
from crossview.index.snapshot import Column, Snapshot

_LEAST_COMPONENTS = 6_400_000
"""Number of components from which the first stage saves time: 100,000 vectors of 64."""
_CANDIDATES, _SPARE = 4, 80
"""Candidates of the first stage for each neighbour, and beyond."""
_MOST_NEIGHBORS = 500
_SAMPLE, _NEIGHBORS, _PROVEN = 32, 11, 0.9
"""The first stage stays if it proves the ten nearest of this share of a sample of rows."""
_ROUNDING = 1e-5
"""Relative error of FAISS's sums in float32."""
_MOST_SELECTED = 0.5
"""Share of chosen rows from which on the first stage is worth its candidates that are not chosen."""
_DECODED_AT_ONCE = 1 << 16


_ERROR = "error"
"""Name of the array of a snapshot that contains the error of the codes."""


class Bytes(FaissBase):
    """The rows with 8 bits for each component."""

    error: float = 0.0
    """The largest distance of a row to what its code stands for."""

    @cached_property
    def filling(self) -> float:
        """The value of the lowest code: it adds nothing to distances and to the error."""
        return float(self.index.sa_decode(np.zeros((1, self.index.d), np.uint8))[0, 0])


class QuantizedSearcher(FaissSearcher[Bytes]):
    """An exact searcher that scans 8-bit components, a quarter of the memory, and proves that nothing else is nearer.

    A vector is at most the error of the codes away from its code. So if the code of the last candidate is farther than
    the k-th true distance plus this error, no vector beyond the candidates is among the k nearest. A search without a
    proof scans the vectors. The first stage stays only if it proves most of a sample of searches: the rule counts, so
    that equal vectors give equal choices on every machine.
    """

    base_type = Bytes
    changed_share: ClassVar[float] = 1 / 8
    _scan: FlatSearcher

    def __init__(self, dim: int, vectors: str = "float32") -> None:
        super().__init__(FlatSearcher(dim, vectors))

    def distances(self, queries: Vectors, ids: Ids) -> NDArray[np.float32]:
        """Return the distances of each query to its ids, both of shape (queries, k); infinity for an id of -1."""
        return self._scan.distances(queries, ids)

    def columns(self) -> Mapping[str, Column]:
        """Return the arrays to write into a snapshot: also the error of the codes."""
        whole = self.whole()
        if whole._base is None:
            return whole.rows.columns()
        error = np.array([whole._base.error])
        return {**super(QuantizedSearcher, whole).columns(), _ERROR: Column(error.dtype, error.shape, [error])}

    def read(self, snapshot: Snapshot, count: int, prefix: str = "") -> Self:
        """Return this searcher over the ``count`` rows of a snapshot, with its base if it has one."""
        other = super().read(snapshot, count, prefix)
        if other._base is not None and other._base.index.d != self.base_width:  # slower than a scan of the vectors
            return self.over(other.rows)
        if other._base is not None and snapshot.bytes_of(prefix + _ERROR) is not None:
            other._base.error = float(snapshot.array(prefix + _ERROR, np.float64, (1,))[0])
        return other

    @property
    def base_width(self) -> int:
        """Components of a code: those of the rows, filled up to whole blocks."""
        return whole_blocks(self.dim)

    def _is_large(self, rows: int) -> bool:
        return rows * self.dim >= _LEAST_COMPONENTS

    def _suits(self, queries: int, k: int, chosen: Chosen | None, effort: int) -> bool:
        many = chosen is None or self._count(chosen) >= _MOST_SELECTED * self.rows.offsets[-1]
        return queries < MATRIX and k <= _MOST_NEIGHBORS and many

    def _new_base(self, before: Self) -> Bytes | None:
        codes = faiss.IndexScalarQuantizer(self.base_width, faiss.ScalarQuantizer.QT_8bit_uniform)
        blocks = [rows for _, rows in self.main_blocks()]
        ends = [[rows.min(), rows.max()] for rows in blocks]
        codes.train(np.repeat([[np.min(ends)], [np.max(ends)]], self.base_width, axis=1).astype(np.float32))
        base = Bytes(codes, codes.code_size)
        for rows in blocks:
            vectors = base.padded(self.restored(rows))
            codes.add(vectors)
            base.error = max(base.error, _error(codes, vectors))
        sample = self.restored(self.rows.take(np.linspace(0, self._built - 1, _SAMPLE).astype(np.int64)))
        unproven = sum(bool(self._ask(base, vector[None], _NEIGHBORS, EXACT).short[0]) for vector in sample)
        return base if unproven <= (1 - _PROVEN) * _SAMPLE else None

    def _ask(self, base: Bytes, queries: Vectors, k: int, effort: int) -> Found:
        """Return the candidates with their true distances; short is a query without a proof."""
        most = min(self._built, _CANDIDATES * k + _SPARE)
        squares, numbers = base.nearest(queries, most)
        distances = self._scan.distances_of_rows(queries, np.maximum(numbers, 0))
        if most == self._built:
            return Found(numbers, distances, np.zeros(len(queries), bool))
        beyond = np.sqrt(squares[:, -1]) * (1 - _ROUNDING) - base.error
        kth = np.partition(distances, k - 1, axis=1)[:, k - 1]
        unproven: NDArray[np.bool_] = beyond <= kth
        return Found(numbers, distances, unproven)


class FlatIndex(FloatIndex):
    """An ``Index`` of float vectors that is always exact."""

    _kind, _searcher_type = "flat-l2", QuantizedSearcher
    _searcher: QuantizedSearcher

    def distances(self, queries: Vectors, ids: Ids) -> NDArray[np.float32]:
        """Return the distances of each query to its ids, both of shape (queries, k); infinity for an id of -1."""
        return self._searcher.distances(queries, ids)


def _error(codes: Any, vectors: Vectors) -> float:
    """Return the largest distance of a vector to what its code stands for."""
    largest = 0.0
    for start in range(0, len(vectors), _DECODED_AT_ONCE):
        some = vectors[start : start + _DECODED_AT_ONCE]
        difference = some - codes.sa_decode(codes.sa_encode(some))
        largest = max(largest, float(np.sqrt(np.vecdot(difference, difference).max(initial=0))))
    return largest * (1 + _ROUNDING)
