"""Ordered pairs of items: the order of an attribute as people state it, and its loss in addition to that of classes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import AnyComparisons
from crossview.engine.learners.papers.attributes.ordering import Ordering
from crossview.engine.learners.papers.attributes.quadruplets import Crossing

Values = NDArray[np.float64]
Places = NDArray[np.int64]


class Local(Protocol):
    """The protocol of a loss near given scores, where it is a quadratic form."""

    @property
    def value(self) -> float:
        """The loss."""

    @property
    def slope(self) -> Values:
        """(n,) its gradient with respect to the scores."""

    def laplacian(self, values: Values) -> Values:
        """Return the (n,) product with half of its Hessian."""


class Loss(Protocol):
    """The protocol of a loss that is a sum over pairs of rows."""

    @property
    def count(self) -> float:
        """The number of pairs, multiplied by their weights."""

    def around(self, scores: Values) -> Local:
        """Return the loss near (n,) scores."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalSum:
    """The loss of pairs near given scores, and that of other pairs of the first rows.

    Attributes:
        value: the loss.
        slope: (n,) its gradient with respect to the scores.
        pairs: (p, 2) rows.
        costs: (p,) weights of the pairs with a loss, 0 for other pairs.
        others: the loss of the other pairs; None without any.
        head: number of first rows that the other pairs refer to.
    """

    value: float
    slope: Values
    pairs: Places
    costs: Values
    others: Local | None
    head: int

    def laplacian(self, values: Values) -> Values:
        """Return the (n,) product with half of the Hessian."""
        product = _spread(self.pairs, self.costs * (values[self.pairs[:, 1]] - values[self.pairs[:, 0]]), len(values))
        if self.others is not None:
            product[: self.head] += self.others.laplacian(values[: self.head])
        return product


@dataclass(frozen=True, eq=False)
class ItemPairs:
    """The sum of weights times [1 - (s_j - s_i)]_+^2 over pairs whose j has more, and of (s_j - s_i)^2 over equal
    pairs.

    Attributes:
        pairs: (p, 2) rows (i, j).
        equal: (p,) whether both have as much; otherwise the second has more.
        weights: (p,) weight of each pair.
        others: the loss of other pairs, of the first ``head`` rows, to add; None without any.
        head: number of first rows that the other pairs refer to.
    """

    pairs: Places
    equal: NDArray[np.bool_]
    weights: Values
    others: Ordering | None = None
    head: int = 0

    @classmethod
    def none(cls) -> "ItemPairs":
        """Return an empty set of pairs."""
        return cls(np.empty((0, 2), np.int64), np.empty(0, bool), np.empty(0))

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def count(self) -> float:
        """The number of pairs, multiplied by their weights."""
        return float(self.weights.sum()) + (0.0 if self.others is None else self.others.count)

    def around(self, scores: Values) -> LocalSum:
        """Return the loss near (n,) scores."""
        lacking = np.where(self.equal, 0.0, 1.0) - (scores[self.pairs[:, 1]] - scores[self.pairs[:, 0]])
        costs = np.where(self.equal | (lacking > 0), self.weights, 0.0)
        others = None if self.others is None else self.others.around(scores[: self.head])
        slope = -2 * _spread(self.pairs, costs * lacking, len(scores))
        if others is not None:
            slope[: self.head] += others.slope
        value = float(costs @ np.square(lacking)) + (0.0 if others is None else others.value)
        return LocalSum(value=value, slope=slope, pairs=self.pairs, costs=costs, others=others, head=self.head)

    def crossings(self) -> list[Crossing]:
        """Return the pairs as constraints on scores, two for each equal pair."""
        lower, equal = self.pairs[~self.equal], self.pairs[self.equal]
        sides = [(lower[:, ::-1], self.weights[~self.equal], 1.0)]
        sides += [(pairs, self.weights[self.equal], 0.0) for pairs in (equal, equal[:, ::-1])]
        return [
            Crossing(near=far[:1, [0, 0]], far=far, weights=weights, margin=margin)
            for far, weights, margin in sides
            if len(far)
        ]


def counted(comparisons: AnyComparisons) -> AnyComparisons:
    """Return the comparisons whose weight is not 0."""
    weights = np.concatenate([np.ones(len(own)) if own.weights is None else own.weights for own in comparisons.sets])
    return comparisons.take(weights != 0)


def pairs_by_attribute(comparisons: AnyComparisons, names: Sequence[str], weight: float) -> list[ItemPairs]:
    """Return the pairs of each attribute.

    Args:
        comparisons: pairs, each in the notion of an attribute: similar items have equal amounts, and otherwise the
            second has more. Pairs without notions are of the only attribute.
        names: names of the attributes; () without names.
        weight: factor of the weight of each pair.

    Raises:
        ValueError: for triplets and quadruplets, and notions that are not attributes.
    """
    if any(own.similar is None for own in comparisons.sets):
        raise ValueError("attributes need pairs of items: use triplets and quadruplets with a learner such as fantope")
    sets = comparisons.sets
    items, similar = (np.concatenate(parts) for parts in zip(*((own.items, own.similar) for own in sets), strict=True))
    weights = np.concatenate([np.ones(len(own)) if own.weights is None else own.weights for own in sets])
    if comparisons.notions is None:
        if len(names) > 1:
            raise ValueError(f"name the attribute of each pair of items as its notion: {', '.join(names)}")
        return [ItemPairs(items, similar.astype(bool), weight * weights)]
    notions = np.concatenate([np.asarray(own.notions).astype(str) for own in sets])
    if unknown := sorted(set(notions.tolist()) - set(names)):
        raise ValueError(f"items are ordered by {unknown[0]!r}; the names of the attributes are: {', '.join(names)}")
    places = [np.flatnonzero(notions == name) for name in names]
    return [ItemPairs(items[of], similar[of].astype(bool), weight * weights[of]) for of in places]


def loss_of(amounts: Values | None, of_items: ItemPairs) -> Loss:
    """Return the loss of an attribute.

    Args:
        amounts: (n,) amounts of the attribute of the first rows, by their classes; None if classes have no order.
        of_items: pairs of all rows.
    """
    if amounts is None:
        return of_items
    return Ordering(amounts) if not of_items else replace(of_items, others=Ordering(amounts), head=len(amounts))


def _spread(pairs: Places, along: Values, count: int) -> Values:
    """Return the (n,) sums over pairs; each pair adds to its second row and subtracts from its first."""
    return np.asarray(np.bincount(pairs[:, 1], along, count) - np.bincount(pairs[:, 0], along, count))
