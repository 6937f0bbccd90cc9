"""Forces between the rows of one view and the rows of other views: pairs that attract and pairs that repel."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import BLOCK, Rows, slices
from crossview.engine.learners.papers.npp.scisd import Scisd
from crossview.engine.learners.papers.npp.similarity import Complement, Listed, Relation, Similarity
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.runtime.threads import over

Weights = NDArray[Any]
Result = TypeVar("Result")

_PAIRS_AT_ONCE = 1 << 17
"""Number of pairs in a block: a few float32 numbers for each pair stay in a processor's cache."""
_ROWS_AT_ONCE = 64
"""Minimum number of rows in a block, even if the block then has more pairs, because products of few rows are slow."""
_MANY = 1 << 17
"""Number of pairs above which the weights are float32."""


class Pull(NamedTuple):
    """The attraction of the rows of a view: the sum over pairs of weight ||u - z||^2 is w ||u||^2 - 2 u . t + c.

    All attracted pairs of two views have the same weight. With ``weighting="mean"`` the weights add up to 1 for each of
    the other views, so that settings carry over from one number of items to another.
    """

    weights: Weights
    """(n,) w, the sum of the weights of each row's pairs."""
    targets: Rows
    """(n, D) t, the weighted sum of the embeddings z of each row's partners."""
    constant: float
    """c, the sum of all weighted ||z||^2."""

    def value(self, embeddings: Rows) -> float:
        """Return half the weighted sum of squared distances of (n, D) embeddings to their partners."""
        squares = (embeddings * embeddings).sum(axis=1)
        return 0.5 * (float(self.weights @ squares) - 2 * float(np.vdot(embeddings, self.targets)) + self.constant)


def pull(attracted: Sequence[Similarity], embeddings: Sequence[Rows], totals: Sequence[float] | None = None) -> Pull:
    """Return the attraction of the rows of a view.

    Args:
        attracted: for each of the other views, the pairs of rows, (n, m).
        embeddings: the (m, D) embeddings of each of the other views.
        totals: for each of the other views, the sum of the weights of its pairs. None: 1.
    """
    count, size = attracted[0].shape[0], embeddings[0].shape[1]
    weights, targets, constant = np.zeros(count), np.zeros((count, size)), 0.0
    for relation, embedded, weight in zip(attracted, embeddings, totals or [1.0] * len(attracted), strict=True):
        squares = (embedded * embedded).sum(axis=1)
        sums = relation.sums(np.column_stack([embedded, squares, np.ones(len(embedded))]))
        total = max(sums[:, -1].sum(), 1.0) / weight
        weights += sums[:, -1] / total
        targets += sums[:, :-2] / total
        constant += float(sums[:, -2].sum()) / total
    return Pull(weights, targets, constant)


class Repelled:
    """Weights of the repelled pairs of a view's rows with the rows of all other views, in dense blocks.

    All repelled pairs with one of the other views have the same weight. With more than 131,072 pairs, the weights and
    the results for each block are float32: sums keep six digits and take half the time.

    Args:
        relations: for each of the other views, the pairs that repel each other, (n, m).
        totals: for each of the other views, the sum of the weights of its pairs. None: 1.

    Attributes:
        dtype: type of the weights.
    """

    def __init__(self, relations: Sequence[Relation], totals: Sequence[float] | None = None) -> None:
        self.relations = relations
        self.rows: int = relations[0].shape[0]
        self.columns: int = sum(relation.shape[1] for relation in relations)
        self.dtype: type[np.floating[Any]] = np.float64 if self.rows * self.columns <= _MANY else np.float32
        sums = totals or [1.0] * len(relations)
        self._shares = [total / max(relation.size, 1) for relation, total in zip(relations, sums, strict=True)]
        self._cached: dict[int, Weights] = {}

    def over(self, function: Callable[[slice, Weights], Result]) -> list[Result]:
        """Return the results of a function of a slice of rows and the weights of their pairs, (rows, m), for each
        block, in threads."""
        size = max(_PAIRS_AT_ONCE, _ROWS_AT_ONCE * self.columns)
        return over(list(slices(self.rows, self.columns, size)), lambda rows: function(rows, self._weights(rows)))

    def pull(self, other: Rows) -> Pull:
        """Return the attraction that the repelled pairs would have, for the (m, D) embeddings of the other views."""
        columns = np.column_stack([other, np.square(other).sum(axis=1), np.ones(len(other))]).astype(self.dtype)
        sums = np.vstack(self.over(lambda _, weights: weights @ columns)).astype(np.float64)
        return Pull(sums[:, -1], sums[:, :-2], float(sums[:, -2].sum()))

    def _weights(self, rows: slice) -> Weights:
        if (joined := self._cached.get(rows.start)) is not None:
            return joined
        blocks = [relation.block(rows).astype(self.dtype) for relation in self.relations]
        weights = [np.multiply(block, share, out=block) for block, share in zip(blocks, self._shares, strict=True)]
        joined = np.hstack(weights) if len(weights) > 1 else weights[0]
        if self.rows * self.columns <= BLOCK:
            self._cached[rows.start] = joined
        return joined


