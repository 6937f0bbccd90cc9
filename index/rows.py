"""The rows of an index: ids and vectors or codes in chunks that versions share, and which of them are alive."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Ids
from crossview.index.chunk import Chunk, appended, chunk_rows, stored_chunk
from crossview.index.positions import Positions, Selection
from crossview.index.snapshot import Column, Snapshot

_REWRITTEN = 1 / 16
"""Share of dead rows and strays from which on ``compacted`` rewrites a chunk."""
_BLOCK_BYTES = 1 << 20
"""Size of the copies of rows while they are saved: the process would keep the memory of freed copies of chunks."""
RowNumbers = NDArray[np.int64]
"""Numbers of rows in the order of storage, which count dead rows too."""


class Rows:
    """Rows under ids, alive or dead, as one version of an index sees them; a value that never changes.

    The ids of the main chunks ascend, so that a search by id is fast and equal distances come in the order of ids. A
    row with a smaller id than the last of these is a stray: it is in further chunks, in the order of arrival, until
    ``compacted`` moves it. A row that is replaced or removed stays in memory and is dead in later versions, so that
    earlier versions answer as before.
    """

    main: tuple[Chunk, ...]
    stray: tuple[Chunk, ...]
    chunks: tuple[Chunk, ...]

    def __init__(
        self, main: tuple[Chunk, ...], stray: tuple[Chunk, ...], like: NDArray[Any], main_ids: Ids | None = None
    ) -> None:
        """Take chunks whose rows have the width and type of ``like``, shape (0, width).

        ``main_ids`` are the ids of all main chunks, if these are parts of one array.
        """
        self._main_ids = main_ids
        self.main, self.stray, self.chunks = main, stray, main + stray
        self._like = like
        self.offsets: tuple[int, ...] = tuple(itertools.accumulate((len(chunk) for chunk in self.chunks), initial=0))
        """The number of the first row of each chunk, and of all rows."""
        self.alive: tuple[Positions | None, ...] = tuple(chunk.alive for chunk in self.chunks)
        self.live: int = sum(chunk.live for chunk in self.chunks)

    def ids(self) -> Ids:
        """Return the ids that are alive, ascending."""
        ids = np.concatenate([np.empty(0, np.int64), *(chunk.live_ids for chunk in self.chunks)])
        return np.sort(ids, kind="stable") if self.stray else ids

    def changed(self, removed: Ids, ids: Ids, rows: NDArray[Any]) -> "Rows":
        """Return the rows without the ids ``removed``, and with ``rows`` under ``ids``, ascending."""
        chunks = list(self.chunks)
        for number, _, positions in self._located(np.union1d(removed, ids) if len(removed) else ids):
            chunks[number] = chunks[number].without(positions)
        main, stray = tuple(chunks[: len(self.main)]), tuple(chunks[len(self.main) :])
        cut = int(np.searchsorted(ids, main[-1].last)) if main else 0
        main, stray = appended(main, ids[cut:], rows[cut:]), appended(stray, ids[:cut], rows[:cut])
        return Rows(main, stray, self._like)

    def select(self, ids: Ids) -> Selection:
        """Return a selection of the rows with some ids, which ascend."""
        chosen = [Positions.of_numbers(len(chunk), np.empty(0)) for chunk in self.chunks]
        for number, _, positions in self._located(ids):
            chunk = self.chunks[number]
            chosen[number] = Positions.of_numbers(len(chunk), np.sort(positions, kind="stable"))
        every = [some.count == len(chunk) for some, chunk in zip(chosen, self.chunks, strict=True)]
        return Selection(ids, self, tuple(None if all_ else some for all_, some in zip(every, chosen, strict=True)))

    def numbers(self, ids: Ids) -> RowNumbers:
        """Return the numbers of the rows of ids, shape (n,); -1 for absent ids."""
        wanted, back = np.unique(ids, return_inverse=True)
        numbers = np.full(len(wanted), -1, np.int64)
        for number, which, positions in self._located(wanted):
            numbers[which] = positions + self.offsets[number]
        return numbers[back]

    def ids_of(self, numbers: RowNumbers) -> Ids:
        """Return the ids of rows, shape (n,)."""
        return self._gathered([chunk.ids for chunk in self.chunks], numbers, np.empty(0, np.int64))

    def main_ids(self) -> Ids:
        """Return the ids of the main chunks, in the order of storage; without a copy if they are one array."""
        return np.concatenate([chunk.ids for chunk in self.main]) if self._main_ids is None else self._main_ids

    def take(self, numbers: RowNumbers) -> NDArray[Any]:
        """Return rows, shape (n, width)."""
        return self._gathered([chunk.rows for chunk in self.chunks], numbers, self._like)

    def are_among(self, numbers: RowNumbers, chosen: Sequence[Positions | None] | None = None) -> NDArray[np.bool_]:
        """Return whether each row is among the chosen rows of each chunk, or alive, shape (n,)."""
        among = np.ones(len(numbers), bool)
        for positions, start in zip(self.alive if chosen is None else chosen, self.offsets, strict=False):
            if positions is not None:
                here = np.flatnonzero((numbers >= start) & (numbers < start + positions.length))
                among[here] = positions.include(numbers[here] - start)
        return among

    @property
    def waste(self) -> float:
        """The share of rows that are dead or strays."""
        total = self.offsets[-1]
        return (total - self.live + sum(chunk.live for chunk in self.stray)) / total if total else 0.0

    def compacted(self, wasted: float = _REWRITTEN) -> "Rows":
        """Return the same rows with strays moved and dead rows dropped, except in chunks with few of them.

        A chunk is rewritten if its share of dead rows and strays is above ``wasted``; with 0, no waste stays.
        """
        strays = self._strays_by_chunk()
        kept: list[RowNumbers] = []
        main: tuple[Chunk, ...] = ()
        for number, chunk in enumerate(self.main):
            if len(chunk) - chunk.live + len(strays[number]) > wasted * len(chunk):
                merged = self._merged(number, strays[number])
                main = appended(main, self.ids_of(merged), self.take(merged))
            else:
                main, kept = (*main, chunk), [*kept, strays[number]]
        if not self.main:
            main = appended(main, self.ids_of(strays[0]), self.take(strays[0]))
        left = np.concatenate([np.empty(0, np.int64), *kept])
        return Rows(main, appended((), self.ids_of(left), self.take(left)), self._like)

    def blocks(self) -> Iterator[tuple[Ids, NDArray[Any]]]:
        """Yield the ids and rows that are alive, chunk by chunk, without a copy if all are alive."""
        for chunk in self.chunks:
            rows = chunk.rows if chunk.alive is None else chunk.rows.take(chunk.alive.numbers, 0)
            yield chunk.live_ids, rows

    def columns(self) -> dict[str, Column]:
        """Return the ids that are alive, ascending, and their rows in that order, to write into a snapshot."""
        shape = self.live, self._like.shape[1]
        return {
            "ids": Column(np.int64, shape[:1], [self.ids()]),
            "rows": Column(self._like.dtype, shape, self._blocks()),
        }

    @classmethod
    def read(cls, snapshot: Snapshot, count: int, like: NDArray[Any], prefix: str = "") -> "Rows":
        """Return ``count`` rows from the arrays that ``columns`` describes, without a copy.

        ``prefix`` precedes the names of the arrays in the snapshot.
        """
        ids = snapshot.array(f"{prefix}ids", np.int64, (count,))
        rows, most = snapshot.array(f"{prefix}rows", like.dtype, (count, like.shape[1])), chunk_rows(like)
        chunks = [stored_chunk(ids[at : at + most], rows[at : at + most]) for at in range(0, count, most)]
        return cls(tuple(chunks), (), like, ids)

    @property
    def nbytes(self) -> int:
        """Bytes of ids, rows and bitmaps in use; parts that other versions share count in full."""
        return sum(chunk.nbytes for chunk in self.chunks)

    def _blocks(self) -> Iterator[NDArray[Any]]:
        """Yield the rows that are alive by ascending ids, about a megabyte at a time."""
        step = max(1, _BLOCK_BYTES // max(1, int(self._like.itemsize * self._like.shape[1])))
        for number, strays in enumerate(self._strays_by_chunk()):
            numbers = self._merged(number, strays)
            yield from (self.take(numbers[start : start + step]) for start in range(0, len(numbers), step))

    def _located(self, wanted: Ids) -> Iterable[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield (chunk, places in ``wanted``, positions) of the ids in ``wanted``, which ascends, that are present."""
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
        """Return the living strays by ascending ids, split by the ranges of the main chunks; the last has no end."""
        numbers = np.arange(self.offsets[len(self.main)], self.offsets[-1])
        numbers = numbers[self.are_among(numbers)]
        numbers = numbers[np.argsort(self.ids_of(numbers), kind="stable")]
        edges = np.searchsorted(self.ids_of(numbers), [chunk.last for chunk in self.main[:-1]], "right")
        return np.split(numbers, edges)

    def _merged(self, number: int, strays: RowNumbers) -> RowNumbers:
        """Return the rows of a main chunk that are alive, and some strays, by ascending ids."""
        if number >= len(self.main):
            return strays
        chunk, start = self.chunks[number], self.offsets[number]
        alive = np.arange(len(chunk)) if chunk.alive is None else chunk.alive.numbers
        numbers = np.concatenate([start + alive, strays])
        return numbers[np.argsort(self.ids_of(numbers), kind="stable")] if len(strays) else numbers
