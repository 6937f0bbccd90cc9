"""Exact Hamming search for large sets: multi-index hashing, and the rule that chooses between it and a scan."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import Codes, Ids, Neighbors, check_codes, check_k
from crossview.index.binary_flat import BinaryFlatIndex
from crossview.index.positions import Positions, Selection
from crossview.index.rows import Rows
from crossview.index.snapshot import SnapshotReader
from crossview.index.stored import SPARE
from crossview.index.substrings import Distances, Numbers, SubstringTables

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

    The tables hold the codes as they were when ``compacted`` or ``load`` built them. Later ones are scanned, and what
    was removed since is passed over, until a quarter has changed and ``compacted`` builds them anew. They take 3 to 5
    times the memory of codes and ids, and pay where the k nearest are near, as in large sets of clustered codes.
    Searches with a filter scan.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self._tables: SubstringTables | None = None
        self._built = 0
        """The first rows, which the tables hold, or which were not worth tables when they were looked at."""
        self._recent: tuple[Positions | None, ...] | None = None

    def search(self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only`` where given."""
        if self._tables is None or only is not None:
            return super().search(vectors, k, only)
        queries, k = check_codes(vectors, self.dim), check_k(k)
        if self._recent is None:
            self._recent = self._behind(self._built)
        nearest = self._of_chosen(queries, k, self._recent)
        scanned = []
        for row, query in enumerate(queries):
            found = self._looked_up(self._tables, query, k)
            if found is None:
                scanned.append(row)
                continue
            ids = np.concatenate([self._rows.ids_of(found[0]), nearest.ids[row]])
            distances = np.concatenate([found[1], nearest.distances[row]])
            order = np.lexsort((ids, distances))[:k]
            nearest.ids[row], nearest.distances[row] = ids[order], distances[order]
        if scanned:
            nearest.ids[scanned], nearest.distances[scanned] = super().search(queries[scanned], k)
        return nearest

    @property
    def waste(self) -> float:
        """The share of rows that ``compacted`` would drop or move, or put into the tables."""
        total = self._rows.offsets[-1]
        return max(super().waste, (total - self._built) / total if self._due() else 0.0)

    @property
    def worth_compacting(self) -> bool:
        """Whether searches gain enough by ``compacted`` to pay for it."""
        return self.waste > (self._tolerated if self._tables is None else _CHANGED)

    def compacted(self) -> Self:
        """Return this index with nearly no waste, and new tables if a quarter has changed or rows have moved."""
        index = super().compacted()
        if index._due() or index._rows.main[: len(self._rows.main)] != self._rows.main:
            index._build()
        return index

    @property
    def nbytes(self) -> int:
        """Bytes in use, those that other versions share counted in full."""
        return super().nbytes + (0 if self._tables is None else self._tables.nbytes)

    @classmethod
    def read(cls, snapshot: SnapshotReader, dim: int, count: int) -> Self:
        """Return an index of what ``blocks`` yielded, with its tables."""
        index = super().read(snapshot, dim, count)
        index._build()
        return index

    def _with(self, rows: Rows) -> Self:
        other = super()._with(rows)
        other._recent = None
        return other

    def _due(self) -> bool:
        """Whether enough rows are not in the tables to build these anew."""
        return self._rows.offsets[-1] - self._built > _CHANGED * self._built

    def _build(self) -> None:
        """Build the tables of the main rows, dead ones among them."""
        self._built, self._recent = self._rows.offsets[len(self._rows.main)], None
        self._tables = self._new_tables() if self._built else None

    def _new_tables(self) -> SubstringTables | None:
        codes = np.concatenate([chunk.rows for chunk in self._rows.main])
        return SubstringTables(np.arange(len(codes)), codes, self.dim)

    def _behind(self, built: int) -> tuple[Positions | None, ...]:
        """Which rows of each chunk are alive, and not in the tables."""
        chosen: list[Positions | None] = []
        for chunk, start in zip(self._rows.chunks, self._rows.offsets, strict=False):
            if built <= start:
                chosen.append(chunk.alive)
                continue
            numbers = np.arange(min(built - start, len(chunk)), len(chunk))
            alive = numbers if chunk.alive is None else numbers[chunk.alive.include(numbers)]
            chosen.append(Positions.of_numbers(len(chunk), alive))
        return tuple(chosen)

    def _looked_up(self, tables: SubstringTables, query: Codes, k: int) -> Found | None:
        """Rows in the tables that are alive, at least the k nearest, and distances; None if that takes too long."""
        dead = self._rows.offsets[-1] - self._rows.live
        if not dead:
            return _nearest(tables, query, k, self._most())
        most = k + min(dead, SPARE + 2 * k * dead // max(1, self._built - dead))
        found = _nearest(tables, query, most, self._most())
        if found is None:
            return None
        order = np.lexsort(found)[:most]  # behind these, rows may be missing
        alive = order[self._rows.are_alive(found[0][order])]
        return (found[0][alive], found[1][alive]) if len(alive) >= k else None

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

    def _due(self) -> bool:
        return self._rows.offsets[-1] >= _LARGE and super()._due()

    def _new_tables(self) -> SubstringTables | None:
        tables = super()._new_tables() if self._built >= _LARGE else None
        if tables is None:
            return None
        sample = self._rows.take(np.linspace(0, self._built - 1, _SAMPLE).astype(np.int64))
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
