"""Approximate search of float vectors by a scan of short codes (product quantisation) that re-ranks the nearest."""

from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Vectors
from crossview.index.based import Found
from crossview.index.faiss_base import ApproximateSearcher, FaissBase, padded, whole_blocks
from crossview.index.float_scan import FloatIndex
from crossview.index.searcher import Chosen

_COMPONENTS = 2
"""Components for each code of 4 bits, up to ``_MOST_CODES`` codes."""
_MOST_CODES = 256
_SAMPLES = 1 << 16
_MOST_CANDIDATES = 1 << 13
"""Maximum number of candidates to re-rank."""


class CodeScanSearcher(ApproximateSearcher[FaissBase]):
    """A searcher that scans 4-bit codes of all rows with FAISS's FastScan, and compares the nearest with the query.

    Its effort is the number of candidates to compare. The rows themselves can stay on disk: a search reads only those
    of the candidates.
    """

    base_type = FaissBase
    few = 30_000

    def _new_base(self, before: Self) -> FaissBase:
        old = before._base
        codes = self._trained() if old is None else self._emptied(old.index)
        for _, rows in self.main_blocks():
            codes.add(padded(self.restored(rows), self.base_width))
        return FaissBase(codes, codes.code_size)

    @property
    def base_width(self) -> int:
        """Components of the vectors in the base: those of the rows, filled up to a multiple of those of a code."""
        return whole_blocks(self.dim, self._per_code)

    @property
    def _per_code(self) -> int:
        return max(_COMPONENTS, -(-self.dim // _MOST_CODES))

    def _trained(self) -> Any:
        codes = faiss.IndexPQFastScan(self.base_width, self.base_width // self._per_code, 4)
        rows = self.sample()
        codes.train(padded(rows[:: max(1, len(rows) // _SAMPLES)], self.base_width))
        return codes

    @staticmethod
    def _emptied(old: Any) -> Any:
        """Return an index without rows, with the codebooks of another."""
        codes = faiss.IndexPQFastScan(old.d, old.M, 4)
        centroids = faiss.vector_to_array(old.pq.centroids)
        faiss.copy_array_to_vector(centroids, codes.pq.centroids)
        codes.is_trained = True
        return codes

    def _range(self, base: FaissBase, k: int, share: float) -> tuple[int, int]:
        # a filter makes FAISS find 1 / share times as many; with more candidates, a scan of the matches is faster
        return k, max(k, min(self._built, int(share * _MOST_CANDIDATES)))

    def _ask(self, base: FaissBase, queries: Vectors, k: int, effort: int) -> Found:
        return self._kept(base, queries, k, None, effort)

    def _kept(self, base: FaissBase, queries: Vectors, k: int, chosen: Chosen | None, effort: int) -> Found:
        """Return the candidates that are chosen, or alive, with their true distances."""
        wanted, candidates = self._count(chosen), max(k, effort)
        most = self._enough(candidates, wanted)
        _, numbers = base.nearest(queries, most)
        if most > candidates or wanted < self.rows.offsets[-1]:
            numbers = self._chosen_first(numbers, chosen)[:, :candidates]
        short = (numbers >= 0).sum(axis=1) < min(k, wanted)
        distances = self._scan.distances_of_rows(queries, np.maximum(numbers, 0))
        return Found(numbers, np.where(numbers < 0, np.float32(np.inf), distances), short)

    def _chosen_first(self, numbers: NDArray[np.int64], chosen: Chosen | None) -> NDArray[np.int64]:
        """Return the numbers of chosen rows in their order, then -1."""
        inside = self.rows.are_among(numbers.ravel(), chosen).reshape(numbers.shape) & (numbers >= 0)
        order = np.argsort(~inside, axis=1, kind="stable")
        return np.take_along_axis(np.where(inside, numbers, -1), order, 1)


class CodeScanIndex(FloatIndex):
    """An ``Index`` of float vectors by a scan of codes: approximate with an effort, exact without."""

    _kind, _searcher_type = "scan-l2", CodeScanSearcher
