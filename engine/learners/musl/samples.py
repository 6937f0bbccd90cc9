"""The rows that each round of boosting makes pairs of."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.musl.pairs import Codes, Pairs
from crossview.engine.learners.musl.stumps import Bits, Stumps
from crossview.engine.learners.view_rows import Rows


@dataclass(frozen=True)
class Sample:
    """Rows that pairs are made of.

    Attributes:
        pairs: all their pairs.
        candidates: (n, M), their bits under all candidate stumps.
    """

    pairs: Pairs
    candidates: Bits


@dataclass(frozen=True)
class Training:
    """Rows with classes, and how they are sampled.

    Attributes:
        rows: (n, d).
        codes: (n,) classes, 0 to C - 1, each of two rows or more.
        stumps: the candidates.
        alpha, total: see ``Pairs``.
        max_rows: up to so many rows are all used in every round.
        generator: what draws are made with.
    """

    rows: Rows
    codes: Codes
    stumps: Stumps
    alpha: float
    total: int | None
    max_rows: int
    generator: np.random.RandomState

    def samples(self) -> Iterator[Sample]:
        """Yield a sample for every round: one and the same where all rows are used, else each drawn anew."""
        if len(self.rows) <= self.max_rows:
            yield from repeat(self._sample(np.arange(len(self.rows))))
        while True:
            yield self._sample(self.draw())

    def draw(self) -> NDArray[np.intp]:
        """Return about ``max_rows`` rows' positions, sorted: of each class its share, at least two."""
        if len(self.rows) <= self.max_rows:
            return np.arange(len(self.rows))
        order = self.generator.permutation(len(self.rows))
        order = order[np.argsort(self.codes[order], kind="stable")]
        sizes = np.bincount(self.codes)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        wanted = np.maximum(2, np.rint(sizes * (self.max_rows / len(order))))
        return np.sort(order[rank < wanted[self.codes[order]]])

    def _sample(self, which: NDArray[np.intp]) -> Sample:
        pairs = Pairs(self.codes[which], int(self.codes.max()) + 1, self.alpha, self.total)
        return Sample(pairs, self.stumps.bits(self.rows[which]))
