"""The starts of co-EM: groups of items that are similar in all their views, around the items of known classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize

from crossview.engine.learners.frame.view_rows import Rows, slices
from crossview.engine.learners.subspace.evidence import Evidence
from crossview.engine.learners.subspace.kernel_regression import drawn
from crossview.engine.learners.subspace.neighbor_graph import NeighborGraph
from crossview.engine.learners.subspace.row_kernel import FittedKernel, RowKernel, Scaling, usual_scaling
from crossview.engine.runtime.cancellation import checkpoint

MOST_GROUPS = 128
_CERTAIN = 0.9
"""Initial probability of an item's own group."""
STARTS = 4
"""Maximum number of starts."""
_RUNS, _STEPS = 5, 30
_DENSE = 300
"""Number of rows up to which all eigenvalues are computed."""


@dataclass(frozen=True, eq=False)
class Seeding:
    """Items that are similar in all their views, by kernels and by nearest neighbours.

    Attributes:
        similarity: (n, m) sums of the views' centred kernels with some items.
        chosen: (m,) positions of these items.
        graph: graph of nearest neighbours.
    """

    similarity: Rows
    chosen: NDArray[np.intp]
    graph: NeighborGraph

    @classmethod
    def of(
        cls,
        views: Sequence[Rows],
        mask: NDArray[np.bool_],
        scaling: Scaling | None,
        most: int,
        random: np.random.RandomState,
    ) -> "Seeding":
        """Return the similarities of all items with at most ``most`` of them, by Gaussian kernels.

        Args:
            views: (n, d_v) rows of each view; only rows in the mask count.
            mask: (n, V), whether each item has each view.
        """
        chosen = drawn(len(mask), most, random)
        similarity = np.zeros((len(mask), len(chosen)))
        for rows, present in zip(views, mask.T, strict=True):
            landmarks = np.flatnonzero(present[chosen])
            own = rows[chosen[landmarks]]
            fitted = FittedKernel.of(RowKernel("gaussian", scaling or usual_scaling(own)), own, np.arange(len(own)))
            among = fitted.features(own)
            means, norm = among.mean(axis=0), max(_largest(_centered(among)), 1e-300)
            items = np.flatnonzero(present)
            for part in slices(len(items), len(own)):
                found = fitted.features(rows[items[part]])
                found += means.mean() - means - found.mean(axis=1, keepdims=True)
                similarity[np.ix_(items[part], landmarks)] += found / (norm * len(views))
        return cls(similarity, chosen, NeighborGraph.of(views, mask, random))

    def starts(self, evidence: Evidence) -> "Starts":
        """Return the starts that labels and pairs give."""
        similarity, similar = self.similarity, evidence.similar
        if similar is not None:
            degrees = np.sqrt(np.maximum(similar.sum(axis=1), 1.0))
            similarity = similarity + similar[:, self.chosen].toarray() / degrees[:, None] / degrees[self.chosen]
        values, vectors = _leading(similarity[self.chosen])
        kept = np.flatnonzero(values > 1e-9 * max(values[-1], 1e-300))[::-1][:MOST_GROUPS]
        graph = self.graph.with_pairs(similar)
        return Starts(similarity @ (vectors[:, kept] / values[kept]), graph, evidence)


@dataclass(frozen=True, eq=False)
class Starts:
    """Probabilities of the items' classes, from which turns may start.

    Spectral clustering (Ng, Jordan and Weiss, 2001) by constrained k-means (Basu, Banerjee and Mooney, ICML 2002):
    items of a known class stay in its group.

    Attributes:
        coordinates: (n, r) in the leading eigenvectors of the kernels and pairs, the most important first.
        graph: graph of nearest neighbours and pairs.
        evidence: the known classes and pairs of the items.
    """

    coordinates: Rows
    graph: NeighborGraph
    evidence: Evidence

    @cached_property
    def of_graph(self) -> Rows:
        """(n, r) coordinates of the items in the leading eigenvectors of the graph."""
        return self.graph.coordinates(min(MOST_GROUPS, len(self.coordinates)))

    def of(self, groups: int, random: np.random.RandomState) -> list[Rows]:
        """Return starts with (n, K) probabilities of ``groups`` groups; the groups of the known classes come first.

        They are groups by kernels, and groups by the graph. Without new groups, labels that spread along the graph
        are a third start, and its mean with the first the last one.
        """
        found = [_certain(self._clustered(rows, groups, random), groups) for rows in (self.coordinates, self.of_graph)]
        codes, known = self.evidence.codes, self.evidence.known
        if groups == len(self.evidence.classes):
            spread = self.graph.spread(codes, groups).argmax(axis=1)
            if not self.evidence.label_noise:
                spread[known] = codes[known]
            found += [_certain(spread, groups), (found[0] + _certain(spread, groups)) / 2]
        return found

    def _clustered(self, coordinates: Rows, groups: int, random: np.random.RandomState) -> NDArray[np.intp]:
        """Return the items' groups by the leading coordinates: the best of several runs."""
        rows = normalize(coordinates[:, : max(groups, 2)])
        runs = _RUNS if groups > len(self.evidence.classes) else 1
        return min((self._grouped(rows, groups, random) for _ in range(runs)), key=lambda one: one[0])[1]

    def _grouped(self, rows: Rows, groups: int, random: np.random.RandomState) -> tuple[float, NDArray[np.intp]]:
        """Return the cost and the items' groups of one run of constrained k-means."""
        checkpoint()
        known, codes = self.evidence.known, self.evidence.codes
        centers = [rows[codes == code].mean(axis=0) for code in range(len(self.evidence.classes))]
        free = np.flatnonzero(codes < 0)
        while len(centers) < groups:  # k-means++ (Arthur and Vassilvitskii, 2007)
            shares = _shares(rows[free], centers)
            centers.append(rows[free[random.choice(len(free), p=shares)]])
        middles, mine = np.array(centers), codes
        for _ in range(_STEPS):
            before, mine = mine, euclidean_distances(rows, middles, squared=True).argmin(axis=1)
            mine[known] = codes[known]
            if np.array_equal(before, mine):
                break
            sums = np.zeros_like(middles)
            np.add.at(sums, mine, rows)
            counts = np.bincount(mine, minlength=groups)[:, None]
            middles = np.where(counts > 0, sums / np.maximum(counts, 1), middles)
        return float(np.square(rows - middles[mine]).sum()), mine


def _certain(positions: NDArray[np.intp], groups: int) -> Rows:
    """Return (n, K) probabilities of which each item's own group has most."""
    found = np.full((len(positions), groups), (1 - _CERTAIN) / groups)
    found[np.arange(len(positions)), positions] += _CERTAIN
    return found


def _shares(rows: Rows, centers: Sequence[Rows]) -> NDArray[np.float64] | None:
    """Return the probability that each row becomes the next centre, by its distance to all others; None: all are
    equal."""
    if not centers:
        return None
    gaps = euclidean_distances(rows, np.array(centers), squared=True).min(axis=1)
    return gaps / gaps.sum() if gaps.sum() > 0 else None


def _largest(kernel: Rows) -> float:
    """Return the largest eigenvalue of a symmetric matrix without negative ones."""
    if len(kernel) <= _DENSE:
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
