"""Scores of an attribute space: their unit, bounds on them, the order by them, and moves of queries along axes.

An axis is a named column of the vectors, one for each relative attribute. The unit of scores, amounts and distances
is the standard deviation of the training items, from their mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from crossview.engine.catalog.words import COMPARED
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.target import Near
from crossview.engine.values.conditions.tree import All, Condition, Either, FieldTest, Not, Visitor
from crossview.engine.values.errors import Argument, InvalidInputError, NotFoundError, call
from crossview.engine.values.query import SearchRequest
from crossview.engine.values.strategy import EVERY_AXIS, Moved
from crossview.index.base import Ids, Index, Selection

Scores = NDArray[np.float64]
"""(n, D), one row for each item or query."""
IdsOf = Callable[[Condition], Ids]
"""A function that returns the items that fulfil a condition on stored columns."""


@dataclass(frozen=True, eq=False)
class ScoreScale:
    """The distribution of the vectors of one view's training items."""

    mean: NDArray[np.float64]
    """(D,)"""
    covariance: NDArray[np.float64]
    """(D, D)"""

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Self:
        """Return the scale of the training items' vectors, (n, D)."""
        columns = vectors.astype(np.float64)
        return cls(columns.mean(axis=0), np.atleast_2d(np.cov(columns, rowvar=False, bias=True)))

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of each column, (D,); 1 where a column is constant."""
        deviations = np.sqrt(np.diag(self.covariance))
        return np.where(deviations > 0, deviations, 1.0)

    def scores(self, vectors: NDArray[Any]) -> Scores:
        """Return the scores of vectors, (n, D)."""
        return np.asarray((vectors - self.mean) / self.deviations)

    def moved(self, scores: Scores, amounts: Mapping[int, float], held: Sequence[int] = ()) -> Scores:
        """Return scores, (n, D), moved by amounts on some columns, and by 0 on the held columns.

        The other columns move to their expected values: the conditional mean, given these moves, of a Gaussian
        distribution with the covariance of the training items.
        """
        correlation = self.covariance / np.outer(self.deviations, self.deviations)
        columns = [*amounts, *held]
        step = np.array([*amounts.values(), *(0.0 for _ in held)])
        along = correlation[:, columns] @ np.linalg.pinv(correlation[np.ix_(columns, columns)], hermitian=True) @ step
        along[columns] = step  # equal columns with different amounts have no common mean, so set each exactly
        return np.asarray(scores + along)


class ScoredItems(NamedTuple):
    """Items of one target with their scores."""

    ids: Ids
    """(n,), ascending."""
    columns: NDArray[np.float64]
    """(D, n): columns are contiguous, because a search reads one column after another."""

    @classmethod
    def of(cls, index: Index, scale: ScoreScale, only: Selection | None) -> Self:
        """Return the items of an index that ``only`` selects; the scores of all items are kept with the index."""
        entry = _known.get(index)
        if entry is None or entry[0] is not scale:
            ids = index.ids()
            entry = _known[index] = scale, cls(ids, np.ascontiguousarray(scale.scores(index.get(ids)).T))
        every = entry[1]
        if only is None:
            return cls(*every)
        at = np.searchsorted(every.ids, only.ids)
        at = at[np.take(every.ids, at, mode="clip") == only.ids] if len(every.ids) else at[:0]
        return cls(every.ids[at], every.columns[:, at])

    def nearest(self, points: Scores, own: Sequence[int | None], k: int) -> list[Near]:
        """Return the k nearest items of each point, (q, D), except its own; equal distances in the order of ids."""
        lists = []
        for point, item in zip(points, own, strict=True):
            checkpoint()
            squares = np.zeros(len(self.ids))
            for column, value in zip(self.columns, point, strict=True):
                squares += np.square(column - value)
            if item is not None:
                squares[self.ids == item] = np.inf
            order = _first(squares, k)
            order = order[squares[order] < np.inf]
            lists.append(Near(self.ids[order], np.sqrt(squares[order])))
        return lists

    def first(self, column: int, sign: int, k: int) -> Near:
        """Return the k items with the greatest scores on a column, or the least for sign -1; their distances are 0."""
        order = _first(-sign * self.columns[column], k)
        return Near(self.ids[order], np.zeros(len(order)))


_known: WeakKeyDictionary[Index, tuple[ScoreScale, ScoredItems]] = WeakKeyDictionary()
"""The scored items of each index, kept as long as the index: computing them takes longer than a search."""


def _first(values: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Return the positions of the k least values, (n,), in ascending order; equal values in the order of positions."""
    if len(values) > k:
        bound = np.partition(values, k - 1)[k - 1]
        some = np.flatnonzero(values <= bound)
        return some[np.argsort(values[some], kind="stable")[:k]]
    return np.argsort(values, kind="stable")


