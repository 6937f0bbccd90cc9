"""All pairs of binary codes within a radius: a join by multi-index hashing, or a scan if that does less work.

The pigeonhole principle of Norouzi, Punjani and Fleet, "Fast search in Hamming space with multi-index hashing" (CVPR
2012), serves a join as it serves a query: of m disjoint substrings of two near codes, one differs in few bits.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossview.index.base import Codes, check_codes
from crossview.index.substrings import Numbers, SubstringTable, flips, ranges, words

MOST_PAIRS = 20_000_000
"""Default maximum number of pairs, which take 20 bytes each."""
_BLOCK = 1 << 21
"""Number of candidates that a join compares at once. A scan computes 16 times as many distances at once."""
_CANDIDATE, _LOOKUP = 24, 40
"""Measured numbers of 64-bit words that a scan compares in the time of one candidate, and of one lookup, of a join."""
_WIDEST, _SAMPLE = 24, 256

Places = NDArray[np.int64]
Distances = NDArray[np.int32]
Words = NDArray[np.uint64]
Candidates = tuple[Places, Places]
Report = Callable[[int, int], None]
"""A function of the number of steps done and of all steps. An error that it raises ends the work."""


class Pairs(NamedTuple):
    """Pairs of codes, in the order of their first and then of their second place."""

    first: Places
    """(m,) places in the codes."""
    second: Places
    """(m,) places in the others or, within one set, in the codes: there ``first < second``."""
    distance: Distances
    """(m,) numbers of differing bits."""


class TooManyPairsError(ValueError):
    """There are more near pairs than the caller allows."""


def near_pairs(
    codes: ArrayLike,
    radius: int,
    others: ArrayLike | None = None,
    *,
    most: int = MOST_PAIRS,
    report: Report | None = None,
) -> Pairs:
    """Return every pair of codes that differ in at most ``radius`` bits, and no other.

    Pairs are those within the codes, shape (n, bytes) uint8, or between the codes and ``others``, shape (m, bytes).
    Every code counts: c equal codes are c (c - 1) / 2 pairs. Apply the function to the codes of ``distinct`` if there
    can be many equal codes. The memory beside the answer is about 150 bytes a code and 100 MB.

    Raises:
        ValueError: for arrays that are not such codes, codes of different widths, and a negative radius.
        TooManyPairsError: if there are more than ``most`` pairs; it ends the work as soon as there are.
    """
    left = _Groups(_checked(codes))
    right = left if others is None else _Groups(_checked(others))
    if left.codes.shape[1] != right.codes.shape[1]:
        raise ValueError(f"codes of {left.codes.shape[1]} bytes do not compare with codes of {right.codes.shape[1]}")
    if radius < 0:
        raise ValueError(f"the radius must be at least 0, not {radius}")
    parts = [left.repeated(most)] if others is None else []
    count = sum(len(part.first) for part in parts)
    for first, second, distance in _joined(left, right, min(radius, 8 * left.codes.shape[1]), report or _silent):
        count += int(left.sizes[first] @ right.sizes[second])
        if count > most:
            raise _too_many(most, radius)
        parts.append(Pairs(*_members(left, right, first, second, distance)))
    first, second, distance = (np.concatenate(column) for column in zip(Pairs(*_NONE), *parts, strict=True))
    if others is None:
        first, second = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort([second, first])
    return Pairs(first[order], second[order], distance[order])


def distinct(codes: ArrayLike) -> tuple[Places, Places]:
    """Return the first place of each distinct code, ascending, and for each code the number of its distinct code.

    ``near_pairs(codes[places], radius)`` then finds the pairs of distinct codes by these numbers.
    """
    groups = _Groups(_checked(codes))
    numbers = np.empty(len(groups.order), np.int64)
    firsts = groups.order[groups.starts[:-1]]  # the order is stable, so the first of a group has the smallest place
    ascending = np.argsort(firsts)
    number_of = np.empty(len(firsts), np.int64)
    number_of[ascending] = np.arange(len(firsts))
    numbers[groups.order] = np.repeat(number_of, groups.sizes)
    return firsts[ascending], numbers


class _Groups:
    """Codes in groups of equal ones."""

    def __init__(self, codes: Codes) -> None:
        every = words(codes)
        self.order = np.lexsort(every.T).astype(np.int64)
        """(n,) places of the codes, group by group, ascending within a group."""
        changes = (every[self.order[1:]] != every[self.order[:-1]]).any(axis=1)
        edges = np.flatnonzero(changes) + 1
        self.starts = np.concatenate([[0], edges, [len(codes)]]) if len(codes) else np.zeros(1, np.int64)
        """(groups + 1,) places in the order."""
        self.sizes = np.diff(self.starts)
        self.codes = np.ascontiguousarray(codes[self.order[self.starts[:-1]]])
        """(groups, bytes), one of each group."""
        self.words = words(self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    def repeated(self, most: int) -> Pairs:
        """Return the pairs of equal codes."""
        if int(self.sizes @ (self.sizes - 1)) // 2 > most:
            raise _too_many(most, 0)
        ends = np.repeat(self.starts[1:], self.sizes)
        later = np.arange(1, len(self.order) + 1)
        first = np.repeat(self.order, ends - later)
        second = self.order[ranges(later, ends - later)]
        return Pairs(first, second, np.zeros(len(first), np.int32))


def _members(left: _Groups, right: _Groups, first: Places, second: Places, distance: Distances) -> Pairs:
    """Return all pairs of codes of pairs of groups."""
    across = right.sizes[second]
    counts = left.sizes[first] * across
    number = ranges(np.zeros_like(counts), counts)
    row, column = np.divmod(number, np.repeat(across, counts))
    return Pairs(
        left.order[np.repeat(left.starts[first], counts) + row],
        right.order[np.repeat(right.starts[second], counts) + column],
        np.repeat(distance, counts),
    )


def _joined(left: _Groups, right: _Groups, radius: int, report: Report) -> Iterator[Pairs]:
    """Yield the near pairs of different groups; within one set, each pair once."""
    if not len(left) or not len(right):
        return
    parts = _plan(left, right, radius)
    if parts is None:
        yield from _scanned(left, right, radius, report)
        return
    done, steps = 0, sum(part.lookups for part in parts)
    for number, part in enumerate(parts):
        meetings = _within(left, part) if left is right else _between(left, right, part)
        for meeting in meetings:
            for first, second in meeting:
                yield _near(left, right, first, second, radius, parts[:number])
                report(done, steps)  # a difference can have many candidates
            done += 1
            report(done, steps)


class _Part(NamedTuple):
    """A substring of the codes: the bits ``start`` to ``stop``, which may differ in up to ``radius`` bits."""

    start: int
    stop: int
    radius: int

    @property
    def lookups(self) -> int:
        """Number of differences of two substrings within the radius."""
        return sum(math.comb(self.stop - self.start, radius) for radius in range(self.radius + 1))

    @property
    def flips(self) -> Numbers:
        """Those differences as numbers, ascending, shape (lookups,)."""
        return np.sort(np.concatenate([flips(self.stop - self.start, radius) for radius in range(self.radius + 1)]))

    def mask(self, width: int) -> Words:
        """Return the words of a code of ``width`` bytes that has the bits of this part, shape (words,)."""
        bits = np.zeros(8 * width, bool)
        bits[self.start : self.stop] = True
        (mask,) = words(np.packbits(bits)[None])
        return np.asarray(mask)


def _parts(bits: int, radius: int, count: int) -> list[_Part]:
    """Return ``count`` substrings of codes, of which one is within its radius for any two near codes.

    If two codes differ in at most m r + a bits, then one of the first a + 1 of their m substrings differs in at most r
    bits, or one of the others in fewer. Substrings that no radius is left for are left out.
    """
    within, more = divmod(radius, count)
    edges = [bits * part // count for part in range(count + 1)]
    parts = [_Part(*edge, within - (number > more)) for number, edge in enumerate(itertools.pairwise(edges))]
    return [part for part in parts if part.radius >= 0]


def _plan(left: _Groups, right: _Groups, radius: int) -> list[_Part] | None:
    """Return the substrings whose join does the least work; None if a scan does less.

    The work is counted, not timed, from the lookups and from the candidates of a sample of the codes.
    """
    bits = 8 * left.codes.shape[1]
    halves = 2 if left is right else 1
    best, least = None, len(left) * len(right) * left.words.shape[1] / halves
    sample = left.codes[np.linspace(0, len(left) - 1, min(_SAMPLE, len(left))).astype(np.int64)]
    for count in range(math.ceil(bits / _WIDEST), bits + 1):
        parts = _parts(bits, radius, count)
        work = sum(part.lookups * _LOOKUP * len(left) / halves + (1 << (part.stop - part.start)) for part in parts)
        if work < least:
            work += _CANDIDATE * len(left) / halves * sum(_candidates_of_one(sample, right, part) for part in parts)
            if work < least:
                best, least = parts, work
        if count > radius:
            break  # more substrings than radius + 1 are only shorter
    return best


def _candidates_of_one(sample: Codes, right: _Groups, part: _Part) -> float:
    """Return the mean number of codes whose substring is near that of a code of the sample."""
    table = SubstringTable.of(right.codes, part.start, part.stop)
    return float(table.counts(table.values(sample)[:, None] ^ part.flips).sum(axis=1).mean())


def _within(groups: _Groups, part: _Part) -> Iterator[Iterator[Candidates]]:
    """Yield, for each difference of a substring within its radius, the pairs of groups with this difference, once."""
    table = SubstringTable.of(groups.codes, part.start, part.stop)
    rows = table.rows.astype(np.int64)  # ascending values keep lookups near each other in memory
    values = table.values(groups.codes)[rows]
    for bits, of_bits in itertools.groupby(part.flips.tolist(), int.bit_length):
        if not bits:  # of one value, each row meets those behind it
            later = np.arange(1, len(rows) + 1)
            yield _blocks(rows, table, later, table.offsets[1:][values] - later)
            continue
        lower = np.flatnonzero(values & np.uint32(1 << (bits - 1)) == 0)
        lower_rows, lower_values = rows[lower], values[lower]
        for flip in of_bits:
            wanted = lower_values ^ np.uint32(flip)
            yield _blocks(lower_rows, table, table.offsets[wanted], table.counts(wanted))


def _between(left: _Groups, right: _Groups, part: _Part) -> Iterator[Iterator[Candidates]]:
    """Yield, for each difference of a substring within its radius, the pairs of groups with this difference."""
    table = SubstringTable.of(right.codes, part.start, part.stop)
    every = table.values(left.codes)
    rows = np.argsort(every, kind="stable")
    values = every[rows]
    for flip in part.flips:
        wanted = values ^ flip
        yield _blocks(rows, table, table.offsets[wanted], table.counts(wanted))


def _blocks(rows: Places, table: SubstringTable, starts: NDArray[Any], counts: NDArray[Any]) -> Iterator[Candidates]:
    """Yield each row beside the ``counts`` rows of the table from ``starts``, about ``_BLOCK`` pairs at a time."""
    nonempty = np.flatnonzero(counts)
    starts, counts = starts[nonempty].astype(np.int64), counts[nonempty].astype(np.int64)
    ends = np.cumsum(counts)
    edges = np.searchsorted(ends, np.arange(_BLOCK, ends[-1] if len(ends) else 0, _BLOCK)) + 1
    for start, stop in itertools.pairwise(np.unique([0, *edges, len(nonempty)])):
        block = slice(start, stop)
        second = table.rows[ranges(starts[block], counts[block])].astype(np.int64)
        yield np.repeat(rows[nonempty[block]], counts[block]), second


def _near(left: _Groups, right: _Groups, first: Places, second: Places, radius: int, earlier: Sequence[_Part]) -> Pairs:
    """Return the near ones of candidates, without those that an earlier part has found."""
    distance = np.zeros(len(first), np.int32)
    for word in range(left.words.shape[1]):
        distance += np.bitwise_count(left.words[first, word] ^ right.words[second, word])
        near = np.flatnonzero(distance <= radius)
        first, second, distance = first[near], second[near], distance[near]
    differing = left.words[first] ^ right.words[second]
    new = np.ones(len(first), bool)
    for part in earlier:
        new &= np.bitwise_count(differing & part.mask(left.codes.shape[1])).sum(axis=1) > part.radius
    return Pairs(first[new], second[new], distance[new])


def _scanned(left: _Groups, right: _Groups, radius: int, report: Report) -> Iterator[Pairs]:
    """Yield the near pairs that scans of memory find."""
    block = max(1, 16 * _BLOCK // len(right))
    flat = faiss.IndexBinaryFlat(8 * left.codes.shape[1])
    flat.add(right.codes)
    for start in range(0, len(left), block):
        if left is right:
            flat.reset()
            flat.add(right.codes[start:])
        rows = left.codes[start : start + block]
        limits, distance, second = flat.range_search(rows, radius + 1)  # FAISS leaves the radius itself out
        first = start + np.repeat(np.arange(len(rows)), np.diff(limits.astype(np.int64)))
        if left is right:
            second = second + start
            later = np.flatnonzero(first < second)
            first, second, distance = first[later], second[later], distance[later]
        yield Pairs(first, second, distance.astype(np.int32))
        report(min(len(left), start + block), len(left))


_NONE = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)


def _checked(codes: ArrayLike) -> Codes:
    array = np.asarray(codes)
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"codes must have shape (n, bytes), not {array.shape}")
    return check_codes(array, 8 * array.shape[1], None)


def _too_many(most: int, radius: int) -> TooManyPairsError:
    return TooManyPairsError(
        f"there are more than {most:,} pairs of codes within {radius} bits: choose a smaller radius, join only "
        "distinct codes if many are equal, or allow more pairs"
    )


def _silent(done: int, total: int) -> None:
    """Report nothing."""
