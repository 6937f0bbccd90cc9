"""The starts of co-EM: groups of items that are similar in all their views, around the items of known classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

from crossview.engine.learners.frame.normalization import Standardize, signed_root
from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.subspace.evidence import Evidence
from crossview.engine.learners.subspace.kernel_regression import drawn
from crossview.engine.learners.subspace.row_kernel import FittedKernel, RowKernel, Scaling, usual_scaling
from crossview.engine.runtime.cancellation import checkpoint

_NEIGHBORS = 7
_ONE_SIDED = 0.1
"""Weight of two items of which only one is a nearest neighbour of the other; mutual neighbours have weight 1."""
_SIMILAR = 2.0
"""Weight of two items that are given as similar."""
_TO_CHOOSE = 1000
"""Number of items by which the scalings are chosen."""
_COMPARED = 600
"""Number of items with which the kernels compare all; of their eigenvectors, the starts use few."""
_SPREAD, _STEPS, _SETTLED = 0.9, 200, 1e-6
"""Share of its label that an item takes from its neighbours; maximum number of steps; change at which they end."""
_DENSE = 600
"""Number of items up to which all eigenvectors are computed."""
MOST_GROUPS = 128
_CERTAIN = 0.9
"""Initial probability of an item's own group."""
STARTS = 4
"""Maximum number of starts."""
_RUNS, _STEPS = 5, 30
_DENSE_KERNEL = 300
"""Number of rows up to which all eigenvalues are computed."""


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """A graph of n items.

    Attributes:
        weights: sparse (n, n), symmetric.
        scalings: of the rows of each view.
    """

    weights: Any
    scalings: Sequence[str]

    @classmethod
    def of(cls, views: Sequence[Rows], mask: NDArray[np.bool_], scalings: Sequence[str]) -> "NeighborGraph":
        """Return the sum of the views' graphs of nearest neighbours.

        Args:
            views: (n, d_v) rows of each view; only rows in the mask count.
            mask: (n, V), whether each item has each view.
            scalings: of the rows of each view, see ``best_scalings``.
        """
        total = sp.csr_array((len(mask), len(mask)))
        for rows, present, name in zip(views, mask.T, scalings, strict=True):
            checkpoint()
            graph = _nearest(_SCALINGS[name](rows[present]), present)
            total += _ONE_SIDED * graph.maximum(graph.T) + (1 - _ONE_SIDED) * graph.minimum(graph.T)
        return cls(total, scalings)

    def with_pairs(self, similar: Any) -> "NeighborGraph":
        """Return the graph in which similar items, sparse (n, n) or None, are neighbours, too."""
        return self if similar is None else replace(self, weights=self.weights + _SIMILAR * similar)

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
        labelled = np.flatnonzero(codes >= 0)
        labels = np.zeros((len(codes), classes))
        labels[labelled, codes[labelled]] = 1
        labels /= np.maximum(labels.sum(axis=0), 1)  # a class with many labels does not spread farther
        shares = labels
        for _ in range(_STEPS):
            checkpoint()
            before, shares = shares, labels + _SPREAD * (self.normalized @ shares)
            if np.abs(shares - before).max() < _SETTLED * shares.max():
                break
        shares = shares + 1e-12  # an item that no label reaches gets equal shares, not 0 / 0
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

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


def best_scalings(views: Sequence[Rows], mask: NDArray[np.bool_], random: np.random.RandomState) -> list[str]:
    """Return for each view the scaling whose neighbours are most often neighbours in the other views, of at most 1,000
    items, which ``random`` draws."""
    sample = drawn(len(mask), _TO_CHOOSE, random)
    views, mask = [rows[sample] for rows in views], mask[sample]
    if len(views) == 1:
        return ["root"]
    graphs = []
    for rows, present in zip(views, mask.T, strict=True):
        names = [name for name in _SCALINGS if name != "rare" or _are_counts(rows[present])]
        graphs.append({name: _nearest(_SCALINGS[name](rows[present]), present) for name in names})
    means = [sum(by_name.values(), 0 * by_name["none"]) / len(by_name) for by_name in graphs]
    every = sum(means[1:], means[0])
    return [
        max(by_name, key=lambda name: float((by_name[name] * (every - own)).sum()))
        for by_name, own in zip(graphs, means, strict=True)
    ]


def _are_counts(rows: Rows) -> bool:
    return bool((rows >= 0).all() and (rows == 0).any())


def _nearest(rows: Rows, present: NDArray[np.bool_]) -> Any:
    """Return the graph of the nearest neighbours of the items that have a view, sparse (n, n), of all items."""
    items = np.flatnonzero(present)
    number = min(_NEIGHBORS, len(items) - 1)
    if number < 1:
        return sp.csr_array((len(present),) * 2)
    graph = kneighbors_graph(rows, number).tocoo()
    entries = (graph.data, (items[graph.row], items[graph.col]))
    return sp.csr_array(sp.coo_array(entries, shape=(len(present),) * 2))


