"""Measures of embeddings in several notions of similarity: triplet error, nearest neighbours, consistency."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.training.estimate import Estimate, Sample, in_order
from crossview.engine.training.measures import blocks, knn_correct, members, ranking

Triplets = NDArray[np.int64]
NEIGHBORS = 3
"""Neighbours that vote, as in Zhang, Maji and Tomioka (2015)."""


def triplet_error(embedded: Rows, triplets: Triplets, weights: Rows | None = None) -> Estimate:
    """Return the share of (n, 3) triplets (a, b, c) that embeddings, (m, D), do not put b nearer to a than c.

    Equal distances count half. The standard error assumes independent triplets.
    """
    (right,) = in_order(*_sides(embedded, triplets), weights).samples
    return Estimate([Sample(1 - right.values, right.weights)])


def neighbor_error(embedded: Rows, labels: ArrayLike, neighbors: int = NEIGHBORS) -> Estimate:
    """Return the leave-one-out error of the vote of nearest neighbours.

    Args:
        embedded: (m, D), two rows or more.
        labels: (m,) classes; rows with an empty class are left out.
        neighbors: number of votes; among classes with most votes, the nearest wins.
    """
    classes = np.asarray(labels).astype(str)
    embedded, classes = embedded[classes != ""], classes[classes != ""]
    voters = members([(name,) for name in classes.tolist()], np.unique(classes).tolist())
    wrong = np.empty(len(embedded))
    for part in blocks(np.arange(len(embedded)), len(embedded)):
        gaps = cdist(embedded[part], embedded)
        gaps[np.arange(len(part)), part] = np.inf
        wrong[part] = ~knn_correct(ranking(gaps)[:, :-1], voters[part], voters, neighbors)
    return Estimate([Sample(wrong)])


def consistency(first: Rows, second: Rows, triplets: Triplets) -> Estimate:
    """Return the share of (n, 3) triplets that two embeddings of the same items, (m, D) and (m, E), order equally."""
    signs = [np.sign(far - near) for near, far in (_sides(first, triplets), _sides(second, triplets))]
    return Estimate([Sample((1 + signs[0] * signs[1]) / 2)])


def _sides(embedded: Rows, triplets: Triplets) -> tuple[Rows, Rows]:
    """Return the near and the far distances of triplets, squared."""
    anchors = embedded[triplets[:, 0]]
    near, far = (np.square(anchors - embedded[triplets[:, place]]).sum(axis=1) for place in (1, 2))
    return near, far
