"""Searchers with a base: a structure over the rows of an earlier version, and a scan of the rows that came later."""

from abc import abstractmethod
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import Ids, Neighbors
from crossview.index.positions import Positions
from crossview.index.rows import Rows
from crossview.index.scan import SPARE
from crossview.index.searcher import Chosen, RowSearcher

_CHANGED = 0.25
"""Share of changed rows among the rows in the base from which on a new base is worth its time."""

Nearest = tuple[Ids, NDArray[np.float32]]
"""Numbers of rows and their distances, both of shape (n,), in any order."""


class Base(Protocol):
    """The protocol of bases: structures over the first rows of an index, such as hash tables, a graph or lists of
    cells."""

    @property
    def nbytes(self) -> int:
        """Bytes in use."""


B = TypeVar("B", bound=Base)


class BasedSearcher(RowSearcher, Generic[B]):
    """A searcher that asks a base for the rows in the base, and a scan for the rows that came later.

    ``prepared`` builds the base. Later versions keep it: they scan new rows, and drop dead rows from its answers, until
    the number of changed rows makes a new base worth its time. A search with a filter scans.
    """

    def __init__(self, scan: RowSearcher) -> None:
        self._scan = scan
        self._base: B | None = None
        self._built = 0
        """Number of the first rows that are in the base, or for which no base was worth its time."""
        self._recent: Chosen | None = None
        """The rows that are alive and not in the base, once a search has needed them."""
        super().__init__(scan.dim)

    @abstractmethod
    def _new_base(self) -> B | None:
        """Return a base of the main rows, dead ones included; None if a scan is faster for them."""

    @abstractmethod
    def _ask(self, base: B, query: NDArray[Any], k: int) -> Nearest | None:
        """Return at least the k nearest rows of the base, dead ones included; None if a scan is faster for the query.

        An approximate searcher may miss some of these rows, and declares so in its capabilities.
        """

    def no_rows(self) -> NDArray[Any]:
        """Return an array of no rows, shape (0, width)."""
        return self._scan.no_rows()

    def checked(self, vectors: ArrayLike, count: int | None = None) -> NDArray[Any]:
        """Return vectors as contiguous rows, or raise ValueError."""
        return self._scan.checked(vectors, count)

    def search(self, queries: NDArray[Any], k: int, chosen: Chosen | None) -> Neighbors:
        """Return the k nearest rows of each checked query among the chosen ones, or among all that are alive."""
        if self._base is None or chosen is not None:
            return self._scan.search(queries, k, chosen)
        if self._recent is None:
            self._recent = self._behind(self._built)
        nearest = self._scan.search(queries, k, self._recent)
        scanned = []
        for row, query in enumerate(queries):
            found = self._alive_of_base(self._base, query, k)
            if found is None:
                scanned.append(row)
                continue
            ids = np.concatenate([self.rows.ids_of(found[0]), nearest.ids[row]])
            distances = np.concatenate([found[1], nearest.distances[row]])
            order = np.lexsort((ids, distances))[:k]
            nearest.ids[row], nearest.distances[row] = ids[order], distances[order]
        if scanned:
            nearest.ids[scanned], nearest.distances[scanned] = self._scan.search(queries[scanned], k, None)
        return nearest

    def over(self, rows: Rows) -> Self:
        """Return this searcher over another version of the rows, with the same base."""
        other = super().over(rows)
        other._scan, other._recent = self._scan.over(rows), None
        return other

    def prepared(self, rows: Rows) -> Self:
        """Return this searcher over compacted or loaded rows, with a new base if many rows have changed or moved."""
        other, before = self.over(rows), self.rows.main
        if other._due() or not before or rows.main[: len(before)] != before:  # loaded rows have no previous main chunks
            other._build()
        return other

    @property
    def waste(self) -> float:
        """The share of rows that a compaction would drop or move, or put into the base."""
        total = self.rows.offsets[-1]
        return max(super().waste, (total - self._built) / total if self._due() else 0.0)

    @property
    def worth_compacting(self) -> bool:
        """Whether a compaction makes searches so much faster that it pays."""
        return self.waste > (self._scan.tolerated_waste if self._base is None else _CHANGED)

    @property
    def nbytes(self) -> int:
        """Bytes of the base."""
        return 0 if self._base is None else self._base.nbytes

    def _due(self) -> bool:
        """Return whether the number of rows outside the base makes a new base worth its time."""
        return self.rows.offsets[-1] - self._built > _CHANGED * self._built

    def _build(self) -> None:
        self._built, self._recent = self.rows.offsets[len(self.rows.main)], None
        self._base = self._new_base() if self._built else None

    def _behind(self, built: int) -> Chosen:
        """Return the rows of each chunk that are alive and not among the first ``built`` rows."""
        chosen: list[Positions | None] = []
        for chunk, start in zip(self.rows.chunks, self.rows.offsets, strict=False):
            if built <= start:
                chosen.append(chunk.alive)
                continue
            numbers = np.arange(min(built - start, len(chunk)), len(chunk))
            alive = numbers if chunk.alive is None else numbers[chunk.alive.include(numbers)]
            chosen.append(Positions.of_numbers(len(chunk), alive))
        return tuple(chosen)

    def _alive_of_base(self, base: B, query: NDArray[Any], k: int) -> Nearest | None:
        """Return rows of the base that are alive, at least the k nearest; None if a scan is faster."""
        dead = self.rows.offsets[-1] - self.rows.live
        if not dead:
            return self._ask(base, query, k)
        # Dead rows may be among the nearest, so ask for more.
        most = k + min(dead, SPARE + 2 * k * dead // max(1, self._built - dead))
        found = self._ask(base, query, most)
        if found is None:
            return None
        order = np.lexsort(found)[:most]  # after these, rows may be missing
        alive = order[self.rows.are_alive(found[0][order])]
        return (found[0][alive], found[1][alive]) if len(alive) >= k else None
