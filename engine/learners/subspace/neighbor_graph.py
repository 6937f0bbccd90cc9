"""The graph of items that are nearest neighbours in a view, along which labels spread."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

from crossview.engine.learners.frame.normalization import Standardize, signed_root
from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.subspace.kernel_regression import drawn
from crossview.engine.runtime.cancellation import checkpoint

_NEIGHBORS = 7
_ONE_SIDED = 0.1
"""Weight of two items of which only one is a nearest neighbour of the other; mutual neighbours have weight 1."""
_SIMILAR = 2.0
"""Weight of two items that are given as similar."""
_TO_CHOOSE = 1000
"""Number of items by which the scalings are chosen."""
_SPREAD, _STEPS, _SETTLED = 0.9, 200, 1e-6
"""Share of its label that an item takes from its neighbours; maximum number of steps; change at which they end."""
_DENSE = 600
"""Number of items up to which all eigenvectors are computed."""


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """A graph of n items.

    Attributes:
        weights: sparse (n, n), symmetric.
    """

    weights: Any

    @classmethod
    def of(cls, views: Sequence[Rows], mask: NDArray[np.bool_], random: np.random.RandomState) -> "NeighborGraph":
        """Return the sum of the views' graphs of nearest neighbours.

        The columns of each view are scaled such that its neighbours are most often neighbours in the other views, too.

        Args:
            views: (n, d_v) rows of each view; only rows in the mask count.
            mask: (n, V), whether each item has each view.
            random: draws the items by which the scalings are chosen, if there are more than 1,000.
        """
        sample = drawn(len(mask), _TO_CHOOSE, random)
        chosen = _scalings([rows[sample] for rows in views], mask[sample])
        total = sp.csr_array((len(mask), len(mask)))
        for rows, present, name in zip(views, mask.T, chosen, strict=True):
            checkpoint()
            graph = _nearest(_SCALINGS[name](rows[present]), present)
            total += _ONE_SIDED * graph.maximum(graph.T) + (1 - _ONE_SIDED) * graph.minimum(graph.T)
        return cls(total)

    def with_pairs(self, similar: Any) -> "NeighborGraph":
        """Return the graph in which similar items, sparse (n, n) or None, are neighbours, too."""
        return self if similar is None else NeighborGraph(self.weights + _SIMILAR * similar)

    @cached_property
    def normalized(self) -> Any:
        """The weights, each divided by the root of the product of its two items' sums of weights."""
        root = sp.diags_array(1 / np.sqrt(np.maximum(self.weights.sum(axis=1), 1e-9)))
        return sp.csr_array(root @ self.weights @ root)

    def spread(self, codes: NDArray[np.intp], classes: int) -> Rows:
        """Return (n, K) shares of the classes: what labels give to items along the graph (Zhou et al., NIPS 2003).

        Args:
            codes: (n,) classes of the items, from 0; -1 for an unknown class.
        """
        known = np.flatnonzero(codes >= 0)
        labels = np.zeros((len(codes), classes))
        labels[known, codes[known]] = 1
        labels /= np.maximum(labels.sum(axis=0), 1)  # a class with many labels does not spread farther
        found = labels
        for _ in range(_STEPS):
            checkpoint()
            before, found = found, labels + _SPREAD * (self.normalized @ found)
            if np.abs(found - before).max() < _SETTLED * found.max():
                break
        found = found + 1e-12
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def coordinates(self, most: int) -> Rows:
        """Return at most ``most`` leading eigenvectors of the normalised weights, (n, r)."""
        count = self.weights.shape[0]
        if count <= max(_DENSE, 2 * most):
            return np.asarray(np.linalg.eigh(self.normalized.toarray())[1][:, ::-1][:, :most])
        start = np.random.RandomState(0).random_sample(count)  # for the same result each time
        return np.asarray(eigsh(self.normalized, most, which="LA", v0=start, tol=1e-4)[1][:, ::-1])


def _rare(rows: Rows) -> Rows:
    """Return the roots of counts, with the more weight the fewer rows have a count above 0 in a column."""
    return np.asarray(signed_root(rows) * np.log((1 + len(rows)) / (1 + (rows > 0).sum(axis=0))))


def _standard(rows: Rows) -> Rows:
    return np.asarray(Standardize().fit([rows]).transform(rows, view=0))


_SCALINGS: Mapping[str, Callable[[Rows], Rows]] = {
    "none": lambda rows: rows,
    "unit": normalize,
    "root": lambda rows: np.asarray(normalize(signed_root(rows))),
    "standard": _standard,
    "standard unit": lambda rows: np.asarray(normalize(_standard(rows))),
    "rare": lambda rows: np.asarray(normalize(_rare(rows))),
}
"""Versions of (n, d) rows in which distances may mean more."""


def _scalings(views: Sequence[Rows], mask: NDArray[np.bool_]) -> list[str]:
    """Return for each view the scaling whose neighbours are most often neighbours in the other views."""
    if len(views) == 1:
        return ["root"]
    graphs = []
    for rows, present in zip(views, mask.T, strict=True):
        names = [name for name in _SCALINGS if name != "rare" or _are_counts(rows[present])]
        graphs.append({name: _nearest(_SCALINGS[name](rows[present]), present) for name in names})
    means = [sum(found.values(), 0 * found["none"]) / len(found) for found in graphs]
    every = sum(means[1:], means[0])
    return [
        max(found, key=lambda name: float((found[name] * (every - own)).sum()))
        for found, own in zip(graphs, means, strict=True)
    ]


def _are_counts(rows: Rows) -> bool:
    return bool((rows >= 0).all() and (rows == 0).any())


def _nearest(rows: Rows, present: NDArray[np.bool_]) -> Any:
    """Return the graph of the nearest neighbours of the items that have a view, sparse (n, n), of all items."""
    items = np.flatnonzero(present)
    number = min(_NEIGHBORS, len(items) - 1)
    if number < 1:
        return sp.csr_array((len(present),) * 2)
    found = kneighbors_graph(rows, number).tocoo()
    entries = (found.data, (items[found.row], items[found.col]))
    return sp.csr_array(sp.coo_array(entries, shape=(len(present),) * 2))
