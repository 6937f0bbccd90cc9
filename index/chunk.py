"""Chunks of rows: buffers that are only appended to, of which every version of an index sees its own part."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Ids
from crossview.index.positions import Positions, all_positions

CHUNK_BYTES = 1 << 26
"""Bytes of the rows of a chunk. The operating system gives the memory as it is written to. Searches of many short
chunks are slower by the merging of their answers; a version that is not the newest copies up to a chunk to go on."""
MOST_ROWS = 1 << 20
"""Most rows of a chunk, however short they are: a removal copies a bit for each."""
_FIRST_ROWS = 1024
"""Rows of the first buffer of a chunk, so that small indexes take little memory."""


def chunk_rows(rows: NDArray[Any]) -> int:
    """Return how many rows as wide as these a chunk has when it is full."""
    width = int(rows.itemsize * rows.shape[1])
    return max(1, min(MOST_ROWS, CHUNK_BYTES // max(1, width)))


class Buffer:
    """Rows and their ids in memory. Who claims rows behind the ones in use may write them, once."""

    __slots__ = ("_lock", "_used", "ids", "rows")

    def __init__(self, capacity: int, like: NDArray[Any]) -> None:
        self.ids: Ids = np.empty(capacity, np.int64)
        self.rows = np.empty((capacity, like.shape[1]), like.dtype)
        self._used = 0
        self._lock = threading.Lock()

    def claim(self, count: int, more: int) -> bool:
        """Claim ``more`` rows behind the first ``count``; False where others have them, or there is no room."""
        with self._lock:
            free = self._used == count and count + more <= len(self.ids)
            self._used += more if free else 0
            return free


class Chunk:
    """The first rows of a buffer, at least one, less those that are dead; it never changes."""

    __slots__ = ("_buffer", "alive", "first", "ids", "last", "rows")

    def __init__(self, buffer: Buffer, count: int, alive: Positions | None) -> None:
        self._buffer = buffer
        self.ids, self.rows = buffer.ids[:count], buffer.rows[:count]
        self.alive = alive
        """None where all are."""
        self.first, self.last = int(self.ids[0]), int(self.ids[-1])

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def live(self) -> int:
        """How many rows are not dead."""
        return len(self) if self.alive is None else self.alive.count

    @property
    def nbytes(self) -> int:
        """Bytes of ids, rows and bitmap in use."""
        return self.ids.nbytes + self.rows.nbytes + (0 if self.alive is None else len(self.alive.bits))

    @property
    def live_ids(self) -> Ids:
        """The ids that are not dead, in the order of storage."""
        return self.ids if self.alive is None else self.ids[self.alive.numbers]

    def extended(self, ids: Ids, rows: NDArray[Any]) -> "Chunk":
        """Return this chunk with rows behind it; copied where the buffer is full or goes on in another version."""
        count, total, buffer = len(self), len(self) + len(ids), self._buffer
        if not buffer.claim(count, len(ids)):
            buffer = _buffer_for(total, rows)
            buffer.claim(0, total)
            buffer.ids[:count], buffer.rows[:count] = self.ids, self.rows
        buffer.ids[count:total], buffer.rows[count:total] = ids, rows
        return Chunk(buffer, total, self.alive and self.alive.longer(total, len(buffer.ids)))

    def without(self, positions: NDArray[np.int64]) -> "Chunk":
        """Return this chunk with the rows at some positions dead, which are alive."""
        alive = self.alive or all_positions(len(self), len(self._buffer.ids))
        return Chunk(self._buffer, len(self), alive.without(positions))

    def locate(self, wanted: Ids, ordered: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (which, where): the places in ``wanted``, ascending, of ids that are alive, and their positions.

        ``ordered`` states that the chunk's ids ascend; of equal ones the last is then the only one that may be alive.
        """
        if ordered:
            start, stop = np.searchsorted(wanted, [self.first, self.last + 1])
            positions = np.searchsorted(self.ids, wanted[start:stop], "right") - 1
            found = self.ids[positions] == wanted[start:stop]
            which, positions = start + np.flatnonzero(found), positions[found]
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
    """Return chunks with rows behind the last one."""
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


def new_chunk(ids: Ids, like: NDArray[Any]) -> Chunk:
    """Return a chunk of its own, at most ``chunk_rows(like)`` long; its maker writes its rows."""
    buffer = _buffer_for(len(ids), like)
    buffer.claim(0, len(ids))
    buffer.ids[: len(ids)] = ids
    return Chunk(buffer, len(ids), None)


def _buffer_for(count: int, like: NDArray[Any]) -> Buffer:
    most = chunk_rows(like)
    return Buffer(most if count > _FIRST_ROWS else min(most, _FIRST_ROWS), like)
