"""Which rows of which views attract and which repel each other, given which items are similar."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from crossview.engine.learners.npp.forces import sampled
from crossview.engine.learners.npp.problem import PairRelations
from crossview.engine.learners.npp.similarity import Listed, Numbers, Others, Relation, Similarity
from crossview.engine.learners.settings import Count, OneView
from crossview.engine.learners.view_rows import Mask, Rows, slices


def nearest_items(rows: Rows, present: Mask, k: int) -> Listed:
    """Return, for each item, itself and its k nearest; an item without a row has only itself.

    Args:
        rows: (n, d) rows, Euclidean.
        present: (n,) which items have a row.
        k: at least 1; at most all others are taken.
    """
    items = np.flatnonzero(present)
    near = kneighbors_graph(rows[items], min(k, max(len(items) - 1, 0)), include_self=False).tocoo()
    everyone = np.arange(len(present))
    first, second = np.append(items[near.row], everyone), np.append(items[near.col], everyone)
    return Listed(sp.csr_array((np.ones(len(first)), (first, second)), shape=(len(present),) * 2))


def nearest(relation: Relation, rows: Rows, present: Mask, k: int) -> Listed:
    """Return, for each item i, the pairs (i, j) of a relation with the k nearest j.

    Args:
        relation: pairs of items (i, j).
        rows: (n, d) rows that measure the distance of i and j.
        present: (n,) which items have a row; the others' pairs are left out.
        k: at least 1.
    """
    near = [sp.csr_array((0, len(rows)), dtype=bool)]
    squares = (rows * rows).sum(axis=1)
    for block in slices(len(rows), len(rows)):
        squared = squares[block, None] + squares[None, :] - 2 * rows[block] @ rows.T
        mask = relation.block(block) & present[block, None] & present[None, :]
        squared[~mask] = np.inf
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        chosen = np.zeros_like(mask)
        np.put_along_axis(chosen, order, True, axis=1)
        near.append(sp.csr_array(chosen & mask))
    return Listed(sp.csr_array(sp.vstack(near)))


Between = tuple[int, int]
"""Two views, the earlier first."""


@dataclass(frozen=True, kw_only=True)
class Neighborhood:
    """Which pairs attract and which repel each other.

    Attributes:
        pairs: "all" dissimilar pairs, weighted so that they weigh as much as the similar ones; or "sampled", as many
            as there are similar ones.
        weighting: "mean": the similar pairs of two views weigh 1 in sum, and so do the dissimilar ones; or "sum": every
            pair weighs 1, as in equation (2), so that the weights of the regularisation mean less the more there are.
        similar: "labels": items of the same class, or sharing one of several labels, are similar; or "knn": an item is
            similar to itself and to its ``n_neighbors`` nearest in the view ``neighbor_view``; no labels are needed.
        neighbor_view: the view in which neighbours are sought, with ``similar="knn"``; items that lack it are similar
            only to themselves.
        n_neighbors: how many neighbours are similar to an item, with ``similar="knn"``.
        nearest: of the items similar to an item of a frozen view, only so many are attracted by it, the nearest ones
            in that view; with no view frozen, pairs stay of which either is among the nearest of the other in all
            views together. The other similar pairs neither attract nor repel, so that an item's place within its
            class is kept. None: all attract.
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
    """Return which rows attract and which repel each other, for every ordered pair of views.

    Args:
        similar: pairs of similar items; the first of a pair is seen in the earlier view.
        items: for each view, (n_v,) the items that have it.
        attracting: for two views, those of the similar pairs that are to be near. None: all.
        generator: draws as many dissimilar pairs as there are similar ones. None: all repel each other.
        weighting: as in ``Neighborhood``.

    Raises:
        ValueError: if there are no similar or no dissimilar pairs.
    """
    found: dict[Between, PairRelations] = {}
    others = False
    for v, w in combinations(range(len(items)), 2):
        cut = similar.cut(items[v], items[w])
        near = attracting[v, w].cut(items[v], items[w]) if attracting else cut
        apart = Others(cut) if generator is None else sampled(cut, generator)
        totals = (1.0, 1.0) if weighting == "mean" else (float(near.size), float(apart.size))
        relations = PairRelations(near, apart, *totals)
        found[v, w], found[w, v] = relations, relations.transposed()
        others |= _leaves_others(cut)
    if not any(one.attracted.sums(np.ones((one.attracted.shape[1], 1))).any() for one in found.values()):
        raise ValueError("there are no similar pairs: at least two items of a class (or listed neighbors) are needed")
    if not others:
        raise ValueError("there are no dissimilar pairs: at least two classes (or listed neighbors) are needed")
    return found


def _leaves_others(similar: Similarity) -> bool:
    """Return whether some pair is not similar; mostly a few random ones show it, and then none are counted."""
    rows, columns = similar.shape
    first, second = (np.random.RandomState(0).randint(size, size=1000) for size in (rows, columns))
    return not similar.holds(first, second).all() or similar.size < rows * columns


def attracting(
    similar: Similarity, views: Sequence[Rows], present: Mask, frozen: Sequence[int], k: int
) -> dict[Between, Similarity]:
    """Return, for two views, the similar pairs of which one item is among the k nearest of the other.

    Where one of the two views is frozen its items choose, else those of both. Nearness is measured in the frozen views,
    or in all if none is; an item that lacks one of them is among the nearest of no other.

    Args:
        similar: pairs of items.
        views: (n, d_v) rows, anything where an item lacks the view.
        present: (n, V), which items have which views.
        frozen: numbers of the views whose projections stay.
        k: at least 1.
    """
    count = len(views)
    measuring = list(frozen) or list(range(count))
    rows = np.hstack([_scaled(views[view], present[:, view]) for view in measuring])
    known = np.asarray(present[:, measuring].all(axis=1))
    chosen_by_first = nearest(similar, rows, known, k)
    chosen_by_second: Listed = nearest(similar.transposed(), rows, known, k).transposed()
    either = Listed(chosen_by_first.matrix + chosen_by_second.matrix)
    found: dict[Between, Similarity] = {}
    for v, w in combinations(range(count), 2):
        alike = (v in frozen) == (w in frozen)
        found[v, w] = either if alike else chosen_by_first if v in frozen else chosen_by_second
    return found


def _scaled(rows: Rows, present: Mask) -> Rows:
    """Return the rows centred, and of the same weight as any other view's; 0 where an item lacks the view."""
    centered = np.where(present[:, None], rows - rows[present].mean(axis=0), 0.0)
    return centered / (float(np.linalg.norm(centered)) or 1.0)
