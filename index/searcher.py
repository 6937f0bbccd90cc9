"""The part of an index that depends on its kind: a searcher over the rows of one version."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray

from crossview.index.base import EXACT, Neighbors, SearchCapabilities
from crossview.index.positions import Positions
from crossview.index.rows import Rows
from crossview.index.snapshot import Column, Snapshot

Chosen = Sequence[Positions | None]
"""The rows of each chunk that a search may find; None means all rows of a chunk."""


class RowSearcher(ABC):
    """The base class of searchers among the rows of one version of an index; values that never change, like the rows.

    A new kind of index is a new subclass: ``StoredIndex`` adds versions, lookups by id and snapshots. A searcher that
    scans is a ``Scan``. One that prepares a structure over the rows, such as a graph or lists of cells, is a
    ``BasedSearcher``, which scans the rows that came later.
    """

    capabilities: ClassVar[SearchCapabilities] = SearchCapabilities()
    tolerated_waste: ClassVar[float] = 0.25
    """Waste that does not make searches much slower."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.rows: Rows = Rows((), (), self.no_rows())

    @abstractmethod
    def no_rows(self) -> NDArray[Any]:
        """Return an array of no rows, shape (0, width)."""

    @abstractmethod
    def checked(self, vectors: ArrayLike, count: int | None = None) -> NDArray[Any]:
        """Return vectors as contiguous queries, or raise ValueError."""

    def stored(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return checked vectors as rows, or raise ValueError."""
        return vectors

    def restored(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows as vectors."""
        return rows

    @abstractmethod
    def search(self, queries: NDArray[Any], k: int, chosen: Chosen | None, effort: int = EXACT) -> Neighbors:
        """Return the k nearest rows of each checked query among the chosen ones, or among all that are alive."""

    def efforts(self, k: int, share: float = 1.0) -> Sequence[int]:
        """Return the efforts of searches for k neighbours among a share of the rows, see ``Searcher.efforts``."""
        return ()

    def over(self, rows: Rows) -> Self:
        """Return this searcher over another version of the rows, without delay: it may prepare nothing."""
        other = copy.copy(self)
        other.rows = rows
        return other

    def prepared(self, rows: Rows) -> Self:
        """Return this searcher over compacted or loaded rows, prepared for fast searches, which may take long."""
        return self.over(rows)

    def is_correlated(self, chosen: Chosen) -> bool:
        """Return whether a choice of rows depends on them, see ``Index.is_correlated``."""
        return False

    def columns(self) -> Mapping[str, Column]:
        """Return the arrays to write into a snapshot."""
        return self.rows.columns()

    def read(self, snapshot: Snapshot, count: int, prefix: str = "") -> Self:
        """Return this searcher over the ``count`` rows of a snapshot; ``prefix`` precedes the names of its arrays."""
        return self.prepared(Rows.read(snapshot, count, self.no_rows(), prefix))

    @property
    def waste(self) -> float:
        """The share of rows that a compaction would drop or move, or that ``prepared`` would prepare."""
        return self.rows.waste

    @property
    def worth_compacting(self) -> bool:
        """Whether a compaction makes searches so much faster that it pays."""
        return self.waste > self.tolerated_waste

    @property
    def nbytes(self) -> int:
        """Bytes in use besides the rows."""
        return 0

    def read_bytes(self, effort: int) -> int:
        """Return roughly the bytes that a search without a filter reads."""
        return self.rows.nbytes + self.nbytes
