"""The start of co-EM: groups of items that are similar in all their views, around the items of known classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from crossview.engine.learners.subspace.evidence import Evidence
from crossview.engine.learners.subspace.kernel_regression import drawn
from crossview.engine.learners.subspace.row_kernel import FittedKernel, RowKernel
from crossview.engine.learners.view_rows import Rows, slices
from crossview.engine.runtime.cancellation import checkpoint

MOST_GROUPS = 128
_CERTAIN = 0.9
"""Initial probability of an item's own group."""
_STARTS, _STEPS = 5, 30


@dataclass(frozen=True, eq=False)
class Seeding:
    """Coordinates of items in the leading eigenvectors of the sum of the mean of their views' kernels and the pairs.

    Spectral clustering (Ng, Jordan and Weiss, 2001) and constrained k-means (Basu, Banerjee and Mooney, ICML 2002):
    items of a known class stay in its group.

    Attributes:
        coordinates: (n, r), the most important first.
        evidence: the known classes and pairs of the items.
    """

    coordinates: Rows
    evidence: Evidence

    @classmethod
    def of(
        cls,
        views: Sequence[Rows],
        mask: NDArray[np.bool_],
        kernel: RowKernel,
        evidence: Evidence,
        most: int,
        random: np.random.RandomState,
    ) -> "Seeding":
        """Return the coordinates of all items, by the eigenvectors of at most ``most`` of them.

        Args:
            views: (n, d_v) rows of each view; only rows in the mask count.
            mask: (n, V), whether each item has each view.
        """
        chosen = drawn(len(mask), most, random)
        similarity = np.zeros((len(mask), len(chosen)))
        for rows, present in zip(views, mask.T, strict=True):
            landmarks = np.flatnonzero(present[chosen])
            own = rows[chosen[landmarks]]
            fitted = FittedKernel.of(kernel, own, np.arange(len(own)))
            among = fitted.features(own)
            means, norm = among.mean(axis=0), max(float(np.linalg.norm(_centered(among), 2)), 1e-300)
            items = np.flatnonzero(present)
            for part in slices(len(items), len(own)):
                found = fitted.features(rows[items[part]])
                found += means.mean() - means - found.mean(axis=1, keepdims=True)
                similarity[np.ix_(items[part], landmarks)] += found / (norm * len(views))
        if evidence.similar is not None:
            degrees = np.sqrt(np.maximum(evidence.similar.sum(axis=1), 1.0))
            similarity += evidence.similar[:, chosen].toarray() / degrees[:, None] / degrees[chosen]
        values, vectors = np.linalg.eigh(similarity[chosen])
        kept = np.flatnonzero(values > 1e-9 * max(values[-1], 1e-300))[::-1][:MOST_GROUPS]
        return cls(similarity @ (vectors[:, kept] / values[kept]), evidence)

    def probabilities(self, groups: int, random: np.random.RandomState) -> Rows:
        """Return (n, K) probabilities of ``groups`` groups; the groups of the known classes come first."""
        rows = self.coordinates[:, : max(groups, 2)]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        found = [
            self._grouped(rows, groups, random) for _ in range(_STARTS if groups > len(self.evidence.classes) else 1)
        ]
        best = min(found, key=lambda one: one[0])[1]
        probabilities = np.full((len(rows), groups), (1 - _CERTAIN) / groups)
        probabilities[np.arange(len(rows)), best] += _CERTAIN
        return probabilities

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


def _shares(rows: Rows, centers: Sequence[Rows]) -> NDArray[np.float64] | None:
    """Return the probability that each row becomes the next centre, by its distance to all others; None: all are
    equal."""
    if not centers:
        return None
    gaps = euclidean_distances(rows, np.array(centers), squared=True).min(axis=1)
    return gaps / gaps.sum() if gaps.sum() > 0 else None


def _centered(kernel: Rows) -> Rows:
    means = kernel.mean(axis=0)
    return np.asarray(kernel - means - means[:, None] + means.mean())
