"""Searchers with a base: a structure over the rows of an earlier version, and a scan of the rows that came later."""

from abc import abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import EXACT, Ids, Neighbors, in_order
from crossview.index.positions import Positions
from crossview.index.rows import RowNumbers, Rows
from crossview.index.scan import SPARE
from crossview.index.searcher import Chosen, RowSearcher


class Found(NamedTuple):
    """Rows of a base that are near each query."""

    numbers: RowNumbers
    """Numbers of rows, shape (queries, m), in any order; -1 if there are fewer."""
    distances: NDArray[np.float32]
    """Their distances, shape (queries, m); infinity for -1."""
    short: NDArray[np.bool_]
    """The queries, (n,), that the base cannot answer, so that a scan must."""
    full: bool = False
    """Whether no number is -1 and no query is short, as far as the base knows without a search for them."""


class Base(Protocol):
    """The protocol of bases: structures over the first rows of an index, such as hash tables, a graph or lists."""

    @property
    def nbytes(self) -> int:
        """Bytes in use."""


B = TypeVar("B", bound=Base)


class BasedSearcher(RowSearcher, Generic[B]):
    """A searcher that asks a base for the rows in the base, and a scan for the rows that came later.

    ``prepared`` builds the base. Later versions keep it: they scan new rows, and drop dead rows from its answers, until
    the number of changed rows makes a new base worth its time.
    """

    changed_share: ClassVar[float] = 0.25
    """Share of changed rows among the rows in the base from which on a new base is worth its time."""

    def __init__(self, scan: RowSearcher) -> None:
        self._scan = scan
        self._base: B | None = None
        self._base_ids: Ids = np.empty(0, np.int64)
        """The ids of the rows in the base, in their order."""
        self._built = 0
        """Number of the first rows that are in the base, or for which no base was worth its time."""
        self._recent: Chosen | None = None
        """The rows that are alive and not in the base, once a search has needed them."""
        super().__init__(scan.dim)

    def _is_large(self, rows: int) -> bool:
        """Return whether a number of rows may be worth a base."""
        return True

    @abstractmethod
    def _new_base(self, before: Self) -> B | None:
        """Return a base of the main rows, dead ones included; None if a scan is faster for them.

        ``before`` is the searcher of an earlier version, from whose base the new one may take over what still holds.
        """

    @abstractmethod
    def _ask(self, base: B, queries: NDArray[Any], k: int, effort: int) -> Found:
        """Return at least the k nearest rows of the base, dead ones included; some may be missing with an effort."""

    def _suits(self, queries: int, k: int, chosen: Chosen | None, effort: int) -> bool:
        """Return whether the base answers such a search; otherwise a scan does."""
        return chosen is None

    def no_rows(self) -> NDArray[Any]:
        """Return an array of no rows, shape (0, width)."""
        return self._scan.no_rows()

    def checked(self, vectors: ArrayLike, count: int | None = None) -> NDArray[Any]:
        """Return vectors as contiguous queries, or raise ValueError."""
        return self._scan.checked(vectors, count)

    def stored(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return checked vectors as rows, or raise ValueError."""
        return self._scan.stored(vectors)

    def restored(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows as vectors."""
        return self._scan.restored(rows)

    def search(self, queries: NDArray[Any], k: int, chosen: Chosen | None, effort: int = EXACT) -> Neighbors:
        """Return the k nearest rows of each checked query among the chosen ones, or among all that are alive."""
        if self._base is None or not self._suits(len(queries), k, chosen, effort):
            return self._scan.search(queries, k, chosen)
        hits = self._kept(self._base, queries, k, chosen, effort)
        ids = self._base_ids.take(hits.numbers, mode="wrap")  # -1 is the last, and has no meaning
        if not hits.full and (hits.numbers < 0).any():
            ids[hits.numbers < 0] = -1
        distances = hits.distances
        if self._built < self.rows.offsets[-1]:
            recent = self._scan.search(queries, k, self._outside(chosen))
            ids = np.concatenate([ids, recent.ids], 1)
            distances = np.concatenate([distances, recent.distances], 1)
        nearest = in_order(ids, distances, k)
        if not hits.full and hits.short.any():
            nearest.ids[hits.short], nearest.distances[hits.short] = self._scan.search(queries[hits.short], k, chosen)
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
            other._build(self)
        return other

    def whole(self) -> Self:
        """Return this searcher with a base of exactly the rows that are alive, in the order of their ids."""
        if self._base is None or not (self.rows.waste or self._built < self.rows.offsets[-1]):
            return self
        whole = self.over(self.rows.compacted(0.0))
        whole._build(self)
        return whole

    @property
    def waste(self) -> float:
        """The share of rows that a compaction would drop or move, or put into the base."""
        total = self.rows.offsets[-1]
        return max(super().waste, (total - self._built) / total if self._due() else 0.0)

    @property
    def worth_compacting(self) -> bool:
        """Whether a compaction makes searches so much faster that it pays."""
        return self.waste > (self._scan.tolerated_waste if self._base is None else self.changed_share)

    @property
    def nbytes(self) -> int:
        """Bytes of the base."""
        return 0 if self._base is None else self._base.nbytes

    def _due(self) -> bool:
        """Return whether the number of rows outside the base makes a new base worth its time."""
        total = self.rows.offsets[-1]
        return self._is_large(total) and total - self._built > self.changed_share * self._built

    def _build(self, before: Self) -> None:
        self._built, self._recent = self.rows.offsets[len(self.rows.main)], None
        self._base = self._new_base(before) if self._built and self._is_large(self._built) else None
        if self._base is not None:
            self._base_ids = self.rows.main_ids()

    def _outside(self, chosen: Chosen | None) -> Chosen:
        """Return the rows of each chunk that are chosen, or alive, and not in the base."""
        if chosen is not None:
            return self._behind(chosen)
        if self._recent is None:
            self._recent = self._behind(self.rows.alive)
        return self._recent

    def _behind(self, chosen: Chosen) -> Chosen:
        """Return those of the chosen rows of each chunk that are not among the first ``_built`` rows."""
        behind: list[Positions | None] = []
        for chunk, some, start in zip(self.rows.chunks, chosen, self.rows.offsets, strict=False):
            if self._built <= start:
                behind.append(some)
                continue
            numbers = np.arange(min(self._built - start, len(chunk)), len(chunk))
            inside = numbers if some is None else numbers[some.include(numbers)]
            behind.append(Positions.of_numbers(len(chunk), inside))
        return tuple(behind)

    def _kept(self, base: B, queries: NDArray[Any], k: int, chosen: Chosen | None, effort: int) -> Found:
        """Return the rows of the base that are chosen, or alive, the k nearest first; ask for more, and drop others."""
        wanted = self._count(chosen)
        if chosen is None and wanted == self.rows.offsets[-1]:
            return self._ask(base, queries, k, effort)
        hits = self._ask(base, queries, self._enough(k, wanted), effort)
        return self._only(hits, k, chosen, wanted)

    def _only(self, hits: Found, k: int, chosen: Chosen | None, wanted: int) -> Found:
        """Return the k nearest found rows that are chosen, or alive; ``wanted`` is the number of all such rows."""
        each, order = np.arange(len(hits.numbers))[:, None], np.argsort(hits.distances, axis=1, kind="stable")
        numbers, distances = hits.numbers[each, order], hits.distances[each, order]
        inside = self.rows.are_among(numbers.ravel(), chosen).reshape(numbers.shape) & (numbers >= 0)
        first = np.argsort(~inside, axis=1, kind="stable")[:, :k]
        numbers, distances, inside = numbers[each, first], distances[each, first], inside[each, first]
        short = hits.short | (inside.sum(axis=1) < min(k, wanted))
        return Found(np.where(inside, numbers, -1), np.where(inside, distances, np.float32(np.inf)), short)

    def _enough(self, k: int, wanted: int) -> int:
        """Return the number of rows to ask for, among which probably k are wanted, if ``wanted`` of all rows are."""
        others = self.rows.offsets[-1] - wanted
        return min(self._built, k + SPARE + 2 * k * others // max(1, wanted)) if others else k

    def _count(self, chosen: Chosen | None) -> int:
        """Return the number of chosen rows, or of rows that are alive."""
        if chosen is None:
            return self.rows.live
        return sum(
            len(chunk) if some is None else some.count for chunk, some in zip(self.rows.chunks, chosen, strict=True)
        )
