"""Which rows of which views attract and which repel each other, from what is known of the items."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from engine.learners.base import Mask, Rows
from engine.learners.npp.nearest import either, nearest
from engine.learners.npp.pairs import sampled
from engine.learners.npp.problem import Kinds
from engine.learners.npp.relations import Listed, Numbers, Others, Similarity

Between = tuple[int, int]
"""Two views, the earlier first."""


def kinds(
    similar: Similarity,
    items: Sequence[Numbers],
    attracting: Mapping[Between, Similarity] | None = None,
    generator: np.random.RandomState | None = None,
) -> dict[Between, Kinds]:
    """Returns the kinds of pairs for every ordered pair of views.

    Args:
        similar: pairs of similar items; the first of a pair is seen in the earlier view.
        items: for each view, (n_v,) the items that have it.
        attracting: for two views, those of the similar pairs that are to be near. None: all.
        generator: draws as many dissimilar pairs as there are similar ones. None: all repel each other.

    Raises:
        ValueError: if there are no similar or no dissimilar pairs.
    """
    found: dict[Between, Kinds] = {}
    others = False
    for v, w in combinations(range(len(items)), 2):
        cut = similar.cut(items[v], items[w])
        near = attracting[v, w].cut(items[v], items[w]) if attracting else cut
        seen = Kinds(near, Others(cut) if generator is None else sampled(cut, generator))
        found[v, w], found[w, v] = seen, seen.transposed()
        others |= _leaves_others(cut)
    if not any(seen.attracted.sums(np.ones((seen.attracted.shape[1], 1))).any() for seen in found.values()):
        raise ValueError("there are no similar pairs: at least two items of a class (or listed neighbors) are needed")
    if not others:
        raise ValueError("there are no dissimilar pairs: at least two classes (or listed neighbors) are needed")
    return found


def _leaves_others(similar: Similarity) -> bool:
    """Returns whether some pair is not similar; mostly a few random ones tell, and then none need be counted."""
    rows, columns = similar.shape
    first, second = (np.random.RandomState(0).randint(size, size=1000) for size in (rows, columns))
    return not similar.holds(first, second).all() or similar.size < rows * columns


def attracting(
    similar: Similarity, views: Sequence[Rows], there: Mask, frozen: Sequence[int], k: int
) -> dict[Between, Similarity]:
    """Returns, for two views, the similar pairs of which one item is among the k nearest of the other.

    Where one of the two views is frozen its items choose, else those of both. Nearness is measured in the frozen views,
    or in all if none is; who lacks one of them is near to nobody.

    Args:
        similar: pairs of items.
        views: (n, d_v) rows, anything where an item lacks the view.
        there: (n, V), which items have which views.
        frozen: numbers of the views that are.
        k: at least 1.
    """
    count = len(views)
    measuring = list(frozen) or list(range(count))
    rows = np.hstack([_scaled(views[view], there[:, view]) for view in measuring])
    known = np.asarray(there[:, measuring].all(axis=1))
    chosen_by_first = nearest(similar, rows, known, k)
    chosen_by_second: Listed = nearest(similar.transposed(), rows, known, k).transposed()
    both = either(chosen_by_first, chosen_by_second)
    found: dict[Between, Similarity] = {}
    for v, w in combinations(range(count), 2):
        alike = (v in frozen) == (w in frozen)
        found[v, w] = both if alike else chosen_by_first if v in frozen else chosen_by_second
    return found


def _scaled(rows: Rows, there: Mask) -> Rows:
    """Returns the rows centred, and of the same weight as any other view's; 0 where an item lacks the view."""
    centered = np.where(there[:, None], rows - rows[there].mean(axis=0), 0.0)
    return centered / (float(np.linalg.norm(centered)) or 1.0)
