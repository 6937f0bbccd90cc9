"""Pairs, triplets and quadruplets of rows, drawn from classes or from nearest neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from crossview.engine.learners.frame.supervision import comparable_classes
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint

Items = NDArray[np.int64]
Draw = Callable[[Items, np.random.Generator], Items]
TUPLE_NAMES = ("pairs", "triplets", "quadruplets")


@dataclass(frozen=True, eq=False)
class Likeness:
    """Similarity of rows, in the form of the draws that a sampler of tuples needs.

    It contains functions that draw instead of a table of pairs, because the pairs of a class grow with the square of
    its rows.

    Attributes:
        anchors: the rows that may be first in a tuple: those with a companion.
        companions: function that draws, for each row, another row that is similar.
        opposites: function that draws, for each row, a row that is not similar.
    """

    anchors: Items
    companions: Draw
    opposites: Draw


def draw_tuples(
    likeness: Likeness, kind: str, count: int, generator: np.random.Generator
) -> tuple[Items, NDArray[np.bool_]]:
    """Return drawn tuples of rows.

    Args:
        likeness: the similarity of the rows.
        kind: "triplets" (i, j, k) or "quadruplets" (i, j, k, l), in which i and j are similar and the last pair, (i, k)
            or (k, l), is not; or "pairs", in which the first half, rounded up, is similar and the rest is not.
        count: number of tuples, at least 1.
        generator: generator of the draws.

    Returns:
        (count, t) positions, and (count,) whether each tuple's first pair is similar.

    Raises:
        ValueError: for an unknown kind or a count below 1.
    """
    if kind not in TUPLE_NAMES:
        raise ValueError(f"constraints={kind!r} are unknown; use one of: {', '.join(TUPLE_NAMES)}")
    if count < 1:
        raise ValueError(f"{count} constraints are too few to learn from; draw at least 1")
    first = generator.choice(likeness.anchors, count)
    alike = np.ones(count, dtype=bool)
    if kind == "pairs":
        alike[(count + 1) // 2 :] = False
        second = np.where(alike, likeness.companions(first, generator), likeness.opposites(first, generator))
        return np.column_stack([first, second]), alike
    second = likeness.companions(first, generator)
    if kind == "triplets":
        return np.column_stack([first, second, likeness.opposites(first, generator)]), alike
    third = generator.choice(likeness.anchors, count)
    return np.column_stack([first, second, third, likeness.opposites(third, generator)]), alike


def likeness_by_class(labels: NDArray[Any], rows: Rows | None = None, neighbors: int | None = None) -> Likeness:
    """Return the similarity of rows by their classes: rows of one class are similar. A row alone in its class is only
    an opposite.

    Args:
        labels: (n,) classes.
        rows: (n, d), needed with ``neighbors``.
        neighbors: draw companions only among so many nearest rows of the same class, and opposites among so many
            nearest rows of other classes; None: among all.

    Raises:
        ValueError: if no class has two rows or there is only one class, or for fewer than one neighbour.
    """
    codes, counts = comparable_classes(labels)
    if neighbors is not None and (neighbors < 1 or rows is None):
        raise ValueError(f"neighbors={neighbors} must be at least 1, or None")
    own = counts[codes]
    anchors = np.flatnonzero(own > 1)
    if neighbors is not None and rows is not None:
        inside, outside = _tables(rows, codes, neighbors)
        return Likeness(anchors, partial(_picked, inside), partial(_picked, outside))
    order = np.argsort(codes, kind="stable")  # each class is a run, so a draw needs no list of its members
    place = np.empty(len(codes), np.int64)
    place[order] = np.arange(len(codes))
    starts = (np.cumsum(counts) - counts)[codes]

    def companions(items: Items, generator: np.random.Generator) -> Items:
        start, count = starts[items], own[items]
        shift = generator.integers(1, count)  # a shift below the size of the class never returns to the row itself
        return np.asarray(order[start + (place[items] - start + shift) % count])

    def opposites(items: Items, generator: np.random.Generator) -> Items:
        count = own[items]
        # The shift starts behind the row's class and wraps around, so every row of other classes is equally likely.
        shift = generator.integers(0, len(order) - count)
        return np.asarray(order[(starts[items] + count + shift) % len(order)])

    return Likeness(anchors, companions, opposites)


def likeness_by_nearness(rows: Rows, neighbors: int) -> Likeness:
    """Return the similarity of rows by their distances: a row is similar to its nearest rows, and not to rows beyond
    them.

    Args:
        rows: (n, d), compared by Euclidean distance.
        neighbors: number of rows that are near a row.

    Raises:
        ValueError: for fewer than one neighbour, or so many that no row is beyond them.
    """
    if not 1 <= neighbors < len(rows) - 1:
        raise ValueError(f"neighbors={neighbors} must be at least 1, and below {len(rows) - 1} among these rows")
    anchors = np.arange(len(rows))
    near = NearestNeighbors(n_neighbors=neighbors).fit(rows).kneighbors(return_distance=False)
    excluded = np.sort(np.column_stack([anchors, near]), axis=1)

    def companions(items: Items, generator: np.random.Generator) -> Items:
        return np.asarray(near[items, generator.integers(0, near.shape[1], len(items))])

    def opposites(items: Items, generator: np.random.Generator) -> Items:
        numbers: Items = generator.integers(0, len(rows) - neighbors - 1, len(items))
        for left_out in excluded[items].T:  # ascending: each excluded row shifts the numbers from its own on
            numbers += numbers >= left_out
        return numbers

    return Likeness(anchors, companions, opposites)


def _tables(rows: Rows, codes: NDArray[np.intp], neighbors: int) -> tuple[Items, Items]:
    """Return, for each row, the nearest rows of its class and of other classes, (n, k) each; -1 fills up short
    lists."""
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
