"""What Multi-NPP minimises: rows of several views, which of them are similar, the loss and the current projections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import Rows
from .pairs import Pairs
from .relations import Numbers, Relation, Similarity
from .scisd import Scisd
from .subproblem import Regularizer, loss, squared_distances

Matrix = NDArray[np.float64]


class View(NamedTuple):
    """The rows of one view."""

    rows: Rows
    """(n_v, d_v), centred and of unit mean square."""
    items: Numbers
    """(n_v,) the numbers of their items."""
    scale: float
    """What they were divided by."""


class Kinds(NamedTuple):
    """The pairs of the rows of one view with those of another, by kind; one may be of no kind."""

    similar: Similarity
    attracted: Similarity
    """Those of the similar pairs that are to be near."""
    repelled: Relation
    """Those of the dissimilar pairs that are to be apart."""

    def transposed(self) -> "Kinds":
        """Returns the pairs seen from the other view."""
        return Kinds(self.similar.transposed(), self.attracted.transposed(), self.repelled.transposed())


@dataclass
class Problem:
    """The sum over all pairs of views of equation (2) of Quadrianto and Lampert (ICML 2011), as a mean over pairs."""

    views: Sequence[View]
    kinds: Mapping[tuple[int, int], Kinds]
    """For every ordered pair of views."""
    scisd: Scisd
    penalties: Sequence[Regularizer]
    """One per view."""
    weights: list[Matrix]
    """The projections, (D, d_v) each."""
    free: Sequence[int]
    """The views whose projections are learned."""
    _pairs: dict[tuple[int, ...], Pairs] = field(default_factory=dict)

    def embeddings(self, view: int) -> Rows:
        """Returns the (n_v, D) embeddings of a view."""
        embedded: Rows = self.views[view].rows @ self.weights[view].T
        return embedded

    def others(self, view: int) -> tuple[Pairs, Rows]:
        """Returns a view's pairs with all other views, and these views' embeddings one after another."""
        return self._with(view, [other for other in range(len(self.views)) if other != view])

    def later(self, view: int) -> tuple[Pairs, Rows]:
        """Returns the same for the views after it only, so that all views but the last have every pair once."""
        return self._with(view, range(view + 1, len(self.views)))

    def objective(self) -> float:
        """Returns the objective's value, with regularisation and all pairs, also those of two views that stay."""
        total = sum(penalty.value(W) for penalty, W in zip(self.penalties, self.weights, strict=True))
        for view in range(len(self.views) - 1):
            pairs, embedded = self.later(view)
            total += loss(self.embeddings(view), embedded, pairs, self.scisd)
        return total

    def distance(self, view: int, other: int) -> float:
        """Returns the root mean square distance of the repelled pairs of two views."""
        pairs, embedded = self._with(view, [other])
        first = self.embeddings(view)
        squared = sum(np.vdot(apart, squared_distances(first[rows], embedded)) for rows, _, apart in pairs.blocks())
        return float(np.sqrt(squared))

    def _with(self, view: int, others: Sequence[int]) -> tuple[Pairs, Rows]:
        key = (view, *others)
        if key not in self._pairs:
            self._pairs[key] = Pairs([(self.kinds[view, w].attracted, self.kinds[view, w].repelled) for w in others])
        return self._pairs[key], np.vstack([self.embeddings(other) for other in others])
