"""Search by examples and counter-examples: one score for every item of a target, from all of them.

The scores of a target have mean 0 and deviation 1 over its items, so that scores in several targets add up.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.target import Target
from crossview.index.base import Ids, Index

Floats = NDArray[np.float64]
BACKGROUND = 200
"""Number of items that stand for all others when a classifier learns."""
_COST = 10.0
"""Inverse strength of the penalty of the classifier, for vectors of root mean square length 1."""
_COUNTER_SHARE = 0.1
"""Weight of the counter-examples; that of the examples is a half, and that of the background the rest."""
_AWAY = 1.0
"""How far the mean of the examples moves away from that of the counter-examples, in multiples of their difference."""


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples and counter-examples of one question in a target."""

    vectors: Floats
    """(n, D)"""
    weights: Floats
    """(n,), negative for counter-examples; at least one is positive."""

    @property
    def liked(self) -> NDArray[np.bool_]:
        """Which are examples, (n,)."""
        return self.weights > 0

    def mean(self, liked: bool) -> Floats:
        """Return the weighted mean of the examples, or of the counter-examples."""
        mask = self.liked == liked
        mean: Floats = np.average(self.vectors[mask], axis=0, weights=np.abs(self.weights[mask]))
        return mean

    @property
    def point(self) -> Floats:
        """The mean of the examples, moved away from the counter-examples (Rocchio, 1971)."""
        mean = self.mean(True)
        return mean if self.liked.all() else mean + _AWAY * (mean - self.mean(False))


def as_numbers(target: Target, vectors: NDArray[Any]) -> NDArray[Any]:
    """Return vectors or codes of a target as numbers, (n, D): a bit is 1 or -1."""
    if not target.codes:
        return vectors
    bits = np.unpackbits(vectors[:, : target.code_bytes], axis=1, count=target.dim)
    return bits.astype(np.float32) * 2 - 1


class Items:
    """The items of a target, as rows of numbers."""

    def __init__(self, target: Target, index: Index) -> None:
        self._target, self._index = target, index
        self.ids: Ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in index.blocks())])
        """In the order of ``products``, (n,)."""

    def as_numbers(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return vectors or codes of the target as numbers, (n, D)."""
        return as_numbers(self._target, vectors)

    def sample(self, seed: int = 0) -> Floats:
        """Return the vectors of some items, the same for the same items."""
        drawn = np.random.default_rng(seed).permutation(len(self.ids))[:BACKGROUND]
        return self.as_numbers(self._index.get(self.ids[np.sort(drawn)])).astype(np.float64)

    def products(self, columns: Floats) -> tuple[Floats, Floats]:
        """Return inner products with columns, (D, c), and squared lengths: (n, c) and (n,)."""
        single = columns.astype(np.float32)
        products, squares = list[NDArray[Any]](), list[NDArray[Any]]()
        for rows in self._blocks():
            products.append(rows @ single)
            squares.append(np.einsum("nd,nd->n", rows, rows))
        return np.concatenate(products).astype(np.float64), np.concatenate(squares).astype(np.float64)

    def distances(self, points: Floats) -> Floats:
        """Return the distances to points, (p, D): (n, p)."""
        products, squares = self.products(points.T)
        gaps = squares[:, None] - 2 * products + np.einsum("pd,pd->p", points, points)
        distances: Floats = np.sqrt(np.maximum(gaps, 0))
        return distances

    def _blocks(self) -> Iterator[NDArray[Any]]:
        for _, rows in self._index.blocks():
            checkpoint()
            yield self.as_numbers(rows)


def _mean(items: Items, examples: Examples) -> Floats:
    """Score by the distance to the mean of the examples, moved away from the counter-examples."""
    return -items.distances(examples.point[None])[:, 0]


def _best(items: Items, examples: Examples) -> Floats:
    """Score by the nearest example; an item that is nearer to a counter-example comes after all others."""
    distances = items.distances(examples.vectors)
    nearest: Floats = distances[:, examples.liked].min(axis=1)
    if examples.liked.all():
        return -nearest
    against = distances[:, ~examples.liked].min(axis=1)
    return np.where(nearest <= against, -nearest, -nearest - distances.max())


def _context(items: Items, examples: Examples) -> Floats:
    """Score by the pairs of an example and a counter-example: each takes as much as the counter-example is nearer.

    If no pair takes anything, the mean distance to the examples decides.
    """
    distances = items.distances(examples.vectors)
    near: Floats = distances[:, examples.liked].mean(axis=1)
    if examples.liked.all():
        return -near
    gaps = distances[:, ~examples.liked][:, None, :] - distances[:, examples.liked][:, :, None]
    penalty: Floats = np.minimum(gaps, 0).mean(axis=(1, 2))
    return penalty - 1e-3 * near


def _learn(items: Items, examples: Examples) -> Floats:
    """Score by a logistic regression of the examples against counter-examples and a sample of all items, and by the
    distance to the moved mean, in equal parts."""
    background = items.sample()
    scale = np.sqrt(np.mean(np.vecdot(background, background))) or 1.0
    counted = len(examples.weights) + len(background)
    liked, against = examples.liked, -np.minimum(examples.weights, 0)
    shares = np.concatenate(
        [
            0.5 * examples.weights * liked / examples.weights[liked].sum()
            + _COUNTER_SHARE * against / max(against.sum(), 1e-12),
            np.full(len(background), (0.5 - _COUNTER_SHARE * (not liked.all())) / max(len(background), 1)),
        ]
    )
    answers = np.concatenate([liked, np.zeros(len(background), bool)])
    model = LogisticRegression(C=_COST, max_iter=300)
    model.fit(np.concatenate([examples.vectors, background]) / scale, answers, shares * counted)
    point = examples.point
    products, squares = items.products(np.stack([model.coef_[0], point], axis=1))
    distances = np.sqrt(np.maximum(squares - 2 * products[:, 1] + point @ point, 0))
    return standard(products[:, 0]) + standard(-distances)


STRATEGIES: Mapping[str, Callable[[Items, Examples], Floats]] = {
    "learn": _learn,
    "mean": _mean,
    "best": _best,
    "context": _context,
}


def scored(combine: str, target: Target, index: Index, vectors: NDArray[Any], weights: Floats) -> tuple[Ids, Floats]:
    """Return the items of a target and their scores, (n,), by examples, (e, D), and their weights, (e,)."""
    items = Items(target, index)
    if not len(items.ids):
        return items.ids, np.empty(0)
    examples = Examples(items.as_numbers(vectors).astype(np.float64), weights)
    return items.ids, standard(STRATEGIES[combine](items, examples))


def standard(scores: Floats) -> Floats:
    """Return scores with mean 0 and deviation 1; 0 if they are all equal."""
    deviation = float(scores.std())
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros_like(scores)