@dataclass(frozen=True, eq=False)
class Seeding:
    """Items that are similar in all their views, by kernels and by nearest neighbours.

    Attributes:
        views: (n, d_v) rows of each view; only rows in the mask count.
        mask: (n, V), whether each item has each view.
        scaling: of the rows that the kernels compare; None: the usual one.
        chosen: (m,) positions of the items with which the kernels compare all.
        graph: graph of nearest neighbours.
    """

    views: Sequence[Rows]
    mask: NDArray[np.bool_]
    scaling: Scaling | None
    chosen: NDArray[np.intp]
    graph: NeighborGraph

    @classmethod
    def of(
        cls,
        views: Sequence[Rows],
        mask: NDArray[np.bool_],
        scaling: Scaling | None,
        random: np.random.RandomState,
    ) -> "Seeding":
        """Return the similarities of all items; ``random`` draws those with which the kernels compare them."""
        graph = NeighborGraph.of(views, mask, best_scalings(views, mask, random))
        return cls(views, mask, scaling, drawn(len(mask), _COMPARED, random), graph)

    def again(self, views: Sequence[Rows], mask: NDArray[np.bool_], random: np.random.RandomState) -> "Seeding":
        """Return the similarities of other items, with the same scalings for the graph."""
        graph = NeighborGraph.of(views, mask, self.graph.scalings)
        return Seeding(views, mask, self.scaling, drawn(len(mask), _COMPARED, random), graph)

    @cached_property
    def similarity(self) -> Rows:
        """(n, m) sums of the views' centred Gaussian kernels with the chosen items."""
        similarity = np.zeros((len(self.mask), len(self.chosen)))
        for rows, present in zip(self.views, self.mask.T, strict=True):
            checkpoint()
            landmarks = np.flatnonzero(present[self.chosen])
            own = rows[self.chosen[landmarks]]
            scaling = self.scaling or usual_scaling(own)
            fitted = FittedKernel.of(RowKernel("gaussian", scaling), own, np.arange(len(own)))
            among = fitted.features(own)
            means, norm = among.mean(axis=0), max(_largest(_centered(among)), 1e-300)
            items = np.flatnonzero(present)
            for part in slices(len(items), len(own)):
                features = fitted.features(rows[items[part]])
                features += means.mean() - means - features.mean(axis=1, keepdims=True)
                similarity[np.ix_(items[part], landmarks)] += features / (norm * len(self.views))
        return similarity