class Axes(NamedTuple):
    """The axes of one target."""

    names: tuple[str, ...]
    scale: ScoreScale

    def passing(self, condition: Condition, index: Index, only: Selection | None, ids_of: IdsOf) -> Selection:
        """Return the selection of an index's items that fulfil a condition, among those that ``only`` selects.

        ``ids_of`` returns the items that fulfil a condition on stored columns.
        """
        items = ScoredItems.of(index, self.scale, only)
        return index.selection(items.ids[condition.accept(_Mask(self.names, items, ids_of))])

    def nearest(
        self,
        moved: Moved,
        index: Index,
        vectors: NDArray[Any],
        own: Sequence[int | None],
        k: int,
        only: Selection | None,
    ) -> list[Near]:
        """Return the k nearest items of each query, moved along axes; ``vectors`` are (q, D)."""
        amounts = {self.names.index(name): amount for name, amount in moved.amounts.items()}
        held = [at for at, name in enumerate(self.names) if name in moved.hold or EVERY_AXIS in moved.hold]
        points = self.scale.moved(self.scale.scores(vectors), amounts, [at for at in held if at not in amounts])
        return ScoredItems.of(index, self.scale, only).nearest(points, own, k)

    def first(self, sort_by: str, index: Index, k: int, only: Selection | None) -> Near:
        """Return the first k items of an index by score."""
        name, sign = order_of(sort_by)
        return ScoredItems.of(index, self.scale, only).first(self.names.index(name), sign, k)

    def scores_of(self, index: Index, ids: Ids) -> Scores:
        """Return the scores of items of an index, (n, axes), by the sorted names of the axes."""
        names = sorted(range(len(self.names)), key=self.names.__getitem__)
        return self.scale.scores(index.get(ids))[:, names]


class _Mask(Visitor[NDArray[np.bool_]]):
    """A visitor that returns which of the items fulfil a condition, (n,)."""

    def __init__(self, names: tuple[str, ...], items: ScoredItems, ids_of: IdsOf) -> None:
        self._names, self._items, self._ids_of = names, items, ids_of

    def every(self, condition: All) -> NDArray[np.bool_]:
        masks = [part.accept(self) for part in condition.parts]
        return np.asarray(np.logical_and.reduce(masks))

    def either(self, condition: Either) -> NDArray[np.bool_]:
        masks = [part.accept(self) for part in condition.parts]
        return np.asarray(np.logical_or.reduce(masks))

    def negated(self, condition: Not) -> NDArray[np.bool_]:
        return ~condition.part.accept(self)

    def test(self, condition: FieldTest) -> NDArray[np.bool_]:
        if condition.field.kind != "score":  # the catalog decides
            return np.isin(self._items.ids, self._ids_of(condition))
        column = self._items.columns[self._names.index(condition.field.path[0])]
        return COMPARED[condition.operator](column, condition.values[0])


def order_of(sort_by: str) -> tuple[str, int]:
    """Return the axis of a sort order, and 1 for the greatest score first or -1 for the least."""
    return (sort_by[1:], -1) if sort_by.startswith("-") else (sort_by, 1)


def check_axes(names: Sequence[str], space: str, request: SearchRequest) -> None:
    """Raise NotFoundError if a request names an axis that a space lacks, InvalidInputError if the space has none.

    Hits, but not a list of items, can also have the order of a field of items.
    """
    order = order_of(request.strategy.sort_by)[0]
    of_items = {order} if order and not request.strategy.lists_items else set()
    axes = [name for name in request.axes if name in names or name not in of_items]
    if request.strategy.lists_items and order not in names:
        raise InvalidInputError(
            f"space {space!r} has no scores of {order!r}: to list items by an attribute, use ",
            call("collection.items", sort_by=order),
            "; to sort hits, give a query",
        )
    if axes and not names:
        raise InvalidInputError(
            f"space {space!r} has no named attributes, so it cannot use {axes[0]!r}: train a space with ",
            Argument("spec", "attributes"),
            " and orderings of the classes",
        )
    if unknown := [name for name in axes if name not in names]:
        raise NotFoundError(f"space {space!r} has no attribute {unknown[0]!r}; there are: {', '.join(names)}")
