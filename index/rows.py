"""What an index stores: rows under ids, in chunks that its versions share."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Ids
from crossview.index.chunk import Chunk, appended, chunk_rows, new_chunk
from crossview.index.positions import Positions, Selection
from crossview.index.snapshot import SnapshotReader

_REWRITTEN = 1 / 16
"""Share of a chunk's rows above which dead ones and strays are worth rewriting it."""
_BLOCK_BYTES = 1 << 20
"""Bytes of rows that are copied at once to be saved: freed copies of whole chunks would stay with the process."""
RowNumbers = NDArray[np.int64]
"""Numbers of rows in the order of storage, dead ones counted."""


class Rows:
    """Rows under ids, dead ones among them; a value that never changes.

    The ids of the main chunks ascend. Rows that came with smaller ids than the last of these are strays, in chunks of
    their own behind them, in the order in which they came, until ``compacted`` folds them in. A row that is replaced or
    removed stays, and is dead in the versions that come after.
    """

    def __init__(self, main: tuple[Chunk, ...], stray: tuple[Chunk, ...], like: NDArray[Any]) -> None:
        """Begin with chunks of rows as wide and of the same type as ``like``, shape (0, width)."""
        self.main, self.stray, self.chunks = main, stray, main + stray
        self._like = like
        self.offsets = tuple(itertools.accumulate((len(chunk) for chunk in self.chunks), initial=0))
        """The number of the first row of each chunk, and of all rows."""
        self.alive = tuple(chunk.alive for chunk in self.chunks)
        self.live = sum(chunk.live for chunk in self.chunks)

    def ids(self) -> Ids:
        """Return the ids that are alive, ascending."""
        ids = np.concatenate([np.empty(0, np.int64), *(chunk.live_ids for chunk in self.chunks)])
        return np.sort(ids, kind="stable") if self.stray else ids

    def changed(self, removed: Ids, ids: Ids, rows: NDArray[Any]) -> "Rows":
        """Return rows without some ids, and with others, ascending, which are replaced where they are present."""
        chunks = list(self.chunks)
        for number, _, positions in self._located(np.union1d(removed, ids) if len(removed) else ids):
            chunks[number] = chunks[number].without(positions)
        main, stray = tuple(chunks[: len(self.main)]), tuple(chunks[len(self.main) :])
        cut = int(np.searchsorted(ids, main[-1].last)) if main else 0
        main, stray = appended(main, ids[cut:], rows[cut:]), appended(stray, ids[:cut], rows[:cut])
        return Rows(main, stray, self._like)

    def select(self, ids: Ids) -> Selection:
        """Return which rows have the ids, which ascend."""
        chosen = [Positions.of_numbers(len(chunk), np.empty(0)) for chunk in self.chunks]
        for number, _, positions in self._located(ids):
            chunk = self.chunks[number]
            chosen[number] = Positions.of_numbers(len(chunk), np.sort(positions, kind="stable"))
        every = [one.count == len(chunk) for one, chunk in zip(chosen, self.chunks, strict=True)]
        return Selection(ids, self, tuple(None if all_ else one for all_, one in zip(every, chosen, strict=True)))

    def numbers(self, ids: Ids) -> RowNumbers:
        """Return the rows of ids, shape (n,), -1 where they are absent."""
        wanted, back = np.unique(ids, return_inverse=True)
        numbers = np.full(len(wanted), -1, np.int64)
        for number, which, positions in self._located(wanted):
            numbers[which] = positions + self.offsets[number]
        return numbers[back]

    def ids_of(self, numbers: RowNumbers) -> Ids:
        """Return the ids of rows, shape (n,)."""
        return self._gathered([chunk.ids for chunk in self.chunks], numbers, np.empty(0, np.int64))

    def take(self, numbers: RowNumbers) -> NDArray[Any]:
        """Return rows, shape (n, width)."""
        return self._gathered([chunk.rows for chunk in self.chunks], numbers, self._like)

    def are_alive(self, numbers: RowNumbers) -> NDArray[np.bool_]:
        """Return which rows are not dead, shape (n,)."""
        alive = np.ones(len(numbers), bool)
        for positions, start in zip(self.alive, self.offsets, strict=False):
            if positions is not None:
                here = np.flatnonzero((numbers >= start) & (numbers < start + positions.length))
                alive[here] = positions.include(numbers[here] - start)
        return alive

    @property
    def waste(self) -> float:
        """The share of rows that are dead or strays."""
        total = self.offsets[-1]
        return (total - self.live + sum(chunk.live for chunk in self.stray)) / total if total else 0.0

    def compacted(self) -> "Rows":
        """Return the same rows, strays and dead ones gone, but for chunks where these are few."""
        strays = self._strays_by_chunk()
        kept: list[RowNumbers] = []
        main: tuple[Chunk, ...] = ()
        for number, chunk in enumerate(self.main):
            if len(chunk) - chunk.live + len(strays[number]) > _REWRITTEN * len(chunk):
                merged = self._merged(number, strays[number])
                main = appended(main, self.ids_of(merged), self.take(merged))
            else:
                main, kept = (*main, chunk), [*kept, strays[number]]
        if not self.main:
            main = appended(main, self.ids_of(strays[0]), self.take(strays[0]))
        left = np.concatenate([np.empty(0, np.int64), *kept])
        return Rows(main, appended((), self.ids_of(left), self.take(left)), self._like)

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield the ids that are alive, ascending, then their rows in that order, about a megabyte at a time."""
        yield self.ids()
        step = max(1, _BLOCK_BYTES // max(1, int(self._like.itemsize * self._like.shape[1])))
        for number, strays in enumerate(self._strays_by_chunk()):
            numbers = self._merged(number, strays)
            yield from (self.take(numbers[start : start + step]) for start in range(0, len(numbers), step))

    @classmethod
    def read(cls, snapshot: SnapshotReader, count: int, like: NDArray[Any]) -> "Rows":
        """Return ``count`` rows that a snapshot holds as ``blocks`` yields them."""
        ids, most = snapshot.fill(np.empty(count, np.int64)), chunk_rows(like)
        chunks = []
        for start in range(0, count, most):
            chunk = new_chunk(ids[start : start + most], like)
            snapshot.fill(chunk.rows)
            chunks.append(chunk)
        return cls(tuple(chunks), (), like)

    @property
    def nbytes(self) -> int:
        """Bytes of ids, rows and bitmaps in use, those that other versions share counted in full."""
        return sum(chunk.nbytes for chunk in self.chunks)

    def _located(self, wanted: Ids) -> Iterable[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield (chunk, places in ``wanted``, positions) of ids, ascending, that are present."""
        if not len(wanted):
            return
        first, last = int(wanted[0]), int(wanted[-1])
        for number, chunk in enumerate(self.chunks):
            ordered = number < len(self.main)
            if ordered and (chunk.last < first or chunk.first > last):
                continue
            which, positions = chunk.locate(wanted, ordered)
            if len(which):
                yield number, which, positions

    def _gathered(self, arrays: list[NDArray[Any]], numbers: RowNumbers, like: NDArray[Any]) -> NDArray[Any]:
        if len(arrays) == 1:
            return arrays[0].take(numbers, 0)
        gathered = np.empty((len(numbers), *like.shape[1:]), like.dtype)
        chunks = np.searchsorted(self.offsets, numbers, "right") - 1
        for chunk in np.flatnonzero(np.bincount(chunks)).tolist():
            here = np.flatnonzero(chunks == chunk)
            gathered[here] = arrays[chunk][numbers[here] - self.offsets[chunk]]
        return gathered

    def _strays_by_chunk(self) -> list[RowNumbers]:
        """The strays that are alive, by ascending ids: those of every main chunk's range; the last one has no end."""
        numbers = np.arange(self.offsets[len(self.main)], self.offsets[-1])
        numbers = numbers[self.are_alive(numbers)]
        numbers = numbers[np.argsort(self.ids_of(numbers), kind="stable")]
        edges = np.searchsorted(self.ids_of(numbers), [chunk.last for chunk in self.main[:-1]], "right")
        return np.split(numbers, edges)

    def _merged(self, number: int, strays: RowNumbers) -> RowNumbers:
        """The rows that are alive of a main chunk, and some strays, by ascending ids."""
        if number >= len(self.main):
            return strays
        chunk, start = self.chunks[number], self.offsets[number]
        alive = np.arange(len(chunk)) if chunk.alive is None else chunk.alive.numbers
        numbers = np.concatenate([start + alive, strays])
        return numbers[np.argsort(self.ids_of(numbers), kind="stable")] if len(strays) else numbers
