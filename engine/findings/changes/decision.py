"""Decision whether a change is important: a threshold on distances, learned with or without labels."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.papers.losses.constraints import pairs
from crossview.engine.learners.papers.solvers.newton import Newton, diagonal_problem, minimize
from crossview.engine.values.changes import EXTREME
from crossview.features.page import Page

C = 10.0
"""Weight of the loss of a pair, as of a support vector machine."""
LABEL = 4.0
"""Weight of a labelled pair; a pair that is only assumed to be important or not has weight 1."""
_SHARE = 4  # at most one in four pairs is assumed to be of either kind


def source_distances(earlier: Page, later: Page) -> tuple[float, float]:
    """Return the Jaccard distances of the links and of the images (section 5.2 of the paper)."""
    return jaccard(earlier.links, later.links), jaccard(earlier.images, later.images)


def jaccard(first: Collection[object], second: Collection[object]) -> float:
    """Return 1 minus the common share of two sets; 0 for two empty sets."""
    union = len({*first, *second})
    return 1 - (len(first) + len(second) - union) / union if union else 0.0


def region_distances(rows: NDArray[np.float32], pairs: NDArray[np.int64], grid: int) -> Rows:
    """Return the squared Euclidean distances of pairs of versions, cell by cell.

    Args:
        rows: (n, c g^2) GIST rows on a grid of g x g cells, cell by cell within each of the c filters.
        pairs: (p, 2) positions in ``rows``.
        grid: g.

    Returns:
        (p, g^2) float64, row by row of the grid (section 5.2 of the paper).

    Raises:
        ValueError: for rows of another length than such a grid has.
    """
    if rows.ndim != 2 or rows.shape[1] % grid**2:
        raise ValueError(f"rows of {rows.shape[-1]} numbers do not fit a grid of {grid} x {grid} cells")
    cells = rows.astype(np.float64).reshape(len(rows), -1, grid * grid)
    distances = np.empty((len(pairs), grid * grid))
    for start in range(0, len(pairs), 256):  # differences of all pairs at once would be gigabytes
        part = slice(start, start + 256)
        gaps = cells[pairs[part, 0]] - cells[pairs[part, 1]]
        distances[part] = np.einsum("pcg,pcg->pg", gaps, gaps)
    return distances


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule: a change is important if the weighted sum of its distances is above a threshold.

    Attributes:
        weights: (f,) weights of the distances, not negative.
        threshold: positive.
    """

    weights: Rows
    threshold: float

    def scores(self, distances: Rows) -> Rows:
        """Return the weighted sums of (p, f) distances in units of the threshold: important above 1."""
        return np.asarray(distances @ self.weights / self.threshold)


def decide(pool: Rows, labelled: Rows, important: NDArray[np.bool_], extreme: int = EXTREME) -> Decision:
    """Return the threshold between pairs, and weights of their distances: a linear support vector machine.

    Besides the labelled pairs, the pairs of the pool with the largest first distance are assumed to be important, and
    those with the smallest first distance above 0 unimportant.

    Args:
        pool: (p, f) distances of pairs without a label: the first is learned from time; further ones, such as of the
            structure, may follow.
        labelled: (m, f) distances of labelled pairs.
        important: (m,) their labels.
        extreme: number of pairs assumed to be of each kind, at most a quarter of the pool.

    Raises:
        ValueError: if no pairs differ.
    """
    order = np.argsort(pool[:, 0], kind="stable")
    order = order[pool[order, 0] > 0]
    if not len(order) + len(important):
        raise ValueError("no two successive versions differ in an important region")
    count = min(extreme, max(len(order) // _SHARE, min(1, len(order))))
    extremes = pool[np.concatenate([order[:count], order[len(order) - count :]])]
    rows = np.vstack([extremes, labelled])
    alike = np.concatenate([np.arange(2 * count) < count, ~important])
    costs = np.concatenate([np.ones(2 * count), np.full(len(important), LABEL)])
    scale = rows.mean(axis=0)
    scale[scale == 0] = 1.0
    # Differences from a row of zeros, whose squared lengths by column are the distances.
    features = np.vstack([np.zeros(rows.shape[1]), np.sqrt(rows / scale)])
    places = 1 + np.arange(len(rows))
    constraints = pairs(np.column_stack([places, np.zeros_like(places)]), alike, weight=costs)
    solution = minimize(diagonal_problem(features, constraints, C * float(costs.sum()), 1.0), Newton())
    if solution.w.any() and solution.b:
        return Decision(solution.w / scale, solution.b)
    return Decision(np.eye(len(scale))[0], float(np.median(rows[:, 0])) or 1.0)  # no direction separates the two kinds


def least_sure(scores: Rows, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the candidates in the order of the information of their labels: those with scores near 1 come first.

    Args:
        scores: (p,) in units of the threshold.
        candidates: positions of pairs without a label.
    """
    away = np.abs(np.log(np.maximum(scores[candidates], np.finfo(float).tiny)))
    return candidates[np.argsort(away, kind="stable")]
