"""Exact Hamming search for large sets: multi-index hashing, and the rule that chooses between it and a scan."""

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Codes, Ids
from crossview.index.based import BasedSearcher, Found
from crossview.index.binary_flat import BinaryFlatIndex, HammingSearcher
from crossview.index.rows import Rows
from crossview.index.snapshot import Column, Snapshot
from crossview.index.substrings import Distances, Numbers, SubstringTables

_LOOKUP = 64
"""Measured number of 64-bit words that a scan compares in the time of one lookup. The searcher scans for a query that
needs more lookups than fit into the time of a scan: with a million codes this takes at most 2.6 scans with 64 bits, 6.4
with 256."""
_LARGE = 1 << 19
"""Number of codes below which a scan is faster for any distances of neighbours: see ``AutoBinarySearcher``."""
_SAMPLE, _NEIGHBORS = 32, 10
_TABLES, _NONE = "tables.", "tables.none"
"""Beginning of the names of the arrays of tables in a snapshot, and the array that says that scans are faster."""
Nearest = tuple[Ids, NDArray[np.float32]]
"""Numbers of rows and their distances, both of shape (n,), in any order."""


class MultiIndexSearcher(BasedSearcher[SubstringTables]):
    """A searcher that looks up the substrings of a query in tables, and scans if that would take longer.

    The tables take 3 to 5 times the memory of codes and ids. They are worth it if the k nearest codes are near, as in
    large sets of clustered codes.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(HammingSearcher(dim))

    def _new_base(self, before: Self) -> SubstringTables | None:
        return self._tables()

    def _tables(self) -> SubstringTables:
        codes = np.concatenate([chunk.rows for chunk in self.rows.main])
        return SubstringTables.of(codes, self.dim)

    def columns(self) -> Mapping[str, Column]:
        """Return the arrays to write into a snapshot, with the tables: building them takes longer than reading."""
        whole = self.whole()
        if whole._base is not None:
            return {**whole.rows.columns(), **whole._base.columns(_TABLES)}
        refused = whole._is_large(whole._built) and not whole._due()
        return {**whole.rows.columns(), **({_NONE: Column(np.uint8, (1,), [np.ones(1, np.uint8)])} if refused else {})}

    def read(self, snapshot: Snapshot, count: int, prefix: str = "") -> Self:
        """Return this searcher over the ``count`` rows of a snapshot, with its tables if it has them."""
        rows, tables = Rows.read(snapshot, count, self.no_rows(), prefix), f"{prefix}{_TABLES}"
        without = snapshot.bytes_of(prefix + _NONE) is not None
        if not without and snapshot.bytes_of(f"{tables}starts") is None:
            return self.prepared(rows)
        other = self.over(rows)
        other._built, other._base_ids = count, other.rows.main_ids()
        other._base = None if without else SubstringTables.read(snapshot, tables, count, self.dim)
        return other

    def _ask(self, base: SubstringTables, queries: Codes, k: int, effort: int) -> Found:
        """Return the k nearest; short is a query for which the tables take longer than a scan."""
        numbers = np.full((len(queries), k), -1, np.int64)
        distances = np.full((len(queries), k), np.inf, np.float32)
        short = np.zeros(len(queries), bool)
        for row, query in enumerate(queries):
            nearest = _nearest(base, query, k, self._most())
            if nearest is None:
                short[row] = True
                continue
            order = np.lexsort(nearest)[:k]
            numbers[row, : len(order)], distances[row, : len(order)] = nearest[0][order], nearest[1][order]
        return Found(numbers, distances, short)

    def _most(self) -> int:
        """Return the number of lookups that take about as long as a scan."""
        return self.rows.live * -(-self.dim // 64) // _LOOKUP


class AutoBinarySearcher(MultiIndexSearcher):
    """A searcher that keeps the tables of multi-index hashing if a rule expects them to be faster than a scan.

    The rule counts instead of measuring times, so equal codes give equal choices on every machine: there are 524,288
    codes or more, and at least half of 32 stored codes find their ten nearest besides themselves within half of the
    lookups that are worth a scan. ``prepared`` applies it; answers are exact either way.

    The table shows the processor time of a query by tables divided by that of a scan, on the codes of ``python -m
    benchmarks hamming-speed``, and the choice of the rule (T tables, S scan). The worst choice is 256 bits at its
    smallest size.

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

    def _is_large(self, rows: int) -> bool:
        return rows >= _LARGE

    def _new_base(self, before: Self) -> SubstringTables | None:
        tables = self._tables()
        sample = self.rows.take(np.linspace(0, self._built - 1, _SAMPLE).astype(np.int64))
        cheap = sum(_nearest(tables, code, _NEIGHBORS + 1, self._most() // 2) is not None for code in sample)
        return tables if cheap >= _SAMPLE // 2 else None


class MultiIndexHashing(BinaryFlatIndex):
    """An ``Index`` of binary codes that looks up substrings; it can also read the snapshots of ``BinaryFlatIndex``."""

    _searcher_type = MultiIndexSearcher


class AutoBinaryIndex(BinaryFlatIndex):
    """An ``Index`` of binary codes that looks up substrings if a rule expects that to be faster than scans."""

    _searcher_type = AutoBinarySearcher


def _nearest(tables: SubstringTables, code: NDArray[np.uint8], k: int, most: int) -> Nearest | None:
    """Return at least the k nearest, with the first of equally distant ones; None if that takes too long."""
    groups: Numbers = np.empty(0, np.uint32)
    distances: Distances = np.empty(0, np.int64)
    bound = np.inf
    for complete, (nearby, away) in enumerate(tables.steps(code, most)):
        if len(nearby):
            bound = min(bound, _kth(away, None, k))
            near = away <= bound
            groups, first = np.unique(np.concatenate([groups, nearby[near]]), return_index=True)
            distances = np.concatenate([distances, away[near]])[first]
            bound = min(bound, _kth(distances, tables.sizes(groups), k))
        if bound <= complete:
            near = distances <= bound
            return tables.members(groups[near], distances[near], k)
    return None


def _kth(distances: Distances, sizes: Numbers | None, k: int) -> float:
    """Return the k-th smallest distance, where each counts ``sizes`` times; infinity if there are fewer."""
    nearer = np.cumsum(np.bincount(distances, sizes))
    return float(np.searchsorted(nearer, k)) if len(nearer) and nearer[-1] >= k else np.inf