@dataclass(frozen=True, eq=False)
class Starts:
    """Probabilities of the items' classes, from which turns may start.

    The first two are groups of the items by the leading eigenvectors of the kernels and of the graph of neighbours:
    spectral clustering (Ng, Jordan and Weiss, 2001) by constrained k-means (Basu, Banerjee and Mooney, ICML 2002),
    where items of a known class stay in its group. Without new groups, labels that spread along the graph are a third
    start, and its mean with the first is the last one.

    Attributes:
        seeding: similarities of the items.
        evidence: the known classes and pairs of the items.
    """

    seeding: Seeding
    evidence: Evidence

    @cached_property
    def graph(self) -> NeighborGraph:
        """The graph of nearest neighbours and pairs."""
        return self.seeding.graph.with_pairs(self.evidence.similar)

    @cached_property
    def of_kernels(self) -> Rows:
        """(n, r) coordinates in the leading eigenvectors of the kernels and pairs, the most important first."""
        similarity, similar, chosen = self.seeding.similarity, self.evidence.similar, self.seeding.chosen
        if similar is not None:
            degrees = np.sqrt(np.maximum(similar.sum(axis=1), 1.0))
            similarity = similarity + similar[:, chosen].toarray() / degrees[:, None] / degrees[chosen]
        values, vectors = _leading(similarity[chosen])
        places = np.flatnonzero(values > 1e-9 * max(values[-1], 1e-300))[::-1][:MOST_GROUPS]
        return np.asarray(similarity @ (vectors[:, places] / values[places]))

    @cached_property
    def of_graph(self) -> Rows:
        """(n, r) coordinates in the leading eigenvectors of the graph."""
        return self.graph.coordinates(min(MOST_GROUPS, len(self.seeding.mask)))

    def start(self, position: int, groups: int, random: np.random.RandomState) -> Rows:
        """Return (n, K) probabilities of ``groups`` groups, of which those of the known classes come first.

        ``position``: of the start, from 0 or from -1 for the last one.
        """
        position %= self._number(groups)
        if position == STARTS - 1:
            return (self.start(0, groups, random) + self.start(2, groups, random)) / 2
        if position == 2:
            return _certain(self._spread(groups), groups)
        if len(self.evidence.known) == len(self.evidence.codes):
            return _certain(self.evidence.codes, groups)
        return _certain(self._clustered(self.of_graph if position else self.of_kernels, groups, random), groups)

    def of(self, groups: int, random: np.random.RandomState) -> list[Rows]:
        """Return the probabilities of all starts; equal ones are the same array."""
        starts: list[Rows] = []
        for position in range(self._number(groups)):
            last = position == STARTS - 1
            start = (starts[0] + starts[2]) / 2 if last else self.start(position, groups, random)
            starts.append(next((other for other in starts if np.array_equal(start, other)), start))
        return starts

    def _number(self, groups: int) -> int:
        return STARTS if groups == len(self.evidence.classes) else 2

    def _spread(self, groups: int) -> NDArray[np.intp]:
        """Return the group of which the labels give each item most along the graph."""
        codes, items = self.evidence.codes, self.evidence.known
        spread = self.graph.spread(codes, groups).argmax(axis=1)
        if not self.evidence.label_noise:
            spread[items] = codes[items]
        return np.asarray(spread)

    def _clustered(self, coordinates: Rows, groups: int, random: np.random.RandomState) -> NDArray[np.intp]:
        """Return the items' groups by the leading coordinates: the best of several runs."""
        rows = normalize(coordinates[:, : max(groups, 2)])
        runs = _RUNS if groups > len(self.evidence.classes) else 1
        return min((self._grouped(rows, groups, random) for _ in range(runs)), key=lambda run: run[0])[1]

    def _grouped(self, rows: Rows, groups: int, random: np.random.RandomState) -> tuple[float, NDArray[np.intp]]:
        """Return the cost and the items' groups of one run of constrained k-means."""
        checkpoint()
        items, codes = self.evidence.known, self.evidence.codes
        centers = [rows[codes == code].mean(axis=0) for code in range(len(self.evidence.classes))]
        free = rows[codes < 0]
        gaps = _squared(free, np.array(centers)).min(axis=1) if centers else np.zeros(len(free))
        while len(centers) < groups:  # k-means++ (Arthur and Vassilvitskii, 2007)
            shares = gaps / gaps.sum() if gaps.sum() > 0 else None  # None: all have equal shares
            centers.append(free[random.choice(len(free), p=shares)])
            nearest = _squared(free, centers[-1][None])[:, 0]
            gaps = np.minimum(gaps, nearest) if len(centers) > 1 else nearest
        middles, mine = np.array(centers), codes
        for _ in range(_STEPS):
            before, mine = mine, _squared(rows, middles).argmin(axis=1)
            mine[items] = codes[items]
            if np.array_equal(before, mine):
                break
            members = sp.csr_array((np.ones(len(rows)), mine, np.arange(len(rows) + 1)), shape=(len(rows), groups))
            counts = np.bincount(mine, minlength=groups)[:, None]
            middles = np.where(counts > 0, (members.T @ rows) / np.maximum(counts, 1), middles)
        return float(np.square(rows - middles[mine]).sum()), mine


def _certain(positions: NDArray[np.intp], groups: int) -> Rows:
    """Return (n, K) probabilities of which each item's own group has most."""
    probabilities = np.full((len(positions), groups), (1 - _CERTAIN) / groups)
    probabilities[np.arange(len(positions)), positions] += _CERTAIN
    return probabilities


def _squared(rows: Rows, centers: Rows) -> Rows:
    """Return the squared distances of (n, r) rows of unit length or 0 to (m, r) centres, (n, m)."""
    squared = np.square(rows).sum(axis=1)[:, None] - 2 * rows @ centers.T + np.square(centers).sum(axis=1)
    return np.asarray(np.maximum(squared, 0))


def _largest(kernel: Rows) -> float:
    """Return the largest eigenvalue of a symmetric matrix without negative ones."""
    if len(kernel) <= _DENSE_KERNEL:
        return float(np.linalg.eigvalsh(kernel)[-1])
    start = np.random.RandomState(0).random_sample(len(kernel))  # for the same result each time
    return float(eigsh(kernel, 1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0])


def _leading(similarity: Rows) -> tuple[NDArray[np.float64], Rows]:
    """Return the largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors."""
    count = len(similarity)
    return eigh(similarity, subset_by_index=(max(0, count - MOST_GROUPS), count - 1))


def _centered(kernel: Rows) -> Rows:
    means = kernel.mean(axis=0)
    return np.asarray(kernel - means - means[:, None] + means.mean())
