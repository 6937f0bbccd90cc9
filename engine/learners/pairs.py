"""The weight of every pair of a row of one view with a row of another, in dense blocks."""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .relations import BLOCK, Listed, Others, Relation, Similarity, slices

Weights = NDArray[np.float64]


class Pairs:
    """Weights of the similar and dissimilar pairs of one view's rows with the rows of one or several other views.

    For each of the other views similar pairs weigh 1 / (their number) each and dissimilar pairs likewise, so both kinds
    count alike however many there are, and settings carry over from one number of items to another.

    Args:
        relations: for each of the other views the similar pairs and the dissimilar ones, (n, m) both; pairs of neither
            kind weigh nothing.
    """

    def __init__(self, relations: Sequence[tuple[Relation, Relation]]) -> None:
        self.relations = relations
        self.rows = relations[0][0].shape[0]
        self.columns = sum(similar.shape[1] for similar, _ in relations)
        self._sizes = [(similar.size, dissimilar.size) for similar, dissimilar in relations]
        self._kept: list[tuple[slice, Weights, Weights]] = []

    def blocks(self) -> Iterator[tuple[slice, Weights, Weights]]:
        """Yields (rows, similar weights, dissimilar weights), both (rows, m), the other views' rows one after another.

        The slices cover all rows in order.
        """
        if not self._kept:
            blocks = (self._weights(rows) for rows in slices(self.rows, self.columns))
            if self.rows * self.columns > BLOCK:
                yield from blocks
                return
            self._kept = list(blocks)
        yield from self._kept

    def _weights(self, rows: slice) -> tuple[slice, Weights, Weights]:
        similar = [
            one.block(rows) / max(size, 1) for (one, _), (size, _) in zip(self.relations, self._sizes, strict=True)
        ]
        others = [
            one.block(rows) / max(size, 1) for (_, one), (_, size) in zip(self.relations, self._sizes, strict=True)
        ]
        return rows, np.hstack(similar), np.hstack(others)


def sampled(similar: Similarity, generator: np.random.RandomState) -> Relation:
    """Returns as many dissimilar pairs as there are similar ones, drawn without replacement (or all there are)."""
    rows, columns = similar.shape
    wanted = similar.size
    if wanted >= rows * columns - wanted:
        return Others(similar)
    chosen = np.zeros(0, dtype=np.int64)
    while len(chosen) < wanted:
        drawn = generator.randint(rows * columns, size=2 * wanted)
        drawn = drawn[~similar.holds(drawn // columns, drawn % columns)]
        chosen = np.unique(np.concatenate([chosen, drawn]))
    chosen = generator.permutation(chosen)[:wanted]
    return Listed(sp.csr_array((np.ones(wanted), (chosen // columns, chosen % columns)), shape=similar.shape))
