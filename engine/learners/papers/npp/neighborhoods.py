"""Neighbourhoods: the pairs of rows of different views that attract and that repel each other, from similar items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from crossview.engine.learners.frame.settings import Count, OneView
from crossview.engine.learners.frame.view_rows import Mask, Rows, slices
from crossview.engine.learners.papers.npp.forces import sampled
from crossview.engine.learners.papers.npp.problem import PairRelations
from crossview.engine.learners.papers.npp.similarity import Complement, Listed, Numbers, Relation, Similarity


def nearest_items(rows: Rows, present: Mask, k: int) -> Listed:
    """Return the pairs of each item with itself and with its k nearest neighbours; an item without a row is paired only
    with itself.

    Args:
        rows: (n, d) rows, compared by Euclidean distance.
        present: (n,) whether each item has a row.
        k: number of neighbours, at least 1; at most all other items count.
    """
    items = np.flatnonzero(present)
    near = kneighbors_graph(rows[items], min(k, max(len(items) - 1, 0)), include_self=False).tocoo()
    everyone = np.arange(len(present))
    first, second = np.append(items[near.row], everyone), np.append(items[near.col], everyone)
    return Listed(sp.csr_array((np.ones(len(first)), (first, second)), shape=(len(present),) * 2))


def nearest(relation: Relation, rows: Rows, present: Mask, k: int) -> Listed:
    """Return the pairs (i, j) of a relation, restricted to the k nearest j of each item i.

    Args:
        relation: pairs of items (i, j).
        rows: (n, d) rows that measure the distance of i and j.
        present: (n,) whether each item has a row; pairs of items without a row are left out.
        k: number of pairs of each item, at least 1.
    """
    near = [sp.csr_array((0, len(rows)), dtype=bool)]
    squares = (rows * rows).sum(axis=1)
    for block in slices(len(rows), len(rows)):
        squared = squares[block, None] + squares[None, :] - 2 * rows[block] @ rows.T
        mask = relation.block(block) & present[block, None] & present[None, :]
        squared[~mask] = np.inf
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        near_mask = np.zeros_like(mask)
        np.put_along_axis(near_mask, order, True, axis=1)
        near.append(sp.csr_array(near_mask & mask))
    return Listed(sp.csr_array(sp.vstack(near)))


Between = tuple[int, int]
"""The numbers of two views, the smaller first."""


@dataclass(frozen=True, kw_only=True)
class Neighborhood:
    """The choice of the pairs that attract and that repel each other.

    Attributes:
        pairs: "all" dissimilar pairs, with the same total weight as the similar pairs; or "sampled", as many dissimilar
            pairs as there are similar ones.
        weighting: "mean": the weights of the similar pairs of two views add up to 1, and so do those of the dissimilar
            pairs; or "sum": every pair weighs 1, as in equation (2), so that the more pairs there are, the less the
            regularisation counts.
        similar: "labels": items of the same class, or that share one of several labels, are similar; or "knn": an item
            is similar to itself and to its ``n_neighbors`` nearest in the view ``neighbor_view``, without labels.
        neighbor_view: with ``similar="knn"``, the view in which to find neighbours; items that lack it are similar only
            to themselves.
        n_neighbors: with ``similar="knn"``, the number of items that are similar to an item.
        nearest: maximum number of similar items that an item of a frozen view attracts, the nearest in that view.
            Without a frozen view, the pairs in which either item is among the nearest of the other in all views
            together. The other similar pairs neither attract nor repel, so that an item keeps its place within its
            class. None: all similar pairs attract.
    """

    pairs: Literal["all", "sampled"] = "all"
    weighting: Literal["mean", "sum"] = "mean"
    similar: Literal["labels", "knn"] = "labels"
    neighbor_view: OneView = 0
    n_neighbors: Count = 10
    nearest: Count | None = None


def pair_relations(
    similar: Similarity,
    items: Sequence[Numbers],
    attracting: Mapping[Between, Similarity] | None = None,
    generator: np.random.RandomState | None = None,
    weighting: Literal["mean", "sum"] = "mean",
) -> dict[Between, PairRelations]:
    """Return the pairs of rows that attract and that repel each other, for every ordered pair of views.

    Args:
        similar: pairs of similar items; the first item of a pair is seen in the earlier view.
        items: for each view, (n_v,) the items that have it.
        attracting: for two views, the similar pairs that attract each other. None: all.
        generator: generator that draws as many dissimilar pairs as there are similar ones. None: all dissimilar pairs
            repel each other.
        weighting: as in ``Neighborhood``.

    Raises:
        ValueError: if there are no similar or no dissimilar pairs.
    """
    pairs: dict[Between, PairRelations] = {}
    dissimilar = False
    for v, w in combinations(range(len(items)), 2):
        cut = similar.cut(items[v], items[w])
        near = attracting[v, w].cut(items[v], items[w]) if attracting else cut
        apart = Complement(cut) if generator is None else sampled(cut, generator)
        totals = (1.0, 1.0) if weighting == "mean" else (float(near.size), float(apart.size))
        relations = PairRelations(near, apart, *totals)
        pairs[v, w], pairs[w, v] = relations, relations.transposed()
        dissimilar |= _leaves_others(cut)
    if not any(pair.attracted.sums(np.ones((pair.attracted.shape[1], 1))).any() for pair in pairs.values()):
        raise ValueError("there are no similar pairs: at least two items of a class (or listed neighbors) are needed")
    if not dissimilar:
        raise ValueError("there are no dissimilar pairs: at least two classes (or listed neighbors) are needed")
    return pairs


def _leaves_others(similar: Similarity) -> bool:
    """Return whether some pair is not similar; mostly a few random pairs show it, which saves the count of all
    pairs."""
    rows, columns = similar.shape
    first, second = (np.random.RandomState(0).randint(size, size=1000) for size in (rows, columns))
    return not similar.holds(first, second).all() or similar.size < rows * columns


def attracting(
    similar: Similarity, views: Sequence[Rows], present: Mask, frozen: Sequence[int], k: int
) -> dict[Between, Similarity]:
    """Return, for each two views, the similar pairs in which one item is among the k nearest of the other.

    If one of the two views is frozen, its items choose; otherwise the items of both views choose. The distance is that
    in the frozen views, or in all views if none is frozen. An item that lacks one of these views is not among the
    nearest of any item.

    Args:
        similar: pairs of items.
        views: (n, d_v) rows; their values are ignored if an item lacks the view.
        present: (n, V), whether each item has each view.
        frozen: numbers of the views whose projections stay fixed.
        k: number of neighbours, at least 1.
    """
    count = len(views)
    measuring = list(frozen) or list(range(count))
    rows = np.hstack([_scaled(views[view], present[:, view]) for view in measuring])
    complete = np.asarray(present[:, measuring].all(axis=1))
    chosen_by_first = nearest(similar, rows, complete, k)
    chosen_by_second: Listed = nearest(similar.transposed(), rows, complete, k).transposed()
    either = Listed(chosen_by_first.matrix + chosen_by_second.matrix)
    pairs: dict[Between, Similarity] = {}
    for v, w in combinations(range(count), 2):
        alike = (v in frozen) == (w in frozen)
        pairs[v, w] = either if alike else chosen_by_first if v in frozen else chosen_by_second
    return pairs


def _scaled(rows: Rows, present: Mask) -> Rows:
    """Return the rows centred and divided by their Frobenius norm, so that all views weigh the same; 0 for items that
    lack the view."""
    centered = np.where(present[:, None], rows - rows[present].mean(axis=0), 0.0)
    return centered / (float(np.linalg.norm(centered)) or 1.0)
