"""Sets of rows: positions in a chunk, as ascending numbers or as a bitmap, and selections of a whole index."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Bits = NDArray[np.uint8]
"""A bitmap as ``faiss.IDSelectorBitmap`` reads it: position i is bit i % 8 of byte i // 8, the lowest bit first."""


class Positions:
    """Some of the first ``length`` positions, in two forms; a form is computed on its first use, and cached."""

    count: int
    length: int

    __slots__ = ("_bits", "_numbers", "count", "length")

    def __init__(self, length: int, count: int, numbers: Numbers | None, bits: Bits | None) -> None:
        self.length, self.count = length, count
        self._numbers, self._bits = numbers, bits

    @classmethod
    def of_numbers(cls, length: int, numbers: NDArray[Any]) -> Self:
        """Return positions from ascending numbers."""
        return cls(length, len(numbers), numbers.astype(np.int32), None)

    @property
    def numbers(self) -> Numbers:
        """The positions, ascending."""
        if self._numbers is None:
            unpacked = np.unpackbits(self.bits, count=self.length, bitorder="little")
            self._numbers = np.flatnonzero(unpacked).astype(np.int32)
        return self._numbers

    @property
    def bits(self) -> Bits:
        """The positions as a bitmap; bits from ``length`` on have no meaning."""
        if self._bits is None:
            inside = np.zeros(self.length, bool)
            inside[self._numbers] = True
            self._bits = np.packbits(inside, bitorder="little")
        return self._bits

    @property
    def share(self) -> float:
        """The share of the positions among the first ``length`` positions, from 0 to 1."""
        return self.count / self.length

    def include(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each of some positions below ``length``, of any shape, is among these."""
        inside: NDArray[np.bool_] = (self.bits[positions >> 3] >> (positions & 7).astype(np.uint8) & 1).astype(bool)
        return inside

    def longer(self, length: int, capacity: int) -> "Positions":
        """Return these positions and all from the old length to a new one, in a bitmap with room for ``capacity``."""
        bits = self.bits
        if (missing := -(-capacity // 8) - len(bits)) > 0:
            bits = np.concatenate([bits, np.full(missing, 0xFF, np.uint8)])
        return Positions(length, self.count + length - self.length, None, bits)

    def without(self, positions: NDArray[np.int64]) -> "Positions":
        """Return these positions except some of them, which are distinct."""
        bits = self.bits.copy()
        np.bitwise_and.at(bits, positions >> 3, ~np.left_shift(np.uint8(1), (positions & 7).astype(np.uint8)))
        return Positions(self.length, self.count - len(positions), None, bits)


def all_positions(length: int, capacity: int) -> Positions:
    """Return all positions below ``length``. The bitmap has room for ``capacity``, with all bits set."""
    return Positions(length, length, None, np.full(-(-capacity // 8), 0xFF, np.uint8))


@dataclass(frozen=True, eq=False)
class Selection:
    """The ids that a search may find, prepared by ``Searcher.selection`` for one version of an index.

    Other versions also accept the selection, but look up the ids again.
    """

    ids: NDArray[np.int64]
    """Ascending; a search never finds absent ids."""
    version: object
    """The rows that the selection was prepared for."""
    chosen: tuple[Positions | None, ...] = ()
    """The rows of each chunk; None means all rows of a chunk."""
