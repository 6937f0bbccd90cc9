"""Chunks of rows: buffers that grow only at their end; each version of an index sees its own part of a buffer."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Ids
from crossview.index.positions import Positions, all_positions

CHUNK_BYTES = 1 << 26
"""Size, in bytes, of the rows of a full chunk. The operating system provides the memory when it is written. More and
shorter chunks would slow down searches, which merge the answers of all chunks; longer chunks would slow down a change
that has to copy a chunk."""
MOST_ROWS = 1 << 20
"""Maximum number of rows of a chunk, even of short rows, because a removal copies one bit for each row."""
_FIRST_ROWS = 1024
"""Number of rows of the first buffer of a chunk, so that small indexes take little memory."""


def chunk_rows(rows: NDArray[Any]) -> int:
    """Return the number of rows of a full chunk, for rows as wide as these."""
    width = int(rows.itemsize * rows.shape[1])
    return max(1, min(MOST_ROWS, CHUNK_BYTES // max(1, width)))


class Buffer:
    """Rows and their ids in memory. A chunk that claims rows after those in use may write them, once."""

    ids: Ids
    rows: NDArray[Any]

    __slots__ = ("_lock", "_used", "ids", "rows")

    def __init__(self, ids: Ids, rows: NDArray[Any], used: int = 0) -> None:
        self.ids, self.rows = ids, rows
        self._used = used
        self._lock = threading.Lock()

    def claim(self, count: int, more: int) -> bool:
        """Claim ``more`` rows after the first ``count``; return False if another chunk has them, or there is no
        room."""
        with self._lock:
            free = self._used == count and count + more <= len(self.ids)
            self._used += more if free else 0
            return free


class Chunk:
    """The first rows of a buffer, at least one, without the dead ones; a value that never changes."""

    first: int
    ids: NDArray[np.int64]
    last: int
    rows: NDArray[Any]

    __slots__ = ("_buffer", "alive", "first", "ids", "last", "rows")

    def __init__(self, buffer: Buffer, count: int, alive: Positions | None) -> None:
        self._buffer = buffer
        self.ids, self.rows = buffer.ids[:count], buffer.rows[:count]
        self.alive: Positions | None = alive
        """None if all rows are alive."""
        self.first, self.last = int(self.ids[0]), int(self.ids[-1])

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def live(self) -> int:
        """The number of rows that are alive."""
        return len(self) if self.alive is None else self.alive.count

    @property
    def nbytes(self) -> int:
        """Bytes of ids, rows and bitmap in use."""
        return self.ids.nbytes + self.rows.nbytes + (0 if self.alive is None else len(self.alive.bits))

    @property
    def live_ids(self) -> Ids:
        """The ids that are alive, in the order of storage."""
        return self.ids if self.alive is None else self.ids[self.alive.numbers]

    def extended(self, ids: Ids, rows: NDArray[Any]) -> "Chunk":
        """Return this chunk with more rows at its end.

        It is a copy if the buffer is full, which the arrays of a snapshot always are, or if another version has already
        written after these rows.
        """
        count, total, buffer = len(self), len(self) + len(ids), self._buffer
        if not buffer.claim(count, len(ids)):
            buffer = _buffer_for(total, rows)
            buffer.claim(0, total)
            buffer.ids[:count], buffer.rows[:count] = self.ids, self.rows
        buffer.ids[count:total], buffer.rows[count:total] = ids, rows
        return Chunk(buffer, total, self.alive and self.alive.longer(total, len(buffer.ids)))

    def without(self, positions: NDArray[np.int64]) -> "Chunk":
        """Return this chunk without the rows at some positions, which are alive."""
        alive = self.alive or all_positions(len(self), len(self._buffer.ids))
        return Chunk(self._buffer, len(self), alive.without(positions))

    def locate(self, wanted: Ids, ordered: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (which, where): the places in ``wanted``, which ascends, of ids that are alive, and their positions.

        ``ordered`` states that the ids of the chunk ascend. If an id occurs several times, only the last can be alive.
        """
        if ordered:
            start, stop = np.searchsorted(wanted, [self.first, self.last + 1])
            positions = np.searchsorted(self.ids, wanted[start:stop], "right") - 1
            present = self.ids[positions] == wanted[start:stop]
            which, positions = start + np.flatnonzero(present), positions[present]
        elif len(wanted) == 1:
            positions = np.flatnonzero(self.ids == wanted[0])
            which = np.zeros(len(positions), np.int64)
        else:
            which = np.minimum(np.searchsorted(wanted, self.ids), len(wanted) - 1)
            positions = np.flatnonzero(wanted[which] == self.ids)
            which = which[positions]
        if self.alive is None:
            return which, positions
        alive = self.alive.include(positions)
        return which[alive], positions[alive]


def appended(chunks: tuple[Chunk, ...], ids: Ids, rows: NDArray[Any]) -> tuple[Chunk, ...]:
    """Return chunks with more rows after the last row."""
    done, most, start = list(chunks), chunk_rows(rows), 0
    while start < len(ids):
        open_ = bool(done) and len(done[-1]) < most
        stop = start + most - (len(done[-1]) if open_ else 0)
        if open_:
            done[-1] = done[-1].extended(ids[start:stop], rows[start:stop])
        else:
            done.append(new_chunk(ids[start:stop], rows))
            done[-1].rows[:] = rows[start:stop]
        start = stop
    return tuple(done)


def stored_chunk(ids: Ids, rows: NDArray[Any]) -> Chunk:
    """Return a chunk over arrays of a snapshot. They may be mapped from its file, so no one may write to them."""
    return Chunk(Buffer(ids, rows, len(ids)), len(ids), None)


def new_chunk(ids: Ids, like: NDArray[Any]) -> Chunk:
    """Return a new chunk of at most ``chunk_rows(like)`` rows, which the caller writes."""
    buffer = _buffer_for(len(ids), like)
    buffer.claim(0, len(ids))
    buffer.ids[: len(ids)] = ids
    return Chunk(buffer, len(ids), None)


def _buffer_for(count: int, like: NDArray[Any]) -> Buffer:
    most = chunk_rows(like)
    capacity = most if count > _FIRST_ROWS else min(most, _FIRST_ROWS)
    return Buffer(np.empty(capacity, np.int64), np.empty((capacity, like.shape[1]), like.dtype))