def sampled(similar: Similarity, generator: np.random.RandomState) -> Relation:
    """Return as many dissimilar pairs as there are similar ones, drawn without replacement, or all if there are
    fewer."""
    rows, columns = similar.shape
    count = similar.size
    if count >= rows * columns - count:
        return Complement(similar)
    places = np.zeros(0, dtype=np.int64)
    while len(places) < count:
        checkpoint()
        drawn = generator.randint(rows * columns, size=2 * count)
        drawn = drawn[~similar.holds(drawn // columns, drawn % columns)]
        places = np.unique(np.concatenate([places, drawn]))
    places = generator.permutation(places)[:count]
    return Listed(sp.csr_array((np.ones(count), (places // columns, places % columns)), shape=similar.shape))


class Repulsion:
    """Half the weighted sum of SCISD over the repelled pairs of rows with fixed (m, D) embeddings.

    Computations on the pairs of a block reuse one buffer while it is in the processor's cache, because the pairs are by
    far the most data, and their transfer to memory takes most of the time.

    Args:
        repelled: the pairs of n rows with m rows.
        other: (m, D) embeddings of the m rows.
        scisd: the loss.
    """

    def __init__(self, repelled: Repelled, other: Rows, scisd: Scisd) -> None:
        self._repelled, self._scisd = repelled, scisd
        ones, squares = np.ones(len(other)), np.square(other).sum(axis=1)
        self._columns = np.vstack([other.T, ones, squares]).astype(repelled.dtype)

    def losses(self, embeddings: Rows, factors: Sequence[float]) -> NDArray[np.float64]:
        """Return the value for (n, D) embeddings, if each of some factors multiplies all embeddings, including the
        fixed ones."""
        lifted = self._lifted(embeddings)

        def of_block(rows: slice, weights: Rows) -> list[float]:
            distance = lifted[rows] @ self._columns
            np.sqrt(np.maximum(distance, 0.0, out=distance), out=distance)
            return [self._scisd.loss(distance, weights, factor) for factor in factors]

        return np.asarray(0.5 * np.sum(self._repelled.over(of_block), axis=0))

    def convex(self, embeddings: Rows) -> tuple[float, Rows]:
        """Return the value of the convex part for (n, D) embeddings, and its gradient, (n, D)."""
        lifted, columns = self._lifted(embeddings), self._columns[:-1].T
        pushed = np.empty((len(embeddings), columns.shape[1]), self._repelled.dtype)

        def of_block(rows: slice, weights: Rows) -> float:
            value, springs = self._scisd.convex(lifted[rows] @ self._columns, weights)
            np.matmul(springs, columns, out=pushed[rows])
            return value

        value = 0.5 * sum(self._repelled.over(of_block))
        return value, 0.5 * (pushed[:, -1:] * embeddings - pushed[:, :-1])

    def _lifted(self, embeddings: Rows) -> NDArray[Any]:
        """Return rows whose product with ``_columns`` is the squared distances to the other rows."""
        squares = np.square(embeddings).sum(axis=1)
        return np.column_stack([-2 * embeddings, squares, np.ones(len(embeddings))]).astype(self._repelled.dtype)
