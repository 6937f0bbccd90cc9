"""The problem of Multi-NPP: rows of several views, their relations, the loss and the current projections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.npp.forces import Pull, Repelled, Repulsion, pull
from crossview.engine.learners.papers.npp.scisd import Scisd
from crossview.engine.learners.papers.npp.similarity import Numbers, Relation, Similarity
from crossview.engine.learners.papers.npp.subproblem import Regularizer, Subproblem
from crossview.engine.learners.subspace.span import Span

Matrix = NDArray[np.float64]


class View(NamedTuple):
    """The rows of one view."""

    span: Span
    """(n_v, d_v) rows, centred and of unit mean square."""
    items: Numbers
    """(n_v,) numbers of the items of the rows."""
    scale: float
    """The number by which the centred rows were divided."""

    @property
    def rows(self) -> Rows:
        """The (n_v, r_v) coordinates of the rows in their span, or the rows themselves without a basis."""
        return self.span.rows


class PairRelations(NamedTuple):
    """The pairs of rows of two views that attract or repel each other; other pairs do neither."""

    attracted: Similarity
    """Similar pairs, which attract each other."""
    repelled: Relation
    """Dissimilar pairs, which repel each other."""
    attraction: float = 1.0
    """The sum of the weights of the similar pairs."""
    repulsion: float = 1.0
    """The sum of the weights of the dissimilar pairs."""

    def transposed(self) -> "PairRelations":
        """Return the pairs seen from the other view."""
        return self._replace(attracted=self.attracted.transposed(), repelled=self.repelled.transposed())

    def cut(self, first: Numbers, second: Numbers) -> "PairRelations":
        """Return the pairs among the given rows, with the same sum of weights."""
        return self._replace(attracted=self.attracted.cut(first, second), repelled=self.repelled.cut(first, second))


@dataclass(kw_only=True)
class Problem:
    """The objective of equation (2) of Quadrianto and Lampert (ICML 2011), summed over all pairs of views, with the
    weights of the pairs."""

    views: Sequence[View]
    relations: Mapping[tuple[int, int], PairRelations]
    """The relations of every ordered pair of views."""
    scisd: Scisd
    penalties: Sequence[Regularizer]
    """The regulariser of each view."""
    weights: list[Matrix]
    """The projections of the coordinates of each view's rows, (D, r_v) each; the solver replaces them."""
    free: Sequence[int]
    """The numbers of the views to learn."""
    _repelled: dict[tuple[int, ...], Repelled] = field(default_factory=dict)

    def embeddings(self, view: int) -> Rows:
        """Return the (n_v, D) embeddings of a view."""
        return np.asarray(self.views[view].rows @ self.weights[view].T)

    def objective(self) -> float:
        """Return the value of the objective with regularisation, over all pairs, including those of two frozen
        views."""
        return self.loss() + sum(penalty.value(W) for penalty, W in zip(self.penalties, self.weights, strict=True))

    def loss(self) -> float:
        """Return the value of the objective without its regularisation."""
        return float(self.losses([1.0])[0])

    def losses(self, factors: Sequence[float]) -> NDArray[np.float64]:
        """Return the loss if each of some factors multiplies all embeddings."""
        embedded = [self.embeddings(view) for view in range(len(self.views))]
        total = np.zeros(len(factors))
        for view in range(len(self.views) - 1):
            later = range(view + 1, len(self.views))
            relations = [self.relations[view, w] for w in later]
            attracting = _pull(relations, embedded[view + 1 :])
            total += np.square(factors) * attracting.value(embedded[view])
            repulsion = Repulsion(self._pairs(view, later), np.vstack(embedded[view + 1 :]), self.scisd)
            total += repulsion.losses(embedded[view], factors)
        return total

    def distance(self) -> float:
        """Return the mean over pairs of views of the root mean square distance of their repelled pairs."""
        embedded = [self.embeddings(view) for view in range(len(self.views))]
        pairs = [(v, w) for v, w in self.relations if v < w]
        pulls = [self._pairs(v, [w]).pull(embedded[w]) for v, w in pairs]
        squared = [
            2 * attraction.value(embedded[v]) / max(float(attraction.weights.sum()), np.finfo(np.float64).tiny)
            for attraction, (v, _) in zip(pulls, pairs, strict=True)
        ]
        return float(np.mean(np.sqrt(np.maximum(squared, 0.0))))

    def bound(self, view: int) -> Subproblem:
        """Return the convex bound of the objective in one view's projection, over all pairs."""
        views = [other for other in range(len(self.views)) if other != view]
        embedded = [self.embeddings(other) for other in views]
        attracting = _pull([self.relations[view, other] for other in views], embedded)
        repelled = self._pairs(view, views)
        return self._bound(view, self.views[view].rows, attracting, embedded, repelled)

    def sampled_bound(self, view: int, rows: int, columns: int, generator: np.random.RandomState) -> Subproblem:
        """Return the bound over ``rows`` drawn rows of the view, with all rows that attract them and a sample of those
        that repel them.

        Args:
            columns: number of rows of each other view to repel the drawn rows.
        """
        numbers = draw_rows(len(self.views[view].rows), rows, generator)
        views = [other for other in range(len(self.views)) if other != view]
        embedded = [self.embeddings(other) for other in views]
        relations = [self.relations[view, other] for other in views]
        near = [
            pairs._replace(attracted=pairs.attracted.cut(numbers, np.arange(len(z))))
            for pairs, z in zip(relations, embedded, strict=True)
        ]
        drawn = [draw_rows(len(z), columns, generator) for z in embedded]
        cuts = [pairs.repelled.cut(numbers, d) for pairs, d in zip(relations, drawn, strict=True)]
        repelled = Repelled(cuts, [pairs.repulsion for pairs in relations])
        partners = [z[d] for z, d in zip(embedded, drawn, strict=True)]
        return self._bound(view, self.views[view].rows[numbers], _pull(near, embedded), partners, repelled)

    def sample(self, rows: int, generator: np.random.RandomState) -> "Problem":
        """Return the problem on at most ``rows`` rows of each view. It shares the list of projections, so it sees their
        changes."""
        numbers = [draw_rows(len(view.rows), rows, generator) for view in self.views]
        views = [View(v.span.take(r), v.items[r], v.scale) for v, r in zip(self.views, numbers, strict=True)]
        relations = {(v, w): pairs.cut(numbers[v], numbers[w]) for (v, w), pairs in self.relations.items()}
        return replace(self, views=views, relations=relations, _repelled={})

    def _pairs(self, view: int, views: Sequence[int]) -> Repelled:
        key = (view, *views)
        if key not in self._repelled:
            relations = [self.relations[view, other] for other in views]
            self._repelled[key] = Repelled([p.repelled for p in relations], [p.repulsion for p in relations])
        return self._repelled[key]

    def _bound(
        self, view: int, rows: Rows, attracting: Pull, partners: Sequence[Rows], repelled: Repelled
    ) -> Subproblem:
        penalty, start, width = self.penalties[view], self.weights[view], self.views[view].span.width
        return Subproblem(rows, attracting, np.vstack(partners), repelled, self.scisd, penalty, start, width)


def _pull(relations: Sequence[PairRelations], embeddings: Sequence[Rows]) -> Pull:
    """Return the attraction of the rows of a view to the embeddings of other views."""
    return pull([pair.attracted for pair in relations], embeddings, [pair.attraction for pair in relations])


def draw_rows(count: int, size: int, generator: np.random.RandomState) -> Numbers:
    """Return the numbers of ``size`` of ``count`` rows, drawn without replacement, in ascending order; all if there
    are fewer."""
    if size >= count:
        return np.arange(count)
    return np.sort(generator.choice(count, size, replace=False))
