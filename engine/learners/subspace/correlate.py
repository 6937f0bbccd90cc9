"""Directions of several views that correlate with each other, from whitened cross-covariances."""

from collections.abc import Mapping

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def correlated(cross: Mapping[tuple[int, int], Matrix], size: int) -> tuple[list[Matrix], NDArray[np.float64]]:
    """Return the directions in which whitened views correlate most, one (d_v, K) array per view, and how much, (K,).

    Two views are solved by singular values (Hotelling 1936), more by the leading eigenvectors of the block matrix of
    their cross-covariances (MAXVAR; Kettenring, Canonical analysis of several sets of variables, 1971), of which two
    views are the special case. The correlation of more than two views is the mean over their pairs.

    Args:
        cross: (d_v, d_w) covariance of the whitened views v < w.
        size: at most so many directions, strongest first.
    """
    count = max(w for _, w in cross) + 1
    if count == 2:
        left, values, right = np.linalg.svd(cross[0, 1], full_matrices=False)
        return [left[:, :size], right[:size].T], values[:size]
    widths = [cross[0, 1].shape[0], *(cross[0, v].shape[1] for v in range(1, count))]
    ends = np.cumsum(widths)
    blocks = np.zeros((ends[-1], ends[-1]))
    for (v, w), block in cross.items():
        blocks[ends[v] - widths[v] : ends[v], ends[w] - widths[w] : ends[w]] = block
    directions = min(size, *widths)
    # only the upper triangle is read
    found = scipy.linalg.eigh(blocks, lower=False, subset_by_index=(len(blocks) - directions, len(blocks) - 1))
    values, vectors = found[0][::-1], found[1][:, ::-1]
    return np.split(vectors * np.sqrt(count), ends[:-1]), values / (count - 1)
