"""Indexes over rows in this process: versions, lookups by id and snapshots, the same for every searcher."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from crossview.index.base import EXACT, Ids, Index, Neighbors, SearchCapabilities, ascending, check_ids, check_k
from crossview.index.positions import Selection
from crossview.index.rows import Rows
from crossview.index.searcher import Chosen, RowSearcher
from crossview.index.snapshot import Column, Snapshot, read_snapshot, write_snapshot


class StoredIndex(Index):
    """An ``Index`` that consists of ``Rows`` and a searcher over them."""

    _kind: ClassVar[str]
    """Name of the snapshots. A class reads the snapshots of its own kind; classes with equal rows can share one."""
    _searcher_type: ClassVar[type[RowSearcher]]
    _searcher: RowSearcher

    def __init__(self, dim: int) -> None:
        self._searcher = self._searcher_type(dim)

    @property
    def capabilities(self) -> SearchCapabilities:
        """The abilities of the searcher."""
        return self._searcher.capabilities

    @property
    def dim(self) -> int:
        """Dimension of the vectors: components, or bits of a code."""
        return self._searcher.dim

    def __len__(self) -> int:
        return self._rows.live

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return self._rows.ids()

    def changed(self, removed: ArrayLike, ids: ArrayLike, vectors: ArrayLike) -> Self:
        """Return this index without some ids, and with vectors under others, shape (n,)."""
        gone, new = check_ids(removed), check_ids(ids)
        rows = self._searcher.stored(self._searcher.checked(vectors, len(new)))
        if (ordered := ascending(new)) is not new:
            rows = rows[np.argsort(new)]
        return self._with(self._searcher.over(self._rows.changed(gone, ordered, rows)))

    def search(
        self, vectors: ArrayLike, k: int, only: ArrayLike | Selection | None = None, effort: int = EXACT
    ) -> Neighbors:
        """Return the k nearest of each query among the ids in ``only``, or among all."""
        queries, k = self._searcher.checked(vectors), check_k(k)
        return self._searcher.search(queries, k, None if only is None else self._chosen(only), effort)

    def efforts(self, k: int, share: float = 1.0) -> Sequence[int]:
        """Return the efforts to choose from for k neighbours among a share of the vectors, ascending."""
        return self._searcher.efforts(k, share)

    def is_correlated(self, only: Selection) -> bool:
        """Return whether a filter depends on the vectors."""
        return self._searcher.is_correlated(self._chosen(only))

    def selection(self, ids: ArrayLike) -> Selection:
        """Return a filter of the ids, prepared for this version."""
        return self._rows.select(ascending(check_ids(ids)))

    def get(self, ids: ArrayLike) -> Any:
        """Return the vectors of the ids; KeyError names an absent one."""
        wanted = check_ids(ids)
        numbers = self._rows.numbers(wanted)
        if len(absent := wanted[numbers < 0]):
            raise KeyError(int(absent.min()))
        return self._searcher.restored(self._rows.take(numbers))

    def blocks(self) -> Iterator[tuple[Ids, Any]]:
        """Yield the ids and vectors, chunk by chunk."""
        for ids, rows in self._rows.blocks():
            yield ids, self._searcher.restored(rows)

    @property
    def waste(self) -> float:
        """The share of rows that ``compacted`` would drop, move or prepare."""
        return self._searcher.waste

    @property
    def worth_compacting(self) -> bool:
        """Whether ``compacted`` makes searches so much faster that it pays."""
        return self._searcher.worth_compacting

    def compacted(self) -> Self:
        """Return this index with nearly no waste; ids and answers stay."""
        return self._with(self._searcher.prepared(self._rows.compacted()))

    @property
    def nbytes(self) -> int:
        """Bytes in use; parts that other versions share count in full."""
        return self._rows.nbytes + self._searcher.nbytes

    def read_bytes(self, effort: int = EXACT) -> int:
        """Return roughly the bytes that a search without a filter reads."""
        return self._searcher.read_bytes(effort)

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        write_snapshot(path, self._kind, self._shape(), meta, self.columns())

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        with read_snapshot(path, cls._kind) as snapshot:
            return cls.read(snapshot, snapshot.shape["dim"], snapshot.shape["rows"]), snapshot.meta

    def columns(self) -> Mapping[str, Column]:
        """Return the arrays to write into a snapshot."""
        return self._searcher.columns()

    @classmethod
    def read(cls, snapshot: Snapshot, dim: int, count: int, prefix: str = "") -> Self:
        """Return an index from the arrays that ``columns`` describes; ``prefix`` precedes their names."""
        empty = cls._empty_for(snapshot.shape, dim)
        return empty._with(empty._searcher.read(snapshot, count, prefix))

    def _shape(self) -> dict[str, int]:
        """Return the numbers that ``read`` needs."""
        return {"dim": self.dim, "rows": len(self)}

    @classmethod
    def _empty_for(cls, shape: Mapping[str, int], dim: int) -> Self:
        """Return an empty index for the rows of a snapshot."""
        return cls(dim)

    @property
    def _rows(self) -> Rows:
        return self._searcher.rows

    def _with(self, searcher: RowSearcher) -> Self:
        other = copy.copy(self)
        other._searcher = searcher
        return other

    def _chosen(self, only: ArrayLike | Selection) -> Chosen:
        """Return the rows of each chunk that a search may find."""
        if not isinstance(only, Selection):
            only = self.selection(only)
        # A selection of another version states its ids; the numbers of its rows are different here.
        return (only if only.version is self._rows else self._rows.select(only.ids)).chosen
