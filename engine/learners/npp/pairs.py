"""The pairs of one view's rows with those of others: which attract each other, and which repel."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from engine.learners.base import Rows
from engine.learners.blocks import BLOCK, slices
from engine.learners.cancellation import checkpoint
from engine.learners.npp.relations import Listed, Others, Relation, Similarity

Weights = NDArray[np.float64]


class Pull(NamedTuple):
    """What attracts the rows of a view: the sum over pairs of weight ||u - z||^2 is w ||u||^2 - 2 u . t + c.

    Attracted pairs weigh the same, 1 in sum for each of the other views, so that they count alike however many there
    are, and settings carry over from one number of items to another.
    """

    weights: Weights
    """(n,) w, the sum of each row's weights."""
    targets: Rows
    """(n, D) t, the weighted sum of the embeddings z of each row's partners."""
    constant: float
    """c, the sum of all weighted ||z||^2."""

    def value(self, embeddings: Rows) -> float:
        """Returns half the weighted sum of squared distances of (n, D) embeddings to their partners."""
        squares = (embeddings * embeddings).sum(axis=1)
        return 0.5 * (float(self.weights @ squares) - 2 * float(np.vdot(embeddings, self.targets)) + self.constant)


def pull(attracted: Sequence[Similarity], embeddings: Sequence[Rows]) -> Pull:
    """Returns what attracts the rows of a view.

    Args:
        attracted: for each of the other views, the pairs of rows, (n, m).
        embeddings: these views', (m, D) each.
    """
    count, size = attracted[0].shape[0], embeddings[0].shape[1]
    weights, targets, constant = np.zeros(count), np.zeros((count, size)), 0.0
    for relation, embedded in zip(attracted, embeddings, strict=True):
        squares = (embedded * embedded).sum(axis=1)
        sums = relation.sums(np.column_stack([embedded, squares, np.ones(len(embedded))]))
        total = max(sums[:, -1].sum(), 1.0)
        weights += sums[:, -1] / total
        targets += sums[:, :-2] / total
        constant += float(sums[:, -2].sum()) / total
    return Pull(weights, targets, constant)


class Repelled:
    """Weights of the pairs of a view's rows with the rows of other views, one after another, in dense blocks.

    For each of the other views they weigh the same, 1 in sum.

    Args:
        relations: for each of the other views, which pairs repel each other, (n, m).
    """

    def __init__(self, relations: Sequence[Relation]) -> None:
        self.relations = relations
        self.rows = relations[0].shape[0]
        self.columns = sum(relation.shape[1] for relation in relations)
        self._sizes = [max(relation.size, 1) for relation in relations]
        self._cached: list[tuple[slice, Weights]] = []

    def blocks(self) -> Iterator[tuple[slice, Weights]]:
        """Yields (rows, their pairs' weights), the weights (rows, m); the slices cover all rows in order."""
        if not self._cached:
            blocks = ((rows, self._weights(rows)) for rows in slices(self.rows, self.columns))
            if self.rows * self.columns > BLOCK:
                yield from blocks
                return
            self._cached = list(blocks)
        yield from self._cached

    def _weights(self, rows: slice) -> Weights:
        weights = [relation.block(rows) / size for relation, size in zip(self.relations, self._sizes, strict=True)]
        return np.hstack(weights) if len(weights) > 1 else weights[0]


def sampled(similar: Similarity, generator: np.random.RandomState) -> Relation:
    """Returns as many dissimilar pairs as there are similar ones, drawn without replacement (or all there are)."""
    rows, columns = similar.shape
    wanted = similar.size
    if wanted >= rows * columns - wanted:
        return Others(similar)
    chosen = np.zeros(0, dtype=np.int64)
    while len(chosen) < wanted:
        checkpoint()
        drawn = generator.randint(rows * columns, size=2 * wanted)
        drawn = drawn[~similar.holds(drawn // columns, drawn % columns)]
        chosen = np.unique(np.concatenate([chosen, drawn]))
    chosen = generator.permutation(chosen)[:wanted]
    return Listed(sp.csr_array((np.ones(wanted), (chosen // columns, chosen % columns)), shape=similar.shape))
