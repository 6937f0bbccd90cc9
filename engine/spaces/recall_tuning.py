"""Measuring the recall of an approximate index, by stored items as queries of each view that can search it."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.space import Space, Vectors
from crossview.engine.spaces.target import Target
from crossview.engine.values.index_choice import Curve, IndexChoice, MeasuredRecall, Point
from crossview.index.base import Index, Neighbors, Selection

_QUERIES = 300
"""Number of queries by which recall is measured; as many others confirm it."""
_DRAWN = 4
"""Items to draw for each query, so that enough of them were not learned from."""
_K = (10, 100)
_SHARES = (0.5, 0.1, 0.02)
_FILTERED = 100
"""Number of queries by which recall under filters is measured."""
_ENOUGH = 0.9995
"""Recall from which on greater efforts are not tried."""
_TIMES = 2
"""Number of such efforts in a row, so that not one lucky effort decides."""
ROUNDING = 1e-5
"""Relative difference up to which distances are equal: an item as near as the k-th nearest counts as found."""


def with_recall(tx: Transaction, space: Space, target: Target, index: Index, choice: IndexChoice) -> IndexChoice:
    """Return a choice with the measured recall of its index for queries of each view.

    Queries are items drawn by chance that the space did not learn from, if there are enough, and their own place in the
    target does not count. Distances decide, so that one of several equally near items is as good as another.
    """
    if not index.efforts(_K[0]):
        return choice
    views = space.views if space.cross_view else (target.view,)
    measured = tuple(_measured(tx, space, view, target, index, choice.recall) for view in views)
    return replace(choice, measured=tuple(one for one in measured if one is not None), items=len(index))


def _measured(
    tx: Transaction, space: Space, view: str, target: Target, index: Index, recall: float
) -> MeasuredRecall | None:
    """Return the recall of queries of a view; None if no item has it."""
    rng = np.random.default_rng(0)
    items, vectors = _queries(tx, space, view, target, rng)
    if not len(items):
        return None
    half = max(1, len(items) // 2)
    asked, others = _Asked(index, items[:half], vectors[:half]), _Asked(index, items[half:], vectors[half:])
    curves = [asked.curve(k) for k in _K]
    few = _Asked(index, items[:_FILTERED], vectors[:_FILTERED])
    ids = index.ids()
    for share in _SHARES:
        some = index.selection(ids[rng.random(len(ids)) < share])
        curves.append(few.curve(_K[0], share, some))
    along = _along_a_direction(index, rng)
    for share in _SHARES:
        some = index.selection(along[: max(1, int(share * len(along)))])
        curves.append(replace(few.curve(_K[0], share, some), correlated=True))
    found = MeasuredRecall(view=view, queries=half, curves=tuple(curves))
    effort = found.effort(_K[0], 1.0, recall)
    confirmed = others.recall(_K[0], effort).recall if effort and len(others.items) else 1.0
    return MeasuredRecall(view=view, queries=half, curves=tuple(curves), confirmed=confirmed)


def _along_a_direction(index: Index, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the ids of an index by their position on the line through two of its vectors.

    The first of them are a filter that depends on the vectors, as the condition on a class or a colour does.
    """
    first, second = index.get(rng.choice(index.ids(), 2, replace=False))
    blocks = [(ids, vectors @ (second - first)) for ids, vectors in index.blocks()]
    order = np.argsort(np.concatenate([positions for _, positions in blocks]))
    found: NDArray[np.int64] = np.concatenate([ids for ids, _ in blocks])[order]
    return found


def _queries(
    tx: Transaction, space: Space, view: str, target: Target, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Vectors]:
    """Return items with a row of a view, those that the space did not learn from first, and their vectors as queries.

    The order is by chance, so that each half is like the other.
    """
    record = joined_view(tx, view)
    ids = record.ids(tx)
    drawn = rng.choice(ids, min(len(ids), _DRAWN * 2 * _QUERIES), replace=False)
    keys = tx.items.each("key", drawn.tolist())
    learned = {item for item, key in keys if key in space.training_keys}
    fresh = drawn[~np.isin(drawn, np.array(sorted(learned), np.int64))]
    items = fresh if len(fresh) >= _QUERIES else drawn
    found = record.rows(tx, items[: 2 * _QUERIES].tolist())
    order = rng.permutation(len(found.ids))
    if not len(order):
        return found.ids, np.empty((0, target.dim), np.float32)
    vectors = space.probe(view, found.rows, [str(target)])[target]
    return found.ids[order], vectors[order]


class _Asked:
    """Queries of an index, with the items that they are."""

    def __init__(self, index: Index, items: NDArray[np.int64], vectors: Vectors) -> None:
        self.index, self.items, self.vectors = index, items, vectors

    def curve(self, k: int, share: float = 1.0, only: Selection | None = None) -> Curve:
        """Return the recall with rising efforts, until hardly anything is missing."""
        return Curve(k=k, share=share, points=tuple(self._points(k, only)))

    def recall(self, k: int, effort: int, only: Selection | None = None) -> Point:
        """Return the recall of searches for k items with an effort."""
        return self._point(k, effort, only, self._farthest(k, only))

    def _points(self, k: int, only: Selection | None) -> Iterator[Point]:
        farthest = self._farthest(k, only)
        share, full = (1.0 if only is None else len(only.ids) / len(self.index)), 0
        for effort in self.index.efforts(k, share):
            checkpoint()
            point = self._point(k, effort, only, farthest)
            yield point
            full = full + 1 if point.recall >= _ENOUGH else 0
            if full == _TIMES:
                return

    def _farthest(self, k: int, only: Selection | None) -> NDArray[np.float32]:
        """Return the distance of the k-th nearest item of each query but itself, shape (n, 1)."""
        return self._others(self.index.search(self.vectors, k + 1, only), k)[:, -1:]

    def _point(self, k: int, effort: int, only: Selection | None, farthest: NDArray[np.float32]) -> Point:
        found = self._others(self.index.search(self.vectors, k + 1, only, effort), k)
        shares = (found <= farthest * (1 + ROUNDING)).mean(axis=1)
        return Point(effort, float(shares.mean()), float(shares.std() / np.sqrt(len(shares))))

    def _others(self, found: Neighbors, k: int) -> NDArray[np.float32]:
        """Return the distances of the first k found items of each query but itself, (n, k), ascending."""
        distances = np.where(found.ids == self.items[:, None], np.float32(np.inf), found.distances)
        return np.sort(distances, axis=1)[:, :k]
