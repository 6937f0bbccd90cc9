"""What the indexes that scan have in common: rows in chunks, searched one chunk after another."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import Ids, ascending, check_ids
from crossview.index.chunk import Chunk
from crossview.index.positions import Positions, Selection
from crossview.index.rows import RowNumbers, Rows
from crossview.index.snapshot import SnapshotReader, read_snapshot, write_snapshot

_CORES = faiss.omp_get_max_threads()
_PARALLEL_WORK = 1 << 26
"""Components, or bytes of codes, below which a search stays on its own thread: starting and joining a team costs more,
above all where the cores are busy."""
SPARE = 8
"""Rows that are searched for beyond those expected to be enough, where some are dropped."""

Found = tuple[NDArray[Any], NDArray[np.int64]]
"""Distances as FAISS gives them, ascending, and positions or numbers of rows, both of shape (queries, k)."""


class StoredIndex(ABC):
    """An ``Index`` over ``Rows``, less what depends on the distance."""

    _kind: ClassVar[str]
    """Name of the snapshots; a class reads those of its own kind only."""

    _tolerated: float = 0.25
    """Waste that searches can do with."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._rows = Rows((), (), self._none())

    @property
    def dim(self) -> int:
        """Dimension of the vectors: components, or bits of a code."""
        return self._dim

    def __len__(self) -> int:
        return self._rows.live

    def ids(self) -> Ids:
        """Return the ids that are present, ascending."""
        return self._rows.ids()

    def changed(self, removed: ArrayLike, ids: ArrayLike, vectors: ArrayLike) -> Self:
        """Return this index without some ids, and with vectors under others, shape (n,)."""
        gone, new = check_ids(removed), check_ids(ids)
        rows = self._check(vectors, len(new))
        if (ordered := ascending(new)) is not new:
            rows = rows[np.argsort(new)]
        return self._with(self._rows.changed(gone, ordered, rows))

    def get(self, ids: ArrayLike) -> Any:
        """Return the vectors of the ids; KeyError names an absent one."""
        wanted = check_ids(ids)
        numbers = self._rows.numbers(wanted)
        if len(absent := wanted[numbers < 0]):
            raise KeyError(int(absent.min()))
        return self._rows.take(numbers)

    def selection(self, ids: ArrayLike) -> Selection:
        """Return a filter of the ids, prepared for this version."""
        return self._rows.select(ascending(check_ids(ids)))

    @property
    def waste(self) -> float:
        """The share of rows that ``compacted`` would drop or move: dead ones, and those out of the order of ids."""
        return self._rows.waste

    @property
    def worth_compacting(self) -> bool:
        """Whether searches gain enough by ``compacted`` to pay for it."""
        return self.waste > self._tolerated

    def compacted(self) -> Self:
        """Return this index with nearly no waste; ids and answers stay."""
        return self._with(self._rows.compacted())

    @property
    def nbytes(self) -> int:
        """Bytes in use, those that other versions share counted in full."""
        return self._rows.nbytes

    def save(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Replace the snapshot at ``path`` atomically."""
        write_snapshot(path, self._kind, {"dim": self.dim, "rows": len(self)}, meta, self.blocks())

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Read a snapshot and its meta."""
        with read_snapshot(path, cls._kind) as snapshot:
            index = cls.read(snapshot, snapshot.shape["dim"], snapshot.shape["rows"])
        return index, snapshot.meta

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield the ids, ascending, then their vectors in that order, some at a time, for a snapshot."""
        return self._rows.blocks()

    @classmethod
    def read(cls, snapshot: SnapshotReader, dim: int, count: int) -> Self:
        """Return an index of what ``blocks`` yielded."""
        index = cls(dim)
        return index._with(Rows.read(snapshot, count, index._none()))

    @abstractmethod
    def _none(self) -> NDArray[Any]:
        """No vectors, shape (0, width)."""

    @abstractmethod
    def _check(self, vectors: ArrayLike, count: int | None = None) -> NDArray[Any]:
        """Return contiguous vectors, or raise ValueError."""

    @abstractmethod
    def _scan(self, queries: NDArray[Any], rows: NDArray[Any], k: int) -> Found:
        """The k nearest of all rows, of which there are as many; the first of equally distant ones."""

    @abstractmethod
    def _among(self, queries: NDArray[Any], rows: NDArray[Any], chosen: Positions, k: int) -> Found:
        """The k nearest of some rows, of which there are as many."""

    @abstractmethod
    def _dense(self, queries: int) -> float:
        """Share of rows from which on it is fastest to scan all, for more than are asked for, and drop the others."""

    def _with(self, rows: Rows) -> Self:
        other = copy.copy(self)
        other._rows = rows
        return other

    def _chosen(self, only: ArrayLike | Selection | None) -> tuple[Positions | None, ...]:
        """Which rows of each chunk a search may find; None where all."""
        if only is None:
            return self._rows.alive
        if not isinstance(only, Selection):
            only = self.selection(only)
        return (only if only.version is self._rows else self._rows.select(only.ids)).chosen

    def _nearest(
        self, queries: NDArray[Any], k: int, chunks: tuple[Chunk, ...], chosen: Sequence[Positions | None]
    ) -> list[tuple[NDArray[Any], RowNumbers]]:
        """The k nearest rows of each chunk, or all where there are fewer."""
        # FAISS divides a search by queries, so one needs no team.
        small = len(queries) == 1 or queries.size * len(self) < _PARALLEL_WORK
        faiss.omp_set_num_threads(1 if small else _CORES)
        found = []
        for chunk, positions, start in zip(chunks, chosen, self._rows.offsets, strict=False):
            if positions is None:
                distances, where = self._scan(queries, chunk.rows, min(k, len(chunk)))
            elif positions.count:
                distances, where = self._of_some(queries, chunk.rows, positions, min(k, positions.count))
            else:
                continue
            found.append((distances, where + start if start else where))
        return found

    def _of_some(self, queries: NDArray[Any], rows: NDArray[Any], chosen: Positions, k: int) -> Found:
        """The k nearest of some rows: of these alone, or of all, less the others, where these are few."""
        if chosen.share < self._dense(len(queries)):
            return self._among(queries, rows, chosen, k)
        others = chosen.length - chosen.count
        distances, where = self._scan(queries, rows, k + min(others, SPARE + int(1.5 * k * others / chosen.count)))
        inside = chosen.include(where)
        each, order = np.arange(len(queries))[:, None], np.argsort(~inside, axis=1, kind="stable")[:, :k]
        distances, where = distances[each, order], where[each, order]
        short = ~inside[each, order].all(axis=1)
        if short.any():  # what is near is not chosen
            distances[short], where[short] = self._among(queries[short], rows, chosen, k)
        return distances, where
