"""Tuples of rows drawn from classes, anywhere in them or near each other, or from nearest neighbours."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from crossview.engine.learners.base import Rows
from crossview.engine.runtime.cancellation import checkpoint

Items = NDArray[np.int64]
TUPLE_NAMES = ("pairs", "triplets", "quadruplets")


class Sampler(ABC):
    """Draws tuples of rows; a subclass names the rows that may be first, and draws rows like and unlike them."""

    _anchors: Items

    def draw(self, kind: str, count: int, generator: np.random.Generator) -> tuple[Items, NDArray[np.bool_]]:
        """Draws tuples.

        Args:
            kind: "triplets" (i, j, k) and "quadruplets" (i, j, k, l), with i and j alike and the last pair, (i, k) or
                (k, l), not; or "pairs", the first half, rounded up, alike and the rest not.
            count: how many, at least 1.
            generator: what draws.

        Returns:
            (count, t) positions, and (count,) whether each tuple's first pair is alike.

        Raises:
            ValueError: for an unknown kind or a count below 1.
        """
        if kind not in TUPLE_NAMES:
            raise ValueError(f"constraints={kind!r} are unknown; use one of: {', '.join(TUPLE_NAMES)}")
        if count < 1:
            raise ValueError(f"{count} constraints are too few to learn from; draw at least 1")
        first = generator.choice(self._anchors, count)
        alike = np.ones(count, dtype=bool)
        if kind == "pairs":
            alike[(count + 1) // 2 :] = False
            second = np.where(alike, self._companions(first, generator), self._opposites(first, generator))
            return np.column_stack([first, second]), alike
        second = self._companions(first, generator)
        if kind == "triplets":
            return np.column_stack([first, second, self._opposites(first, generator)]), alike
        third = generator.choice(self._anchors, count)
        return np.column_stack([first, second, third, self._opposites(third, generator)]), alike

    @abstractmethod
    def _companions(self, rows: Items, generator: np.random.Generator) -> Items:
        """For each row another one that is like it."""

    @abstractmethod
    def _opposites(self, rows: Items, generator: np.random.Generator) -> Items:
        """For each row one that is not."""


class ClassSampler(Sampler):
    """Rows are alike that are of one class; rows alone in theirs are only drawn as others.

    Args:
        labels: (n,) classes.
        rows: (n, d), where ``neighbors`` is given.
        neighbors: draw a row's companions only among so many nearest of its class, and its opposites among so many
            nearest of other classes; None: among all.

    Raises:
        ValueError: if no class has two rows or there is only one class, or for fewer than one neighbour.
    """

    def __init__(self, labels: NDArray[np.int64], rows: Rows | None = None, neighbors: int | None = None) -> None:
        codes, counts = comparable_classes(labels)
        if neighbors is not None and (neighbors < 1 or rows is None):
            raise ValueError(f"neighbors={neighbors} must be at least 1, or None")
        self._order = np.argsort(codes, kind="stable")
        self._place = np.empty(len(codes), np.int64)
        self._place[self._order] = np.arange(len(codes))
        self._starts = (np.cumsum(counts) - counts)[codes]
        self._counts = counts[codes]
        self._anchors = np.flatnonzero(self._counts > 1)
        self._near = None if neighbors is None or rows is None else _tables(rows, codes, neighbors)

    def _companions(self, rows: Items, generator: np.random.Generator) -> Items:
        if self._near is not None:
            return _picked(self._near[0], rows, generator)
        start, count = self._starts[rows], self._counts[rows]
        shift = generator.integers(1, count)
        return np.asarray(self._order[start + (self._place[rows] - start + shift) % count])

    def _opposites(self, rows: Items, generator: np.random.Generator) -> Items:
        if self._near is not None:
            return _picked(self._near[1], rows, generator)
        total, count = len(self._order), self._counts[rows]
        shift = generator.integers(0, total - count)
        return np.asarray(self._order[(self._starts[rows] + count + shift) % total])


class NearestSampler(Sampler):
    """Rows are alike that are among a row's nearest, and not those beyond.

    Args:
        rows: (n, d), Euclidean.
        neighbors: how many are near a row.

    Raises:
        ValueError: for fewer than one neighbour, or so many that no row is left beyond.
    """

    def __init__(self, rows: Rows, neighbors: int) -> None:
        if not 1 <= neighbors < len(rows) - 1:
            raise ValueError(f"neighbors={neighbors} must be at least 1, and below {len(rows) - 1} among these rows")
        self._anchors = np.arange(len(rows))
        self._near = NearestNeighbors(n_neighbors=neighbors).fit(rows).kneighbors(return_distance=False)
        self._beyond = len(rows) - neighbors - 1
        self._left_out = np.sort(np.column_stack([self._anchors, self._near]), axis=1)

    def _companions(self, rows: Items, generator: np.random.Generator) -> Items:
        return np.asarray(self._near[rows, generator.integers(0, self._near.shape[1], len(rows))])

    def _opposites(self, rows: Items, generator: np.random.Generator) -> Items:
        found: Items = generator.integers(0, self._beyond, len(rows))
        for left_out in self._left_out[rows].T:  # ascending, so that each makes room for what was counted without it
            found += found >= left_out
        return found


def comparable_classes(labels: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the class of each row, (n,) from 0, and the number of rows of each class.

    Raises:
        ValueError: if no class has two rows or there is only one class.
    """
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2 or counts.max() < 2:
        raise ValueError(
            f"the labels have {len(counts)} classes of at most {counts.max()} rows: comparisons need at least 2 "
            "classes, one of them with 2 rows"
        )
    return codes, counts


def _tables(rows: Rows, codes: NDArray[np.intp], neighbors: int) -> tuple[Items, Items]:
    """For each row the nearest of its class and of others, (n, k) each; -1 where there are fewer than k."""
    near = np.full((2, len(rows), neighbors), -1, dtype=np.int64)
    for code in np.unique(codes):
        checkpoint()
        inside, outside = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        if len(inside) > 1:
            count = min(neighbors, len(inside) - 1)
            search = NearestNeighbors(n_neighbors=count).fit(rows[inside])
            near[0, inside, :count] = inside[search.kneighbors(return_distance=False)]
        count = min(neighbors, len(outside))
        search = NearestNeighbors(n_neighbors=count).fit(rows[outside])
        near[1, inside, :count] = outside[search.kneighbors(rows[inside], return_distance=False)]
    return near[0], near[1]


def _picked(table: Items, rows: Items, generator: np.random.Generator) -> Items:
    return np.asarray(table[rows, generator.integers(0, (table[rows] >= 0).sum(axis=1))])
