"""What pushes the embeddings of one view's rows away from those of others, block by block of pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.npp.pairs import Repelled
from crossview.engine.learners.npp.scisd import Scisd
from crossview.engine.learners.view_rows import Rows


class Repulsion:
    """Half the weighted sum of SCISD over the repelled pairs of rows with (m, D) embeddings that stay.

    Every number of a pair is made in place of the one before it while its block is in the processor's cache: there are
    far more pairs than anything else, and what they cost is their way to memory.

    Args:
        repelled: the pairs, n rows with m.
        other: (m, D) embeddings of the m rows.
        scisd: the loss.
    """

    def __init__(self, repelled: Repelled, other: Rows, scisd: Scisd) -> None:
        self._repelled, self._scisd = repelled, scisd
        ones, squares = np.ones(len(other)), np.square(other).sum(axis=1)
        self._columns = np.vstack([other.T, ones, squares]).astype(repelled.dtype)

    def losses(self, embeddings: Rows, factors: Sequence[float]) -> NDArray[np.float64]:
        """Return the value for (n, D) embeddings, all of them and of the others times each of some factors."""
        lifted = self._lifted(embeddings)

        def of_block(rows: slice, weights: Rows) -> list[float]:
            distance = lifted[rows] @ self._columns
            np.sqrt(np.maximum(distance, 0.0, out=distance), out=distance)
            return [self._scisd.loss(distance, weights, factor) for factor in factors]

        return np.asarray(0.5 * np.sum(self._repelled.over(of_block), axis=0))

    def convex(self, embeddings: Rows) -> tuple[float, Rows]:
        """Return the value of the convex part for (n, D) embeddings, and its gradient, (n, D)."""
        lifted, others = self._lifted(embeddings), self._columns[:-1].T
        pushed = np.empty((len(embeddings), others.shape[1]), self._repelled.dtype)

        def of_block(rows: slice, weights: Rows) -> float:
            value, springs = self._scisd.convex(lifted[rows] @ self._columns, weights)
            np.matmul(springs, others, out=pushed[rows])
            return value

        value = 0.5 * sum(self._repelled.over(of_block))
        return value, 0.5 * (pushed[:, -1:] * embeddings - pushed[:, :-1])

    def _lifted(self, embeddings: Rows) -> NDArray[Any]:
        """Return what makes squared distances by one product with the columns of the others."""
        squares = np.square(embeddings).sum(axis=1)
        return np.column_stack([-2 * embeddings, squares, np.ones(len(embeddings))]).astype(self._repelled.dtype)
