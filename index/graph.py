"""Approximate search of float vectors in a graph of neighbours (HNSW, Malkov and Yashunin, TPAMI 2020)."""

from functools import lru_cache
from typing import Any, Self

import faiss
import numpy as np

from crossview.index.base import Vectors
from crossview.index.based import Found
from crossview.index.faiss_base import ApproximateSearcher, FaissBase, complete, padded
from crossview.index.float_scan import FloatIndex

_LINKS = 32
"""Links of a row to its neighbours in each layer but the lowest, which has twice as many."""
_MOST_CANDIDATES = 1 << 12
_CONSTRUCTION = 100
"""Candidates of a row while its links are made."""


class GraphSearcher(ApproximateSearcher[FaissBase]):
    """A searcher that walks along the links of a graph; its effort is the number of candidates that it keeps."""

    base_type = FaissBase
    few = 60_000

    def _new_base(self, before: Self) -> FaissBase:
        rows = self.no_rows()
        graph = faiss.index_factory(
            self.base_width, f"HNSW{_LINKS}," + ("Flat" if rows.dtype == np.float32 else "SQfp16")
        )
        graph.hnsw.efConstruction = _CONSTRUCTION
        if not graph.is_trained:
            graph.train(padded(self.sample()[:1], self.base_width))  # half floats have nothing to learn
        for _, block in self.main_blocks():
            graph.add(padded(self.restored(block), self.base_width))
        return FaissBase(graph, self.base_width * rows.itemsize + 8 * _LINKS + 16)

    def _read_share(self, base: FaissBase, effort: int) -> float:
        # each candidate's links lead to about half of _LINKS new rows
        return min(1.0, effort * _LINKS / 2 / self._built)

    def _range(self, base: FaissBase, k: int, share: float) -> tuple[int, int]:
        return k, max(k, min(self._built, _MOST_CANDIDATES))

    def _ask(self, base: FaissBase, queries: Vectors, k: int, effort: int) -> Found:
        squares, numbers = base.nearest(queries, k, _keeping(max(effort, k)))
        return complete(squares, numbers, min(k, self._built))


class GraphIndex(FloatIndex):
    """An ``Index`` of float vectors by a graph of neighbours: approximate with an effort, exact without."""

    _kind, _searcher_type = "hnsw-l2", GraphSearcher


@lru_cache(256)
def _keeping(candidates: int) -> Any:
    return faiss.SearchParametersHNSW(efSearch=candidates)
