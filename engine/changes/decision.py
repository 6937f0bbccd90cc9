"""From how far two versions differ to whether the change is important: a threshold, with or without labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.changes.request import EXTREME
from crossview.engine.learners.losses.constraints import pairs
from crossview.engine.learners.solvers.diagonal import diagonal_problem
from crossview.engine.learners.solvers.newton import Newton, minimize

Rows = NDArray[np.float64]
C = 10.0
"""Weight of the loss of a pair, as of a support vector machine."""
LABEL = 4.0
"""What a labelled pair weighs beside one that is only taken for important or not."""
_SHARE = 4  # of all pairs, at most, are taken for either


@dataclass(frozen=True, eq=False)
class Decision:
    """A change is important where the weighted sum of its distances is above a threshold.

    Attributes:
        weights: (f,) of the distances, not negative.
        threshold: positive.
    """

    weights: Rows
    threshold: float

    def scores(self, distances: Rows) -> Rows:
        """Returns the weighted sums of (p, f) distances in units of the threshold: important above 1."""
        return np.asarray(distances @ self.weights / self.threshold)


def decide(pool: Rows, labelled: Rows, important: NDArray[np.bool_], extreme: int = EXTREME) -> Decision:
    """Returns the threshold between pairs, and weights of their distances: a linear support vector machine.

    Besides the labelled pairs, those of the pool with the largest first distance are taken for important, and those
    with the smallest one above 0 for unimportant.

    Args:
        pool: (p, f) distances of pairs without a label: the first is learned from time; others may follow, such as of
            structure.
        labelled: (m, f) those of labelled pairs.
        important: (m,) their labels.
        extreme: how many pairs are taken for either, at most a quarter of the pool.

    Raises:
        ValueError: if no pairs differ.
    """
    order = np.argsort(pool[:, 0], kind="stable")
    order = order[pool[order, 0] > 0]
    if not len(order) + len(important):
        raise ValueError("no two successive versions differ in what was learned to be important")
    count = min(extreme, max(len(order) // _SHARE, min(1, len(order))))
    taken = pool[np.concatenate([order[:count], order[len(order) - count :]])]
    rows = np.vstack([taken, labelled])
    alike = np.concatenate([np.arange(2 * count) < count, ~important])
    costs = np.concatenate([np.ones(2 * count), np.full(len(important), LABEL)])
    scale = rows.mean(axis=0)
    scale[scale == 0] = 1.0
    # Differences from a row of zeros, whose squared lengths by column are the distances.
    features = np.vstack([np.zeros(rows.shape[1]), np.sqrt(rows / scale)])
    places = 1 + np.arange(len(rows))
    constraints = pairs(np.column_stack([places, np.zeros_like(places)]), alike, weight=costs)
    found = minimize(diagonal_problem(features, constraints, C * float(costs.sum()), 1.0), Newton())
    if found.w.any() and found.b:
        return Decision(found.w / scale, found.b)
    return Decision(np.eye(len(scale))[0], float(np.median(rows[:, 0])) or 1.0)  # nothing tells the two kinds apart


def least_sure(scores: Rows, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the candidates whose label would tell most, first: those whose score is the nearest factor from 1.

    Args:
        scores: (p,) in units of the threshold.
        candidates: positions of pairs that may be asked about.
    """
    away = np.abs(np.log(np.maximum(scores[candidates], np.finfo(float).tiny)))
    return candidates[np.argsort(away, kind="stable")]
