"""Lookup tables of the substrings of binary codes: multi-index hashing.

After Norouzi, Punjani and Fleet, "Fast search in Hamming space with multi-index hashing" (CVPR 2012).
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossview.index.base import Codes, Ids
from crossview.index.snapshot import Column, Snapshot

Numbers = NDArray[np.uint32]
Distances = NDArray[np.int64]
Words = NDArray[np.uint64]
_WIDEST = 24
"""Maximum number of bits of a substring: its table has 2^bits offsets."""


class SubstringTables:
    """Lookup tables over groups of equal codes: for each substring, a table from its values to the groups that have
    them."""

    def __init__(self, starts: Numbers, rows: Numbers, words: Words, tables: "Sequence[SubstringTable]") -> None:
        """Take the tables of groups: where each group begins, its rows, ascending, and its code as words."""
        self._starts, self._rows, self._words, self._tables = starts, rows, words, tables
        self._widest = max(table.width for table in tables)

    @classmethod
    def of(cls, codes: Codes, dim: int) -> Self:
        """Build the tables of codes of dim bits, shape (n, bytes)."""
        every = words(codes)
        order = np.lexsort(every.T)  # stable: rows ascend within a group
        changes = (every[order[1:]] != every[order[:-1]]).any(axis=1)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(codes)]]).astype(np.uint32)
        first = order[starts[:-1]]
        distinct = codes[first]
        tables = [SubstringTable.of(distinct, *part) for part in _parts(dim, len(distinct))]
        return cls(starts, order.astype(np.uint32), every[first], tables)

    def columns(self, prefix: str) -> dict[str, Column]:
        """Return the arrays to write into a snapshot."""
        arrays: dict[str, NDArray[Any]] = {"starts": self._starts, "rows": self._rows, "words": self._words}
        for number, table in enumerate(self._tables):
            arrays |= {f"{number}.rows": table.rows, f"{number}.offsets": table.offsets}
        return {prefix + name: Column(array.dtype, array.shape, [array]) for name, array in arrays.items()}

    @classmethod
    def read(cls, snapshot: Snapshot, prefix: str, count: int, dim: int) -> Self:
        """Return the tables over ``count`` codes from the arrays of a snapshot, without a copy."""
        starts = snapshot.bytes_of(f"{prefix}starts")
        groups = 0 if starts is None else len(starts) // np.dtype(np.uint32).itemsize - 1
        tables = [
            SubstringTable(
                snapshot.array(f"{prefix}{number}.rows", np.uint32, (groups,)),
                snapshot.array(f"{prefix}{number}.offsets", np.uint32, ((1 << (stop - start)) + 1,)),
                start,
                stop,
            )
            for number, (start, stop) in enumerate(_parts(dim, groups))
        ]
        return cls(
            snapshot.array(f"{prefix}starts", np.uint32, (groups + 1,)),
            snapshot.array(f"{prefix}rows", np.uint32, (count,)),
            snapshot.array(f"{prefix}words", np.uint64, (groups, -(-dim // 64))),
            tables,
        )

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        groups = self._starts.nbytes + self._rows.nbytes + self._words.nbytes
        return groups + sum(table.nbytes for table in self._tables)

    def sizes(self, groups: Numbers) -> Numbers:
        """Return the number of ids of each group."""
        return self._starts[groups + 1] - self._starts[groups]

    def members(self, groups: Numbers, distances: Distances, most: int) -> tuple[Ids, NDArray[np.float32]]:
        """Return the first ``most`` rows of each group, and their distances."""
        sizes = np.minimum(self.sizes(groups), most)
        rows = self._rows[ranges(self._starts[groups], sizes)].astype(np.int64)
        return rows, np.repeat(distances, sizes).astype(np.float32)

    def steps(self, code: Codes, most: int) -> Iterator[tuple[Numbers, Distances]]:
        """Yield groups and their distances from a code, shape (bytes,); after step t, all groups up to distance t.

        The groups of a step are distinct. The steps end before the number of lookups of values and groups exceeds
        ``most``, and when there are no more groups.
        """
        # If two codes differ in at most m r + a bits, then one of the first a + 1 of their m substrings differs in at
        # most r bits, or one of the others in fewer: so each step looks up one table at one radius.
        query = words(code[None])[0]
        for radius in range(self._widest + 1):
            for table in self._tables:
                groups = table.lookup(code, radius, most)
                if groups is None:
                    return
                most -= math.comb(table.width, radius) + len(groups)
                yield groups, _distances(self._words[groups], query)


class SubstringTable:
    """A table of the rows of codes by their bits ``start`` to ``stop``."""

    width: int

    def __init__(self, rows: Numbers, offsets: Numbers, start: int, stop: int) -> None:
        self._start, self._stop, self.width = start, stop, stop - start
        self.rows = rows
        """(n,) rows by the values of their substrings, then ascending."""
        self.offsets = offsets
        """(2^width + 1,) where the rows of each value begin."""

    @classmethod
    def of(cls, codes: Codes, start: int, stop: int) -> Self:
        """Build the table of codes, shape (n, bytes)."""
        values = _substrings(codes, start, stop)
        counts = np.bincount(values, minlength=1 << (stop - start))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
        return cls(np.argsort(values, kind="stable").astype(np.uint32), offsets, start, stop)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.rows.nbytes + self.offsets.nbytes

    def values(self, codes: Codes) -> Numbers:
        """Return the substring of every code as a number, shape (n,)."""
        return _substrings(codes, self._start, self._stop)

    def counts(self, values: Numbers) -> Numbers:
        """Return the number of rows of each value."""
        return self.offsets[1:][values] - self.offsets[values]

    def lookup(self, code: Codes, radius: int, most: int) -> Numbers | None:
        """Return the groups whose substring differs from that of the code in exactly ``radius`` bits.

        None if the number of groups and values to look up exceeds ``most``.
        """
        if math.comb(self.width, radius) > most:
            return None
        values = self.values(code[None]) ^ flips(self.width, radius)
        counts = self.counts(values)
        if len(values) + counts.sum(dtype=np.int64) > most:
            return None
        return self.rows[ranges(self.offsets[values], counts)]


def _parts(dim: int, groups: int) -> list[tuple[int, int]]:
    """Return the first and the last bit of the substrings of codes of dim bits, of so many groups."""
    # Substrings of log2(n) bits make buckets of about one code (section 3.3); longer ones would make most of them
    # empty, and the offsets larger than the codes.
    count = max(math.ceil(dim / _WIDEST), math.ceil(dim / max(8.0, math.log2(groups))))
    return list(itertools.pairwise(dim * part // count for part in range(count + 1)))


@functools.cache
def flips(width: int, radius: int) -> Numbers:
    """Return all numbers of ``width`` bits with ``radius`` bits set."""
    numbers = np.arange(1 << width, dtype=np.uint32)
    matching: Numbers = numbers[np.bitwise_count(numbers) == radius]
    return matching


def words(codes: Codes) -> NDArray[np.uint64]:
    """Return codes as rows of 64-bit words, filled up with zeros."""
    padded = np.zeros((len(codes), -(-codes.shape[1] // 8) * 8), np.uint8)
    padded[:, : codes.shape[1]] = codes
    return padded.view(np.uint64)


def _substrings(codes: Codes, start: int, stop: int) -> Numbers:
    """Return the bits ``start`` to ``stop`` of every code, at most 25, as numbers."""
    values = np.zeros(len(codes), np.uint32)
    last = (stop - 1) // 8
    for byte in range(start // 8, last + 1):
        values = (values << np.uint32(8)) | codes[:, byte]
    return (values >> np.uint32(8 * (last + 1) - stop)) & np.uint32((1 << (stop - start)) - 1)


def _distances(words: NDArray[np.uint64], query: NDArray[np.uint64]) -> Distances:
    distances = np.zeros(len(words), np.int64)
    for number, word in enumerate(query):
        distances += np.bitwise_count(words[:, number] ^ word)
    return distances


def ranges(starts: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers starts[i] .. starts[i] + counts[i] - 1 for every i, one range after another."""
    ends = np.cumsum(counts, dtype=np.int64)
    return np.repeat(starts - (ends - counts), counts) + np.arange(counts.sum(dtype=np.int64))
