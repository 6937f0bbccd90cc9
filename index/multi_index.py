"""Exact Hamming search for large sets: multi-index hashing, and the rule that chooses between it and a scan."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from index.base import Ids, Neighbors, check_codes
from index.binary_flat import BinaryFlatIndex
from index.substrings import Distances, Numbers, SubstringTables

_LOOKUP = 64
"""64-bit words that a scan compares in the time of one lookup, measured. A query that would take more lookups than a
scan's time is scanned for: at a million codes that cost 2.6 scans in all with 64 bits, 6.4 with 256."""
_CHANGED = 0.25
"""Changes, as a share of the codes in the tables, after which these are built anew."""
_LARGE = 1 << 19
"""Codes below which a scan is faster, however near the neighbours are: see ``AutoBinaryIndex``."""
_SAMPLE, _NEIGHBORS = 32, 10

Found = tuple[Ids, NDArray[np.float32]]


class MultiIndexHashing(BinaryFlatIndex):
    """An ``Index`` of binary codes that looks up a query's substrings, and scans where that would take longer.

    The tables hold the codes as they were when built; later ones wait in a flat index, and removed ids leave the
    tables' groups, until a quarter has changed. This takes 3 to 5 times the memory of codes and ids, and pays where
    the k nearest are near, as in large sets of clustered codes. Searches with a filter scan.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self._build()

    def add(self, ids: ArrayLike, vectors: ArrayLike) -> None:
        """Add codes under new ids, shape (n,); fastest where they are greater than all ids that are present."""
        before = len(self)
        super().add(ids, vectors)
        if not self._rebuilt(len(self) - before) and self._tables is not None:
            self._recent.add(ids, vectors)

    def remove(self, ids: ArrayLike) -> int:
        """Remove ids, ignoring absent ones; return how many were present."""
        removed = super().remove(ids)
        if not self._rebuilt(removed) and self._tables is not None and removed:
            self._tables.remove(np.asarray(ids, np.int64))
            self._recent.remove(ids)
        return removed

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        if self._tables is None or only is not None:
            return super().search(vectors, k, only)
        queries = check_codes(vectors, self.dim)
        nearest = self._recent.search(queries, k)
        scanned = []
        for row, query in enumerate(queries):
            found = _nearest(self._tables, query, k, self._most())
            if found is None:
                scanned.append(row)
                continue
            ids = np.concatenate([found[0], nearest.ids[row]])
            distances = np.concatenate([found[1], nearest.distances[row]])
            order = np.lexsort((ids, distances))[:k]
            nearest.ids[row], nearest.distances[row] = ids[order], distances[order]
        if scanned:
            nearest.ids[scanned], nearest.distances[scanned] = super().search(queries[scanned], k)
        return nearest

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta, and build the tables; a flat index's snapshot will do."""
        index, meta = super().load(path)
        index._build()
        return index, meta

    def _rebuilt(self, changes: int) -> bool:
        """Count changes; build the tables anew when they are enough, and return whether."""
        self._changes += changes
        due = self._changes > _CHANGED * self._built
        if due:
            self._build()
        return due

    def _build(self) -> None:
        self._built, self._changes = len(self), 0
        self._recent = BinaryFlatIndex(self.dim)
        self._tables = self._new_tables()

    def _new_tables(self) -> SubstringTables | None:
        return SubstringTables(self._stored_ids(), self._stored_codes(), self.dim) if len(self) else None

    def _most(self) -> int:
        """Lookups that take about as long as a scan."""
        return len(self) * -(-self.dim // 64) // _LOOKUP


class AutoBinaryIndex(MultiIndexHashing):
    """An ``Index`` of binary codes that keeps the tables of multi-index hashing where a rule expects them to be faster.

    The rule counts and takes no times, so equal codes give equal choices on every machine: there are 524,288
    codes or more, and at least half of 32 stored codes find their ten nearest besides themselves within half of the
    lookups that are worth a scan. It is applied whenever the tables are built anew; answers are exact either way.

    Processor time of a query by tables over that by a scan, on the codes of ``python -m benchmarks hamming-speed``, and
    what the rule chooses (T tables, S scan). Its worst choice is 256 bits at its smallest size.

    ============  =======  ========  ========  =========  =========
    codes         bits 64  bits 32   bits 128  bits 256   codes are
    ============  =======  ========  ========  =========  =========
    300,000       1.06 S   0.85 S    1.65 S               clustered
    524,288       0.62 T   0.35 T    0.93 T    1.57 T     clustered
    1,000,000     0.28 T   0.26 T    0.47 T    0.49 T     clustered
    4,000,000     0.08 T                                  clustered
    524,288       3.09 S   0.94 T    3.91 S    4.75 S     uniform
    1,000,000     2.02 S   0.62 T    3.15 S    3.78 S     uniform
    4,000,000     0.80 S                                  uniform
    ============  =======  ========  ========  =========  =========
    """

    def _new_tables(self) -> SubstringTables | None:
        tables = super()._new_tables() if len(self) >= _LARGE else None
        if tables is None:
            return None
        sample = self._stored_codes()[np.linspace(0, len(self) - 1, _SAMPLE).astype(int)]
        cheap = sum(_nearest(tables, code, _NEIGHBORS + 1, self._most() // 2) is not None for code in sample)
        return tables if cheap >= _SAMPLE // 2 else None


def _nearest(tables: SubstringTables, code: NDArray[np.uint8], k: int, most: int) -> Found | None:
    """The ids of at least the k nearest, first ids of equally distant ones included; None if that takes too long."""
    groups: Numbers = np.empty(0, np.uint32)
    distances: Distances = np.empty(0, np.int64)
    bound = np.inf
    for complete, (found, away) in enumerate(tables.steps(code, most)):
        if len(found):
            bound = min(bound, _kth(away, None, k))
            near = away <= bound
            groups, first = np.unique(np.concatenate([groups, found[near]]), return_index=True)
            distances = np.concatenate([distances, away[near]])[first]
            bound = min(bound, _kth(distances, tables.sizes(groups), k))
        if bound <= complete:
            near = distances <= bound
            return tables.members(groups[near], distances[near], k)
    return None


def _kth(distances: Distances, sizes: Numbers | None, k: int) -> float:
    """The k-th smallest distance, each counted ``sizes`` times, or infinity if there are fewer."""
    nearer = np.cumsum(np.bincount(distances, sizes))
    return float(np.searchsorted(nearer, k)) if len(nearer) and nearer[-1] >= k else np.inf
