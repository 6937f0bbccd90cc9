"""Approximate Hamming search by inverted lists, for codes of which only the very near neighbours matter."""

from collections.abc import Sequence
from typing import Any, Self

import faiss
import numpy as np
from numpy.typing import NDArray

from crossview.index.base import EXACT, Codes
from crossview.index.based import Found
from crossview.index.binary_flat import BinaryFlatIndex, HammingSearcher
from crossview.index.faiss_base import FaissBase, FaissSearcher, whole_blocks
from crossview.index.ivf import list_count
from crossview.index.searcher import Chosen

_LEAST_ROWS = 50_000
"""Number of codes below which a scan is fast enough."""
_PROBES = 8
_SAMPLES = 64
"""Codes for each list from which k-means learns the centroids."""


class BinaryLists(FaissBase):
    """Inverted lists of codes."""

    @staticmethod
    def _read(reader: Any) -> Any:
        index = faiss.read_index_binary(reader)
        index.nprobe = _PROBES
        return index

    def padded(self, vectors: Codes) -> Codes:
        """Return codes as they are: they consist of whole bytes."""
        return vectors

    def stored(self) -> NDArray[np.uint8]:
        """Return the bytes from which ``of`` restores the base."""
        data: NDArray[np.uint8] = faiss.serialize_index_binary(self.index)
        return data


class BinaryListsSearcher(FaissSearcher[BinaryLists]):
    """A searcher that probes a fixed number of lists in a search with any effort, and scans otherwise.

    Codes that differ from the query in few bits are in the same lists or in the next ones, so near copies are found;
    farther neighbours are missed more often.
    """

    base_type = BinaryLists

    def __init__(self, dim: int) -> None:
        super().__init__(HammingSearcher(dim))

    def efforts(self, k: int, share: float = 1.0) -> Sequence[int]:
        """Return the only effort, the number of lists to probe."""
        return () if self._base is None else (_PROBES,)

    @property
    def base_width(self) -> int:
        """Bits of the codes with those that fill their last byte."""
        return whole_blocks(self.dim, 8)

    def _is_large(self, rows: int) -> bool:
        return rows >= _LEAST_ROWS

    def _suits(self, queries: int, k: int, chosen: Chosen | None, effort: int) -> bool:
        return effort != EXACT and chosen is None

    def _read_share(self, base: BinaryLists, effort: int) -> float:
        return min(1.0, _PROBES / int(base.index.nlist))

    def _new_base(self, before: Self) -> BinaryLists:
        count = list_count(self._built)
        lists = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(self.base_width), self.base_width, count)
        numbers = np.linspace(0, self._built - 1, min(self._built, _SAMPLES * count)).astype(np.int64)
        lists.train(self.rows.take(numbers))
        for _, rows in self.main_blocks():
            lists.add(np.ascontiguousarray(rows))
        lists.nprobe = _PROBES
        return BinaryLists(lists, lists.code_size + 8)

    def _ask(self, base: BinaryLists, queries: Codes, k: int, effort: int) -> Found:
        distances, numbers = base.nearest(queries, k, None, np.int32)
        far = np.where(numbers < 0, np.float32(np.inf), distances.astype(np.float32))
        return Found(numbers, far, numbers[:, min(k, self._built) - 1] < 0)


class BinaryListsIndex(BinaryFlatIndex):
    """An ``Index`` of codes by inverted lists: approximate with an effort, exact without."""

    _kind, _searcher_type = "lists-hamming", BinaryListsSearcher
